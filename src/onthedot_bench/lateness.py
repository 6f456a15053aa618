"""How late runs start at a given rate, by the real clock: nothing waits for anything else.

The rate does not depend on how quick the engine is (open loop), so whatever it cannot keep up with
shows as lateness. What is measured is the moment at which the handler itself began.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from random import Random

from onthedot.clock import Clock
from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.core.model import Definition
from onthedot.core.schedules import Every
from onthedot.store.contract import Store
from onthedot_bench.driving import BenchNode, Progress, load, observed
from onthedot_bench.figures import Found
from onthedot_bench.handlers import Opened
from onthedot_bench.population import PAYLOAD, PRIORITIES, QUEUES, Handler

SHORTEST_S, LONGEST_S = 2, 6
STEP_MS = 5
"""Intervals of 2 to 6 s, 5 ms apart: what was created together falls due spread out."""

_PER_JOB = math.log(LONGEST_S / SHORTEST_S) / (LONGEST_S - SHORTEST_S)
"""Occurrences a second of such a job, on average."""

SAY_S = 0.5


async def measure(
    store: Store, clock: Clock, called: Opened, *, rate: int, seconds: float, say: Progress
) -> Found:
    await store.upkeep.prepare(now=clock.now())
    jobs = max(1, round(rate / _PER_JOB))
    dues = await load(store, _population(jobs, called.handler), clock.now, say)
    node = await BenchNode.start(store, clock, called, slots=max(100, rate))
    found, _ = await observed(
        store,
        node,
        dues,
        before=lambda: _wait(LONGEST_S, "until all have begun", say),
        during=lambda: _wait(seconds, f"{rate:,} a second", say),
    )
    found.more.update({"wantedPerSecond": rate, "schedules": jobs})
    return found


def _population(jobs: int, handler: Handler) -> Iterator[Definition]:
    chance = Random(1)
    steps = (LONGEST_S - SHORTEST_S) * 1_000 // STEP_MS
    for number in range(jobs):
        every = SHORTEST_S * SECOND + int(chance.random() * steps) * STEP_MS * MILLISECOND
        yield Definition(
            name=f"bench-{number}",
            handler_url=handler.url,
            handler=handler.function,
            schedule=Every(every),
            payload=PAYLOAD,
            queue=QUEUES[number % len(QUEUES)],
            priority=PRIORITIES[number % len(PRIORITIES)],
        )


async def _wait(seconds: float, what: str, say: Progress) -> None:
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        say(what, passed / seconds)
        await asyncio.sleep(min(SAY_S, seconds - passed))
