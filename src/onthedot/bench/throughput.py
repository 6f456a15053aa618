"""How many runs a second: due, claimed, called, in history, with every guarantee on.

Schedules are not waited for. The engine is given a clock of which the bench turns the hands: as
soon as what is due is nearly done, time goes on by a small step. So the engine is saturated, and
yet every occurrence is claimed and started at its instant, as in real life. Lateness is measured
in real time, from the moment at which an instant came to the call of its handler.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from onthedot.bench.population import definitions, due_until
from onthedot.core.firing import AHEAD
from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import Definition
from onthedot.core.outcomes import Result
from onthedot.core.schedules import Every
from onthedot.ids import SystemChance
from onthedot.roles.incarnation import Incarnation, Kit, join
from onthedot.roles.runners import Call, Done, Stop
from onthedot.roles.scheduler import SCAN_S
from onthedot.store.contract import Store
from onthedot.store.values import Costs, NodeFacts

CHUNK = 20_000
SLOTS = 2_000
UNSTARTED_MAX = 500
UNRECORDED_MAX = 4_000
"""Time goes on while fewer runs than this are due and not started, ended and not in history."""

PACE_MAX = 100_000
"""No faster than so many runs a second, however quick the node is."""

WATCH_S = 0.001
SCAN_US = int(SCAN_S * SECOND)
QUIET_S = 0.2
QUIET_LOOKS = 8
SETTLE_S = 120.0

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Throughput:
    """What a bench found. `lost` and `recorded_twice` are counted in the ledger, after the end."""

    runs: int
    seconds: float
    jobs: int
    load_seconds: float
    lateness_s: list[float]
    python_us_per_run: float
    costs: Costs | None
    all_runs: int
    lost: int
    recorded_twice: int


class TurnedClock:
    """A clock whose hands the bench turns; durations are real."""

    def __init__(self) -> None:
        self._now = time.time_ns() // 1_000
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


SUCCESS = Result()


def _nothing_to_stop() -> None: ...


class NoHandler:
    """In place of the HTTP call, behind the same interface: it notes when it is called."""

    def __init__(self) -> None:
        self.calls: list[tuple[Instant, float]] = []

    def start(self, call: Call, done: Done) -> Stop:
        self.calls.append((call.scheduled_for, time.perf_counter()))
        done(SUCCESS)
        return _nothing_to_stop

    async def close(self) -> None:
        return


async def measure(store: Store, *, seconds: float, jobs: int, say: Progress) -> Throughput:
    """Load the schedules, fire them for so long, let everything end, and count the ledger."""
    clock, handler = TurnedClock(), NoHandler()
    await store.upkeep.prepare(now=clock.now())
    began = time.perf_counter()
    population = await _load(store, clock, jobs, say)
    load_seconds = time.perf_counter() - began
    before = await store.upkeep.costs()
    node = await _Node.start(store, clock, handler)
    cpu, began = time.process_time(), time.perf_counter()
    await node.drive(seconds, _rate(population), say)
    runs, took = len(handler.calls), time.perf_counter() - began
    cpu = time.process_time() - cpu
    say("letting everything end")
    await node.settle()
    after = await store.upkeep.costs()
    await node.stop()
    totals = await store.ledger.totals(until=clock.now())
    return Throughput(
        runs=runs,
        seconds=took,
        jobs=jobs,
        load_seconds=load_seconds,
        lateness_s=sorted(at - clock.came(due) for due, at in handler.calls[:runs]),
        python_us_per_run=cpu * 1e6 / max(1, runs),
        costs=None if before is None or after is None else after - before,
        all_runs=len(handler.calls),
        lost=due_until(population, clock.now()) - totals.runs,
        recorded_twice=totals.records - totals.runs,
    )


class _Node:
    """One node, scheduler and worker in one process, as `onthedot serve` runs them."""

    def __init__(self, clock: TurnedClock, handler: NoHandler, incarnation: Incarnation) -> None:
        self._clock = clock
        self._handler = handler
        self._incarnation = incarnation
        self._stop = asyncio.Event()
        self._working = asyncio.create_task(
            incarnation.run(self._stop, grace_us=SECOND), name="bench-node"
        )

    @classmethod
    async def start(cls, store: Store, clock: TurnedClock, handler: NoHandler) -> _Node:
        facts = NodeFacts(
            boot_id="bench",
            host="bench",
            pid=1,
            roles=("scheduler", "worker"),
            slots=SLOTS,
            version="bench",
        )
        kit = Kit(
            store=store,
            clock=clock,
            chance=SystemChance(),
            runner=handler,
            facts=facts,
            installation="bench",
            retention_us=SECOND,
        )
        return cls(clock, handler, await join(kit))

    async def drive(self, seconds: float, rate: float, say: Progress) -> None:
        """Let time go on as fast as the node can follow: while what has fallen due is nearly done,
        and never beyond what was claimed. `rate`: how many fall due in a second of its time.
        """
        began = turned = said = time.perf_counter()
        while (now := time.perf_counter()) < began + seconds and not self._working.done():
            ahead = self._incarnation.scheduler.claimed_until - self._clock.now()
            if ahead > 0 and self._is_nearly_done():
                pace = (now - turned) * PACE_MAX / rate
                self._clock.turn(max(1, min(int(pace * SECOND), ahead)))
                self._incarnation.worker.starting.nudge()
            turned = now
            if ahead < AHEAD - SCAN_US:
                self._incarnation.scheduler.loop.nudge()
            await asyncio.sleep(WATCH_S)
            if now - said >= 1.0:
                said = now
                say(f"{len(self._handler.calls):,} runs")

    def _is_nearly_done(self) -> bool:
        node = self._incarnation
        return node.unstarted < UNSTARTED_MAX and node.outcomes < UNRECORDED_MAX

    async def settle(self) -> None:
        """Time stands still until nothing more is called and nothing is in hand."""
        end, called, quiet = time.perf_counter() + SETTLE_S, -1, 0
        while quiet < QUIET_LOOKS and time.perf_counter() < end and not self._working.done():
            still = called == len(self._handler.calls) and not self._incarnation.outcomes
            quiet = quiet + 1 if still else 0
            called = len(self._handler.calls)
            self._nudge()
            await asyncio.sleep(QUIET_S)

    async def stop(self) -> None:
        self._stop.set()
        await asyncio.wait([self._working])
        self._working.result()

    def _nudge(self) -> None:
        self._incarnation.scheduler.loop.nudge()
        self._incarnation.worker.loop.nudge()


async def _load(
    store: Store, clock: TurnedClock, jobs: int, say: Progress
) -> list[tuple[Instant, int]]:
    """Create the population by the verb for crowds; returned as (anchor, interval).

    Two chunks are under way at a time: while the store is at one, the next is being made.
    """
    source = definitions(jobs)
    population: list[tuple[Instant, int]] = []
    under_way: set[asyncio.Task[list[int]]] = set()
    while chunk := list(islice(source, CHUNK)):
        clock.turn(SECOND // 10)  # keeps the phases of the chunks apart
        under_way.add(asyncio.create_task(_create(store, chunk, clock.now())))
        for each in chunk:
            assert isinstance(each.schedule, Every)
            population.append((clock.now(), each.schedule.every_us))
        if len(under_way) > 1:
            done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        say(f"loaded {len(population):,} of {jobs:,} schedules")
    await asyncio.gather(*under_way)
    return population


async def _create(store: Store, chunk: list[Definition], now: Instant) -> list[int]:
    return await store.jobs.create_many(chunk, now=now)


def _rate(population: list[tuple[Instant, int]]) -> float:
    """How many occurrences fall due in a second."""
    return sum(SECOND / every for _, every in population)
