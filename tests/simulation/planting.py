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

from tests.simulation.bugs import Bug
from tests.tidy.source import ROOT

SOURCE = ROOT / "src" / "onthedot"
SEEDS_MAX = 300
ARGUMENTS = ("--stop", "--jobs", "1", "--results", "none")


@dataclass(frozen=True, slots=True)
class Hunt:
    """How it went: after how many seeds or crash points the bug was found, None if it was not, and
    by what sign.
    """

    bug: Bug
    tries: int | None
    of: str
    sign: str


def misplaced(bug: Bug) -> list[str]:
    """Patches whose text is not there exactly once."""
    return [
        f"{bug.name}: {patch.file} has the text {count} times: {patch.old!r}"
        for patch in bug.patches
        if (count := (SOURCE / patch.file).read_text().count(patch.old)) != 1
    ]


def broken(bug: Bug) -> list[str]:
    """Files that are no Python any more with the bug in them: nobody could find it."""
    texts: dict[str, str] = {}
    for patch in bug.patches:
        text = texts.get(patch.file) or (SOURCE / patch.file).read_text()
        texts[patch.file] = text.replace(patch.old, patch.new)
    found = []
    for file, text in texts.items():
        try:
            if file.endswith(".py"):
                compile(text, file, "exec")
        except SyntaxError as error:
            found.append(f"{bug.name}: {file} line {error.lineno}: {error.msg}")
    return found


def hunt(bug: Bug, *, seeds: int = SEEDS_MAX) -> Hunt:
    """Try seed after seed until one finds it; if none does, the crash points."""
    with _planted(bug) as path:
        found = _search(bug, path, "seeds", ["--seeds", str(seeds)])
        if found.tries is None and found.sign == "":
            found = _search(bug, path, "points", ["--points", "short"])
    return found


def _search(bug: Bug, path: Path, of: str, where: list[str]) -> Hunt:
    done = subprocess.run(
        [*(sys.executable, "-m", "tests.simulation"), *ARGUMENTS, *where],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    tried = re.search(rf"^(\d+) {of}, ", done.stdout, re.MULTILINE)
    if tried is None:
        # A scene that is broken without any fault is a find, too.
        broken = "AssertionError" in done.stderr
        sign = done.stderr.strip().splitlines()[-1][-400:]
        return Hunt(bug, 1 if broken else None, of, sign)
    found = done.returncode == 1
    sign = done.stdout.splitlines()[0].strip() if found else ""
    return Hunt(bug, int(tried[1]) if found else None, of, sign)


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
