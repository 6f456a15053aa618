"""`dev.py bench peers`, with ours alone: that takes no download."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_ours_goes_through_the_same_verbs_as_everybody_else():
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.peers", "--json", "--only", "onthedot"),
            *("--parts", "drained", "--runs", "200"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    drained = found["drained"]["peers"]["onthedot"]
    assert (drained["done"], drained["timesOurs"]) == (200, 1.0)
    assert drained["perSecond"] > 0
