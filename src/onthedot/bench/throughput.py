"""How many runs a second: due, claimed, called, in history, with every guarantee on.

Schedules are not waited for. The engine is given a clock of which the bench turns the hands: as
soon as what is due is nearly done, time goes on by a small step. So the engine is saturated, and
yet every occurrence is claimed and started at its instant, as in real life. Lateness is measured
in real time, from the moment at which an instant came to the call of its handler.
"""

from __future__ import annotations

import asyncio
import time

from onthedot.bench.driving import BenchNode, Progress, TurnedClock, load
from onthedot.bench.figures import Found, Ledger
from onthedot.bench.handlers import Opened
from onthedot.bench.population import Dues, definitions
from onthedot.bench.probes import Meter, Spent, timer_floor
from onthedot.core.firing import AHEAD
from onthedot.core.instants import SECOND
from onthedot.roles.scheduler import SCAN_S
from onthedot.store.contract import Store

UNSTARTED_MAX = 500
UNRECORDED_MAX = 4_000
"""Time goes on while fewer runs than this are due and not started, started and not in history."""

PACE_MAX = 100_000
"""No faster than so many runs a second, however quick the node is."""

WATCH_S = 0.001
SCAN_US = int(SCAN_S * SECOND)
EDGE_S = 10.0


async def measure(
    store: Store, called: Opened, *, seconds: float, jobs: int, say: Progress
) -> Found:
    """Load the schedules, fire them for so long, let everything end, and count the ledger."""
    clock = TurnedClock()

    def next_chunk() -> int:
        clock.turn(SECOND // 10)  # keeps the phases of the chunks apart
        return clock.now()

    await store.upkeep.prepare(now=clock.now())
    began = time.perf_counter()
    dues = await load(store, definitions(jobs, called.handler), next_chunk, say)
    load_s = time.perf_counter() - began
    node = await BenchNode.start(store, clock, called)
    drive = _Drive(node, clock, called, dues, say)
    meter, spent = await Meter.begin(store, called.runners), Spent()
    with timer_floor(spent):
        runs, took = await drive.run(seconds)
    meter.read_processor(spent)
    say("letting everything end", 1.0)
    await node.settle()
    await meter.read_costs(spent, store)
    await node.stop()
    totals = await store.ledger.totals(until=clock.now())
    calls = called.runner.calls
    return Found(
        runs=runs,
        seconds=took,
        lateness_s=sorted(at - clock.came(due) for due, at in calls[:runs]),
        spent=spent,
        ledger=Ledger(dues.until(clock.now()) - totals.runs, totals.records - totals.runs),
        all_runs=len(calls),
        more={
            "schedules": jobs,
            "schedulesLoadedPerSecond": round(jobs / load_s),
            "firstTenSecondsPerSecond": round(drive.rate(0.0, EDGE_S)),
            "lastTenSecondsPerSecond": round(drive.rate(took - EDGE_S, took)),
        },
    )


class _Drive:
    """Lets time go on as fast as the node can follow: while what has fallen due is nearly done, and
    never beyond what was claimed.
    """

    def __init__(
        self, node: BenchNode, clock: TurnedClock, called: Opened, dues: Dues, say: Progress
    ) -> None:
        self._node = node
        self._clock = clock
        self._calls = called.runner.calls
        self._rate = max(1.0, dues.rate())
        self._say = say
        self._seen: list[tuple[float, int]] = []

    async def run(self, seconds: float) -> tuple[int, float]:
        """How many runs were started, in how long."""
        scheduler = self._node.incarnation.scheduler
        began = turned = said = time.perf_counter()
        while (now := time.perf_counter()) < began + seconds and not self._node.is_over:
            ahead = scheduler.claimed_until - self._clock.now()
            if ahead > 0 and self._is_nearly_done():
                pace = (now - turned) * PACE_MAX / self._rate
                self._clock.turn(max(1, min(int(pace * SECOND), ahead)))
                self._node.incarnation.worker.starting.nudge()
            turned = now
            if ahead < AHEAD - SCAN_US:
                scheduler.loop.nudge()
            self._seen.append((now - began, len(self._calls)))
            await asyncio.sleep(WATCH_S)
            if now - said >= 0.5:
                said = now
                self._say(f"{len(self._calls):,} runs", (now - began) / seconds)
        return len(self._calls), time.perf_counter() - began

    def _is_nearly_done(self) -> bool:
        node = self._node.incarnation
        return node.unstarted < UNSTARTED_MAX and node.unfinished < UNRECORDED_MAX

    def rate(self, since: float, until: float) -> float:
        """Runs a second between two moments of the drive."""
        part = [each for each in self._seen if since <= each[0] <= until]
        if len(part) < 2:
            return 0.0
        (first, before), (last, after) = part[0], part[-1]
        return (after - before) / (last - first)
