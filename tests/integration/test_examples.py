"""Every folder of examples/ runs and says what it is meant to say.

To join: a folder with a README.md and a `run.sh`, which a user would call in it, and a line in
EXPECTED with what it prints (regular expressions, each found in this order). The script runs in a
copy of the folder; `PORT` is a free port, `python3` and `onthedot` are those of the tests, and it
must end with 0 within a minute. It may use nothing but what `dev.py setup` installs.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.server import free_port

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_dir())
EXAMPLE_S = 50

EXPECTED: dict[str, tuple[str, ...]] = {
    "billing": (r"succeeded\n", r"succeeded\n", r"invoice of customer 7 for 2027-01: 9\.00"),
    "embedding": (r"hello ana", r"tick, attempt 1", r"drained"),
    "quickstart": (
        r"onthedot is ready",
        r"succeeded hello ana",
        r"RUN +STATUS",
        r"stopped with 0",
    ),
    "reports": (
        r"stdout +wrote page 2",
        r"attempt 2\n.*from page 3",
        r"stdout +wrote page 4",
        r"progress +4 of 4 \(100%\) pages",
        r'output +\{"pages":4,"attempts":2\}',
        r"ConnectionError: the warehouse hung up",
    ),
    "testing": (r"3 passed",),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_says_what_it_is_meant_to(name: str, tmp_path: Path):
    folder = tmp_path / name
    shutil.copytree(ROOT / "examples" / name, folder)
    assert (folder / "README.md").exists(), f"examples/{name} has no README.md"
    assert name in EXPECTED, f"say in EXPECTED what examples/{name}/run.sh prints"

    said, code = play(folder)

    assert code == 0, said
    place = 0
    for pattern in EXPECTED[name]:
        found = re.compile(pattern).search(said, place)
        assert found is not None, f"no {pattern!r} in or after:\n{said[place:]}"
        place = found.end()


def test_every_expected_example_is_there():
    assert EXPECTED.keys() - set(EXAMPLES) == set()


def play(folder: Path) -> tuple[str, int]:
    """What the script says, all of it in one, and how it ends."""
    environment = {
        **{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ},
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONUNBUFFERED": "1",
        "PORT": str(free_port()),
    }
    process = subprocess.Popen(
        ["sh", "run.sh"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=EXAMPLE_S)
    finally:
        # Whatever it left behind is in its session; the script itself is over by now.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return said, process.returncode
