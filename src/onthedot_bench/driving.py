"""One node under a bench: how it is started, driven, brought to rest and stopped."""

from __future__ import annotations

import asyncio
import os
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Final

from onthedot.clock import Clock
from onthedot.core.firing import claim_end
from onthedot.core.instants import DAY, SECOND, Instant
from onthedot.core.model import Definition
from onthedot.core.schedules import Cron, Every
from onthedot.core.views import NodeFacts
from onthedot.ids import SystemChance
from onthedot.roles.incarnation import Incarnation, NodeServices, join
from onthedot.store.contract import Store
from onthedot_bench.figures import FigureSheet, Found
from onthedot_bench.handlers import Opened
from onthedot_bench.population import Dues
from onthedot_bench.probes import Meter, Spent, timer_floor

CHUNK = 20_000
SLOTS = 2_000
START: Final = 1_799_057_100 * SECOND
"""Monday, 4 January 2027, 10:05 UTC. Always the same: what falls due differs from minute to minute,
so that two benches that begin at different times of the day are not comparable.
"""
QUIET_S = 0.2
QUIET_LOOKS = 8
SETTLE_S = 120.0

Progress = Callable[[str, float], None]
"""What is being done, and how much of it is done already: 0 to 1."""


class TurnedClock:
    """A clock whose hands the bench turns; durations are real."""

    def __init__(self) -> None:
        self._now = START
        self.turns: list[tuple[Instant, float]] = [(self._now, time.perf_counter())]

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> float:
        return time.monotonic()

    def turn(self, by_us: int) -> None:
        self._now += by_us
        self.turns.append((self._now, time.perf_counter()))

    def came(self, instant: Instant) -> float:
        """When, in real time, this instant came."""
        place = bisect_left(self.turns, (instant, 0.0))
        return self.turns[min(place, len(self.turns) - 1)][1]


class BenchNode:
    """One node, scheduler and worker in one process, as `onthedot serve` runs them."""

    def __init__(self, incarnation: Incarnation, called: Opened, clock: Clock) -> None:
        self.incarnation = incarnation
        self.handler = called
        self._clock = clock
        self._seen = clock.now()
        self._stop = asyncio.Event()
        self._working = asyncio.create_task(
            incarnation.run(self._stop, grace_us=SECOND), name="bench-node"
        )

    @classmethod
    async def start(
        cls,
        store: Store,
        clock: Clock,
        called: Opened,
        *,
        slots: int = SLOTS,
        roles: tuple[str, ...] = ("scheduler", "worker"),
    ) -> BenchNode:
        facts = NodeFacts(
            boot_id="bench",
            host="bench",
            pid=os.getpid(),
            roles=roles,
            slots=slots,
            version="bench",
        )
        kit = NodeServices(
            store=store,
            clock=clock,
            chance=SystemChance(),
            runner=called.runner,
            facts=facts,
            installation="bench",
            lanes=called.lanes,
            retention_us=30 * DAY,
        )
        return cls(await join(kit), called, clock)

    @property
    def is_over(self) -> bool:
        return self._working.done()

    @property
    def now(self) -> Instant:
        return self._clock.now()

    @property
    def claimed_until(self) -> Instant:
        return self.incarnation.scheduler.claimed_until

    @property
    def called(self) -> int:
        return len(self.handler.runner.calls)

    def has_nearly_done(self, unstarted: int, unrecorded: int) -> bool:
        node = self.incarnation
        return node.unstarted < unstarted and node.unfinished < unrecorded

    def follow(self) -> None:
        """Time has gone on."""
        now = self._clock.now()
        if now != self._seen:
            self._seen = now
            self.incarnation.worker.starting.nudge()
        if claim_end(now) > self.claimed_until:
            self.incarnation.scheduler.loop.nudge()

    async def settle(self, *, within_s: float = SETTLE_S) -> None:
        """Until nothing more is called and nothing is in hand."""
        end, called, quiet = time.perf_counter() + within_s, -1, 0
        while quiet < QUIET_LOOKS and time.perf_counter() < end and not self.is_over:
            still = called == self.called and not self.incarnation.unfinished
            quiet = quiet + 1 if still else 0
            called = self.called
            self.nudge()
            await asyncio.sleep(QUIET_S)

    async def stop(self) -> None:
        self._stop.set()
        await asyncio.wait([self._working])
        self._working.result()

    def nudge(self) -> None:
        self.incarnation.scheduler.loop.nudge()
        self.incarnation.worker.loop.nudge()


async def observed(
    store: Store,
    node: BenchNode,
    dues: Dues,
    *,
    before: Callable[[], Awaitable[None]],
    during: Callable[[], Awaitable[None]],
) -> tuple[Found, int]:
    """What becomes of a node by the real clock while something lasts, once it has come into its
    stride; and how many calls came before. It is stopped in the end, and its ledger counted.
    """
    called = node.handler
    try:
        await before()
        begun, noted = node.called, called.noted()
        meter, spent = await Meter.begin(store, called.runners), Spent()
        began = time.perf_counter()
        with timer_floor(spent):
            await during()
        runs, took = node.called - begun, time.perf_counter() - began
        meter.read_processor(spent)
        await meter.read_costs(spent, store)
    finally:
        until = min(node.now, node.claimed_until)
        await node.stop()
    totals = await store.ledger.totals(until=until)
    found = Found(
        runs=runs,
        seconds=took,
        lateness_s=called.lateness_s(begun, noted, runs),
        spent=spent,
        ledger=FigureSheet(max(0, dues.until(until) - totals.runs), totals.records - totals.runs),
    )
    return found, begun


def chunks_apart_us(jobs: int) -> int:
    """Between the creation of two chunks: their phases are apart, and all within one second, so
    that hardly anything is due before everything is loaded.
    """
    return SECOND // max(10, jobs // CHUNK)


async def load(
    store: Store, population: Iterable[Definition], now: Callable[[], Instant], say: Progress
) -> Dues:
    """Create the population by the verb for crowds, each chunk at its own instant.

    Two chunks are under way at a time: while the store is at one, the next is being made.
    """
    source, dues, loaded = iter(population), Dues(), 0
    under_way: set[asyncio.Task[list[int]]] = set()
    while chunk := list(islice(source, CHUNK)):
        created = now()
        under_way.add(asyncio.create_task(_create(store, chunk, created)))
        for each in chunk:
            assert isinstance(each.schedule, Cron | Every)
            dues.add(created, each.schedule)
        if len(under_way) > 1:
            done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        loaded += len(chunk)
        say(f"loaded {loaded:,} schedules", 0.0)
    await asyncio.gather(*under_way)
    return dues


async def _create(store: Store, chunk: list[Definition], now: Instant) -> list[int]:
    return await store.jobs.create_many(chunk, now=now)
