"""`python3 dev.py simulate`: many seeds on every core, one told as a story, or the power check.

Progress goes to standard error; the last line on standard output is the summary.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.simulation.history import History
from tests.simulation.planted import BUGS
from tests.simulation.planting import Hunt, hunt
from tests.simulation.points import Point, every_point, point_named, run_point, short_points
from tests.simulation.run import run_seed
from tests.simulation.stage import Report

Play = int | Point
SHOWN_MAX = 12
PROGRESS_S = 5.0


@dataclass(slots=True)
class Tally:
    plays: int = 0
    virtual_s: float = 0.0
    starts: int = 0
    failed: int = 0

    def add(self, report: Report) -> None:
        self.plays += 1
        self.virtual_s += report.virtual_s
        self.starts += report.starts
        self.failed += bool(report.violations)


def main(arguments: Sequence[str]) -> int:
    asked = _parser().parse_args(arguments)
    if asked.planted:
        return _hunt_all(asked.jobs)
    if asked.point:
        return _tell(run_point(point_named(asked.point)))
    if asked.points:
        points = short_points() if asked.points == "short" else every_point()
        return _many(list(points), asked, "points")
    if asked.trace:
        return _tell(run_seed(asked.seed))
    return _many(range(asked.seed, asked.seed + asked.seeds), asked, "seeds")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 dev.py simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--trace", action="store_true", help="tell the story of --seed")
    parser.add_argument("--points", choices=("short", "all"), help="crash points instead of seeds")
    parser.add_argument("--point", metavar="NAME", help="tell the story of one crash point")
    parser.add_argument("--planted", action="store_true", help="look for every planted bug")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--stop", action="store_true", help="stop at the first failure")
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


def _many(plays: Sequence[Play], asked: argparse.Namespace, what: str) -> int:
    tally, begun, shown = Tally(), time.monotonic(), time.monotonic()
    for report in reports(plays, asked.jobs):
        tally.add(report)
        if report.violations:
            _verdict(report)
            if asked.stop:
                break
        if time.monotonic() - shown > PROGRESS_S:
            shown = time.monotonic()
            rate = tally.plays / (shown - begun)
            print(f"{tally.plays}/{len(plays)} {what}, {rate:.1f} a second", file=sys.stderr)
    took = max(0.001, time.monotonic() - begun)
    print(
        f"{tally.plays} {what}, {tally.virtual_s / 3600:.1f} virtual hours, {tally.starts} starts,"
        f" {tally.failed} failed; {tally.plays / took:.1f} {what} a second on {asked.jobs} cores"
    )
    return 1 if tally.failed else 0


def reports(plays: Sequence[Play], jobs: int) -> Iterator[Report]:
    """What these seeds or points came to, in any order, on so many cores."""
    if jobs == 1:
        yield from map(_without_story, plays)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(_without_story, plays, chunksize=4)


def _without_story(play: Play) -> Report:
    report = run_seed(play) if isinstance(play, int) else run_point(play)
    report.story, report.history = [], History()
    return report


def _hunt_all(jobs: int) -> int:
    missed = 0
    needed: list[int] = []
    with ThreadPoolExecutor(jobs) as pool:  # each hunt is a process of its own
        for found in pool.map(hunt, BUGS):
            _tell_hunt(found)
            missed += found.tries is None
            needed += [found.tries] if found.tries is not None and found.of == "seeds" else []
    needed.sort()
    print(
        f"{len(BUGS)} planted bugs, {missed} not found, {len(needed)} by seeds: median"
        f" {needed[len(needed) // 2]}, most {needed[-1]}; the others by crash points"
    )
    return 1 if missed else 0


def _tell_hunt(found: Hunt) -> None:
    tries = "not found" if found.tries is None else f"{found.tries} {found.of}"
    print(f"{tries:>10}  {found.bug.name}: {found.sign[:100]}", flush=True)
