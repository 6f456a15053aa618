"""How many runs a second: due, claimed, called, in history, with every guarantee on.

Schedules are not waited for. The engine is given a clock of which the bench turns the hands: as
soon as what is due is nearly done, time goes on by a small step. So the engine is saturated, and
yet every occurrence is claimed and started at its instant, as in real life. Lateness is measured
in real time, from the moment at which an instant came to the call of its handler.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from onthedot.core.instants import SECOND, Instant
from onthedot.store.contract import Store
from onthedot_bench.driving import BenchNode, Progress, TurnedClock, chunks_apart_us, load
from onthedot_bench.figures import FigureSheet, Found
from onthedot_bench.handlers import Opened
from onthedot_bench.population import definitions
from onthedot_bench.probes import Meter, Spent, timer_floor

UNSTARTED_MAX = 500
UNRECORDED_MAX = 4_000
"""Time goes on while fewer runs than this are due and not started, started and not in history."""

PACE_MAX = 100_000
"""No faster than so many runs a second, however quick the node is."""

WATCH_S = 0.001
EDGE_S = 10.0


class Driven(Protocol):
    """One node or several. `follow`: time has gone on."""

    @property
    def is_over(self) -> bool: ...
    @property
    def claimed_until(self) -> Instant: ...
    @property
    def called(self) -> int: ...
    def has_nearly_done(self, unstarted: int, unrecorded: int) -> bool: ...
    def follow(self) -> None: ...


class BenchRunSink(Protocol):
    """Of a clock."""

    def now(self) -> Instant: ...
    def turn(self, by_us: int) -> None: ...


async def _at_once() -> None: ...


async def measure(
    store: Store,
    called: Opened,
    *,
    seconds: float,
    jobs: int,
    say: Progress,
    loaded: Callable[[], Awaitable[None]] = _at_once,
) -> Found:
    """Load the schedules, wait for `loaded`, fire them for so long, let everything end, and count
    the ledger.
    """
    clock = TurnedClock()

    def next_chunk() -> int:
        clock.turn(chunks_apart_us(jobs))
        return clock.now()

    await store.upkeep.prepare(now=clock.now())
    began = time.perf_counter()
    dues = await load(store, definitions(jobs, called.handler), next_chunk, say)
    load_s = time.perf_counter() - began
    await loaded()
    node = await BenchNode.start(store, clock, called)
    drive = Drive(node, clock, dues.rate(), say)
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
        ledger=FigureSheet(dues.until(clock.now()) - totals.runs, totals.records - totals.runs),
        all_runs=len(calls),
        more={
            "schedules": jobs,
            "schedulesLoadedPerSecond": round(jobs / load_s),
            **drive.edges(took),
        },
    )


class Drive:
    """Lets time go on as fast as the node can follow: while what has fallen due is nearly done, and
    never beyond what was claimed.
    """

    def __init__(self, node: Driven, clock: BenchRunSink, rate: float, say: Progress) -> None:
        self._node = node
        self._clock = clock
        self._rate = max(1.0, rate)
        self._say = say
        self._seen: list[tuple[float, int]] = []

    async def run(self, seconds: float) -> tuple[int, float]:
        """How many runs were started, in how long."""
        node = self._node
        began = turned = said = time.perf_counter()
        while (now := time.perf_counter()) < began + seconds and not node.is_over:
            ahead = node.claimed_until - self._clock.now()
            if ahead > 0 and node.has_nearly_done(UNSTARTED_MAX, UNRECORDED_MAX):
                pace = (now - turned) * PACE_MAX / self._rate
                self._clock.turn(max(1, min(int(pace * SECOND), ahead)))
            node.follow()
            turned = now
            self._seen.append((now - began, node.called))
            await asyncio.sleep(WATCH_S)
            if now - said >= 0.5:
                said = now
                self._say(f"{node.called:,} runs", (now - began) / seconds)
        return node.called, time.perf_counter() - began

    def edges(self, took: float) -> dict[str, int]:
        return {
            "firstTenSecondsPerSecond": round(self._rate_of(0.0, EDGE_S)),
            "lastTenSecondsPerSecond": round(self._rate_of(took - EDGE_S, took)),
        }

    def _rate_of(self, since: float, until: float) -> float:
        """Runs a second between two moments of the drive."""
        part = [each for each in self._seen if since <= each[0] <= until]
        if len(part) < 2:
            return 0.0
        (first, before), (last, after) = part[0], part[-1]
        return (after - before) / (last - first)
