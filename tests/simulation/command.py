"""`python3 dev.py simulate`: many seeds on every core, one told as a story, or the power check.

Progress goes to standard error; the last line on standard output is the summary. What was run is
written to docs/internals/simulation-results.md, unless --results names another file, or `none`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation import results
from tests.simulation.bugs import Bug
from tests.simulation.history import History
from tests.simulation.planted import BUGS
from tests.simulation.planting import Hunt, hunt
from tests.simulation.points import Point, every_point, point_named, run_point, short_points
from tests.simulation.run import run_seed
from tests.simulation.stage import Report

Play = int | Point
SHOWN_MAX = 12
PROGRESS_S = 5.0


INTERRUPTED = 130


@dataclass(slots=True)
class Tally:
    """What a run has come to so far. `failed`: the names of what did."""

    what: str
    kept_in: Path | None
    commit: str = field(default_factory=results.commit)
    begun: float = field(default_factory=time.monotonic)
    plays: int = 0
    virtual_s: float = 0.0
    starts: int = 0
    faults: int = 0
    failed: list[str] = field(default_factory=list)
    interrupted: bool = False

    def add(self, report: Report) -> None:
        self.plays += 1
        self.virtual_s += report.virtual_s
        self.starts += report.starts
        self.faults += report.faults
        if report.violations:
            self.failed.append(_named(report))

    def keep(self, note: str = "") -> int:
        """Write what was run, and say how much that makes in all; returns the exit code."""
        if self.kept_in is not None and self.plays:
            failed = results.FAILED + ", ".join(sorted(self.failed)) if self.failed else ""
            notes = [results.INTERRUPTED if self.interrupted else "", note, failed]
            line = results.Line(
                *(results.now(), self.commit, self.what, self.plays),
                *(round(self.virtual_s / 3600, 1), self.starts, self.faults, len(self.failed)),
                *(round(self.took_s / 60, 1), "; ".join(filter(None, notes))),
            )
            for sentence in results.add(self.kept_in, line):
                print(f"in all: {sentence}")
        return INTERRUPTED if self.interrupted else 1 if self.failed else 0

    @property
    def took_s(self) -> float:
        return max(0.001, time.monotonic() - self.begun)


def main(arguments: Sequence[str]) -> int:
    asked = _parser().parse_args(arguments)
    kept = None if asked.results == results.NOWHERE else Path(asked.results)
    if asked.planted is not None:
        bugs = [bug for bug in BUGS if asked.planted in bug.name]
        return _hunt_all(bugs, asked.jobs, Tally("planted bugs", kept))
    if asked.point:
        return _tell(run_point(point_named(asked.point)))
    if asked.points:
        points = short_points() if asked.points == "short" else every_point()
        return play_all(list(points), asked, Tally(f"points {asked.points}", kept))
    if asked.trace:
        return _tell(run_seed(asked.seed))
    if asked.again:
        return _play_open(asked, kept)
    seeds = range(asked.seed, asked.seed + asked.seeds)
    return play_all(seeds, asked, Tally(f"seeds {seeds.start} to {seeds.stop - 1}", kept))


def _play_open(asked: argparse.Namespace, kept: Path | None) -> int:
    """Seeds that have failed, to see whether they are mended."""
    names = results.still_open(results.read(kept)) if kept is not None else []
    seeds = sorted(int(name.split()[1]) for name in names if name.startswith("seed "))
    if not seeds:
        print("no seed is open")
        return 0
    return play_all(seeds, asked, Tally(f"seeds {', '.join(map(str, seeds))}", kept))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 dev.py simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--again", action="store_true", help="the seeds that are open, once more")
    parser.add_argument("--trace", action="store_true", help="tell the story of --seed")
    parser.add_argument("--points", choices=("short", "all"), help="crash points instead of seeds")
    parser.add_argument("--point", metavar="NAME", help="tell the story of one crash point")
    parser.add_argument(
        "--planted", nargs="?", const="", metavar="WORDS", help="look for planted bugs so named"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--stop", action="store_true", help="stop at the first failure")
    parser.add_argument(
        "--results", metavar="FILE", default=str(results.RESULTS), help="where to add a line"
    )
    return parser


def _tell(report: Report) -> int:
    print("\n".join(report.story))
    print(f"{_named(report)}: {', '.join(report.kinds) or 'calm'}; trace {report.digest}")
    return _verdict(report)


def _verdict(report: Report) -> int:
    for broken in report.violations[:SHOWN_MAX]:
        print(f"  {broken}")
    if not report.violations:
        print(f"{_named(report)}: every promise was kept")
        return 0
    print(f"{_named(report)} broke {len(report.violations)} promises; its story: {_replay(report)}")
    return 1


def _named(report: Report) -> str:
    return f"seed {report.seed}" if isinstance(report.seed, int) else f"point {report.kinds[0]}"


def _replay(report: Report) -> str:
    if isinstance(report.seed, int):
        return f"python3 dev.py simulate --seed {report.seed} --trace"
    return f"python3 dev.py simulate --point {report.kinds[0]}"


def play_all(plays: Sequence[Play], asked: argparse.Namespace, tally: Tally) -> int:
    """Play them, and keep what they came to, also of those before an interruption."""
    try:
        _play(plays, asked, tally)
    except KeyboardInterrupt:
        tally.interrupted = True
    what = tally.what.split()[0]
    code = tally.keep()
    print(
        f"{tally.plays} {what}, {tally.virtual_s / 3600:.1f} virtual hours, {tally.starts} starts,"
        f" {tally.faults} faults, {len(tally.failed)} failed;"
        f" {tally.plays / tally.took_s:.1f} {what} a second on {asked.jobs} cores"
    )
    return code


def _play(plays: Sequence[Play], asked: argparse.Namespace, tally: Tally) -> None:
    shown = time.monotonic()
    for report in reports(plays, asked.jobs):
        tally.add(report)
        if report.violations:
            _verdict(report)
            if asked.stop:
                return
        if time.monotonic() - shown > PROGRESS_S:
            shown = time.monotonic()
            rate = tally.plays / tally.took_s
            print(f"{tally.plays}/{len(plays)}, {rate:.1f} a second", file=sys.stderr)


def reports(plays: Sequence[Play], jobs: int) -> Iterator[Report]:
    """What these seeds or points came to, in any order, on so many cores."""
    if jobs == 1:
        yield from map(_without_story, plays)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, _leave_interrupts_to_us) as pool:
        yield from pool.imap_unordered(_without_story, plays, chunksize=4)


def _leave_interrupts_to_us() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _without_story(play: Play) -> Report:
    report = run_seed(play) if isinstance(play, int) else run_point(play)
    report.story, report.history = [], History()
    return report


def _hunt_all(bugs: Sequence[Bug], jobs: int, tally: Tally) -> int:
    needed: list[int] = []
    try:
        with ThreadPoolExecutor(jobs) as pool:  # each hunt is a process of its own
            for found in pool.map(hunt, bugs):
                _tell_hunt(found)
                tally.plays += 1
                if found.tries is None:
                    tally.failed.append(found.bug.name)
                elif found.of == "seeds":
                    needed.append(found.tries)
    except KeyboardInterrupt:
        tally.interrupted = True
    needed.sort()
    figures = f": median {needed[len(needed) // 2]}, most {needed[-1]}" if needed else ""
    by_seeds = f"{len(needed)} by seeds{figures}; the others by crash points"
    code = tally.keep(by_seeds)
    print(f"{tally.plays} planted bugs, {len(tally.failed)} not found, {by_seeds}")
    return code


def _tell_hunt(found: Hunt) -> None:
    tries = "not found" if found.tries is None else f"{found.tries} {found.of}"
    print(f"{tries:>10}  {found.bug.name}: {found.sign[:100]}", flush=True)
