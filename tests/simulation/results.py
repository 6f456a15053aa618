"""What was run, kept beside the documentation: `simulate` adds a line for each of its runs.

The sum is reckoned from the lines. A changed tree (`+`) is not in it: nobody else can have that.
"""

from __future__ import annotations

import subprocess
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.tidy.source import ROOT

RESULTS = ROOT / "docs" / "internals" / "simulation-results.md"
NOWHERE = "none"
CHANGED = "+"
COLUMNS = "| when | commit | what | played | virtual hours | starts | faults | failed | minutes | |"
RULE = "|---|---|---|--:|--:|--:|--:|--:|--:|---|"
HEAD = f"""\
# What the simulation has run

Written by `python3 dev.py simulate` itself, a line for each run. A `{CHANGED}` stands for changes
that were in no commit; such a run is not in the sum. A seed that failed is open until a later run
has played it to the end without a fault. What it all means: [how it is
tested](how-it-is-tested.md).
"""
FAILED = "failed: "
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Line:
    """One run. `what`: `seeds 1 to 100`, `points all`, `planted bugs`; `played`: as many of them as
    were done before it ended; `failed`: of those.
    """

    when: str
    commit: str
    what: str
    played: int
    hours: float
    starts: int
    faults: int
    failed: int
    minutes: float
    note: str = ""

    def __str__(self) -> str:
        return "| " + " | ".join(str(each) for each in astuple(self)) + " |"

    @property
    def kind(self) -> str:
        """`seeds`, `points` or `planted bugs`."""
        return self.what if self.what.startswith("planted") else self.what.split()[0]

    @property
    def failures(self) -> list[str]:
        """The names of what failed."""
        for part in self.note.split("; "):
            if part.startswith(FAILED):
                return part.removeprefix(FAILED).split(", ")
        return []

    def has_played(self, name: str) -> bool:
        """Whether this run has certainly played it to its end."""
        if INTERRUPTED in self.note or self.commit.endswith(CHANGED):
            return False
        if not name.startswith("seed "):
            return self.what == "points all" and name.startswith("point ")
        number, numbers = int(name.split()[1]), self.what.removeprefix("seeds ")
        if self.kind != "seeds":
            return False
        first, to, last = numbers.partition(" to ")
        return int(first) <= number <= int(last) if to else str(number) in numbers.split(", ")


def read(path: Path) -> list[Line]:
    if not path.exists():
        return []
    rows = [row for row in path.read_text().splitlines() if row.startswith("| ")]
    return [_line(row) for row in rows if row != COLUMNS]


def add(path: Path, line: Line) -> list[str]:
    """Write it behind the others; returns the sum. The file is replaced whole, or not at all."""
    lines = [*read(path), line]
    fresh = path.with_suffix(".new")
    fresh.write_text(written(lines))
    fresh.replace(path)
    return summed(lines)


def written(lines: list[Line]) -> str:
    """The whole file."""
    sums = [f"* {each}" for each in summed(lines)] or ["Nothing yet."]
    return "\n".join([HEAD, *sums, "", COLUMNS, RULE, *map(str, lines), ""])


def summed(lines: list[Line]) -> list[str]:
    """One sentence for each kind of run."""
    counted = [line for line in lines if not line.commit.endswith(CHANGED)]
    left = still_open(counted)
    return [
        _sum_of(kind, [line for line in counted if line.kind == kind], left)
        for kind in dict.fromkeys(line.kind for line in counted)
    ]


def still_open(lines: list[Line]) -> list[str]:
    """What has failed and was not seen to succeed since."""
    found: dict[str, None] = {}
    for line in lines:
        for name in [name for name in found if line.has_played(name)]:
            del found[name]
        found |= dict.fromkeys(line.failures)
    return list(found)


def commit() -> str:
    """The commit that is run, marked if the tree was changed; this file is no change."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD")
        others = f":(exclude){RESULTS.relative_to(ROOT)}"
        changed = _git("status", "--porcelain", "--", ".", others)
    except (OSError, subprocess.CalledProcessError):  # a checkout without git
        return f"unknown{CHANGED}"
    return name + (CHANGED if changed else "")


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


def _line(row: str) -> Line:
    when, name, what, played, hours, starts, faults, failed, minutes, note = (
        cell.strip() for cell in row.strip().strip("|").split("|")
    )
    numbers = int(starts), int(faults), int(failed), float(minutes)
    return Line(when, name, what, int(played), float(hours), *numbers, note)


def _sum_of(kind: str, lines: list[Line], left: list[str]) -> str:
    played, failed = sum(line.played for line in lines), sum(line.failed for line in lines)
    if kind.startswith("planted"):
        return f"{played:,} {kind} hunted, {failed:,} not found"
    hours, starts = sum(line.hours for line in lines), sum(line.starts for line in lines)
    faults = sum(line.faults for line in lines)
    unmended = sum(name.startswith(kind.removesuffix("s")) for name in left)
    return (
        f"{played:,} {kind}: {hours:,.1f} virtual hours, {starts:,} starts of handlers,"
        f" {faults:,} faults; {failed:,} failed, {unmended:,} open"
    )


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()
