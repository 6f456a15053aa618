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
from dataclasses import dataclass

from tests.simulation.run import run_seed
from tests.simulation.stage import Report

SHOWN_MAX = 12
PROGRESS_S = 5.0


@dataclass(slots=True)
class Tally:
    seeds: int = 0
    virtual_s: float = 0.0
    starts: int = 0
    failed: int = 0

    def add(self, report: Report) -> None:
        self.seeds += 1
        self.virtual_s += report.virtual_s
        self.starts += report.starts
        self.failed += bool(report.violations)


def main(arguments: Sequence[str]) -> int:
    asked = _parser().parse_args(arguments)
    if asked.trace:
        return _tell(run_seed(asked.seed))
    return _many(range(asked.seed, asked.seed + asked.seeds), asked.jobs, stop=asked.stop)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 dev.py simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--trace", action="store_true", help="tell the story of --seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--stop", action="store_true", help="stop at the first failure")
    return parser


def _tell(report: Report) -> int:
    print("\n".join(report.story))
    print(f"seed {report.seed}: {', '.join(report.kinds) or 'calm'}; trace {report.digest}")
    return _verdict(report)


def _verdict(report: Report) -> int:
    for broken in report.violations[:SHOWN_MAX]:
        print(f"  {broken}")
    if not report.violations:
        print(f"seed {report.seed}: every promise was kept")
        return 0
    print(
        f"seed {report.seed} broke {len(report.violations)} promises; its story:"
        f" python3 dev.py simulate --seed {report.seed} --trace"
    )
    return 1


def _many(seeds: range, jobs: int, *, stop: bool) -> int:
    tally, begun, shown = Tally(), time.monotonic(), time.monotonic()
    for report in _reports(seeds, jobs):
        tally.add(report)
        if report.violations:
            _verdict(report)
            if stop:
                break
        if time.monotonic() - shown > PROGRESS_S:
            shown = time.monotonic()
            rate = tally.seeds / (shown - begun)
            print(f"{tally.seeds}/{len(seeds)} seeds, {rate:.1f} a second", file=sys.stderr)
    took = max(0.001, time.monotonic() - begun)
    print(
        f"{tally.seeds} seeds, {tally.virtual_s / 3600:.1f} virtual hours, {tally.starts} starts,"
        f" {tally.failed} failed; {tally.seeds / took:.1f} seeds a second on {jobs} cores"
    )
    return 1 if tally.failed else 0


def _reports(seeds: range, jobs: int) -> Iterator[Report]:
    if jobs == 1:
        yield from map(_without_story, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(_without_story, seeds)


def _without_story(seed: int) -> Report:
    report = run_seed(seed)
    report.story.clear()
    return report
