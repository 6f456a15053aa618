"""What a server costs that has many schedules and nothing to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from onthedot.clock import Clock
from onthedot.core.instants import DAY, SECOND
from onthedot.core.model import Definition
from onthedot.core.schedules import Every
from onthedot.observe.tally import Tally
from onthedot.store.contract import Store
from onthedot.store.timed import timed
from onthedot_bench.driving import BenchNode, Progress, load
from onthedot_bench.figures import FigureSheet, Found
from onthedot_bench.handlers import Opened
from onthedot_bench.population import PAYLOAD, Handler
from onthedot_bench.probes import Meter, Spent, timer_floor

CALM_S = 3.0
ROLES = ("scheduler", "worker", "janitor")


async def measure(
    store: Store, clock: Clock, called: Opened, *, seconds: float, schedules: int, say: Progress
) -> Found:
    tally = Tally()
    await store.upkeep.prepare(now=clock.now())
    await load(store, _population(schedules, called.handler), clock.now, say)
    node = await BenchNode.start(timed(store, tally, clock), clock, called, slots=100, roles=ROLES)
    # Starting costs something, too; a short measurement does not wait longer than it lasts.
    await asyncio.sleep(min(CALM_S, seconds))
    meter, spent = await Meter.begin(store, called.runners), Spent()
    asked, began = sum(tally.calls.values()), time.perf_counter()
    with timer_floor(spent):
        say("doing nothing", 0.0)
        await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    meter.read_processor(spent)
    asked = sum(tally.calls.values()) - asked
    await meter.read_costs(spent, store)
    await node.stop()
    queries = asked if spent.costs is None else spent.costs.transactions
    database = spent.database_s
    return Found(
        runs=len(called.runner.calls),
        seconds=took,
        lateness_s=[],
        spent=spent,
        ledger=FigureSheet(),
        more={
            "schedules": schedules,
            "pythonPercentOfACore": round(100 * spent.python_s / took, 2),
            "databasePercentOfACore": None if database is None else round(100 * database / took, 2),
            "queriesPerSecond": round(queries / took, 2),
        },
    )


def _population(schedules: int, handler: Handler) -> Iterator[Definition]:
    """None of them is due before a day has passed."""
    for number in range(schedules):
        yield Definition(
            name=f"bench-{number}",
            handler_url=handler.url,
            handler=handler.function,
            schedule=Every(DAY + number % 3_600 * SECOND),
            payload=PAYLOAD,
        )
