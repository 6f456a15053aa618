"""Plants a bug in a copy of the source and lets the simulation look for it there.

The checkout is never touched: the copy stands first on the path of another process.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.simulation.planted import Bug
from tests.tidy.source import ROOT

SOURCE = ROOT / "src" / "onthedot"
SEEDS_MAX = 300


@dataclass(frozen=True, slots=True)
class Hunt:
    """How it went: after how many seeds the bug was found, None if it was not; and by what."""

    bug: Bug
    seeds: int | None
    sign: str


def misplaced(bug: Bug) -> list[str]:
    """Patches whose text is not there exactly once."""
    return [
        f"{bug.name}: {patch.file} has the text {count} times: {patch.old!r}"
        for patch in bug.patches
        if (count := (SOURCE / patch.file).read_text().count(patch.old)) != 1
    ]


def hunt(bug: Bug, *, seeds: int = SEEDS_MAX) -> Hunt:
    """Try seed after seed until one finds it."""
    with _planted(bug) as path:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tests.simulation", "--seed", "1", "--stop"),
                *("--seeds", str(seeds), "--jobs", "1"),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(path)},
            capture_output=True,
            text=True,
            check=False,
        )
    tried = re.search(r"^(\d+) seeds, ", done.stdout, re.MULTILINE)
    if tried is None:
        return Hunt(bug, None, f"it did not even run: {done.stderr[-400:]}")
    lines = done.stdout.splitlines()
    found = done.returncode == 1
    return Hunt(bug, int(tried[1]) if found else None, lines[0].strip() if found else "")


@contextmanager
def _planted(bug: Bug) -> Iterator[Path]:
    faults = misplaced(bug)
    assert not faults, faults
    with TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder) / "onthedot"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        for patch in bug.patches:
            text = (copy / patch.file).read_text()
            (copy / patch.file).write_text(text.replace(patch.old, patch.new))
        yield Path(folder)
