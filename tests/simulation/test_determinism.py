"""A seed is a story that can be told again, byte for byte."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation.run import run_seed
from tests.tidy.source import ROOT

SEEDS = (4, 8, 22)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_seed_tells_the_same_story(seed: int):
    assert run_seed(seed).story == run_seed(seed).story


def test_another_process_with_another_hash_seed_tells_the_same_story():
    here = [run_seed(seed).digest for seed in SEEDS]

    assert _told_elsewhere("0") == here
    assert _told_elsewhere("4711") == here


def test_different_seeds_tell_different_stories():
    assert len({run_seed(seed).digest for seed in SEEDS}) == len(SEEDS)


def _told_elsewhere(hash_seed: str) -> list[str]:
    program = (
        "from tests.simulation.run import run_seed\n"
        f"print(*(run_seed(seed).digest for seed in {SEEDS}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()
