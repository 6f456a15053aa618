"""A crowd that falls due at one instant: how long until all of it has started, and whether others,
which fall due every second beside it, have to wait for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

from onthedot.clock import Clock
from onthedot.core.instants import MILLISECOND, SECOND, Instant
from onthedot.core.model import Definition
from onthedot.core.schedules import Every
from onthedot.store.contract import Store
from onthedot_bench.driving import BenchNode, Progress, load, observed
from onthedot_bench.figures import Found, percentile
from onthedot_bench.handlers import Opened
from onthedot_bench.population import PAYLOAD, Dues, Handler

OTHERS = 200
PHASES = 10
LOADED_PER_S = 5_000
"""So many are loaded in a second at the least: the crowd falls due only when all of it is there."""

STEADY_S = 5
ALL_S = 300.0
AFTER_S = 1.0
LOOK_S = 0.02


async def measure(
    store: Store, clock: Clock, called: Opened, *, crowd: int, say: Progress
) -> Found:
    created = clock.now()
    after = Every((STEADY_S + crowd // LOADED_PER_S) * SECOND)
    due = created + after.every_us
    await store.upkeep.prepare(now=created)
    dues = await load(store, _jobs("crowd", crowd, after, called.handler), lambda: created, say)
    await _load_others(store, created, called.handler, dues)
    node = await BenchNode.start(store, clock, called)

    async def all_of_it() -> None:
        begun = node.called
        await _wait(lambda: node.called - begun >= crowd, f"{crowd:,} at once", say)
        await asyncio.sleep(AFTER_S)

    found, begun = await observed(
        store,
        node,
        dues,
        before=lambda: _wait(lambda: clock.now() >= due - SECOND, "until they fall due", say),
        during=all_of_it,
    )
    found.more.update({"crowd": crowd, **_parted(called, begun, due)})
    return found


def _parted(called: Opened, begun: int, due: Instant) -> dict[str, float | None]:
    """The crowd and the others apart, as they were handed to who executes them."""
    wall = time.time() - time.perf_counter()
    late: dict[bool, list[float]] = {True: [], False: []}
    for each, at in called.runner.calls[begun:]:
        late[each == due].append(at + wall - each / SECOND)
    others = sorted(late[False])
    return {
        "allStartedSeconds": round(max(late[True], default=0.0), 3),
        "others": len(others),
        "othersP99LatenessMs": _ms(percentile(others, 0.99)),
        "othersMaxLatenessMs": _ms(percentile(others, 1.0)),
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 2)


def _jobs(name: str, count: int, schedule: Every, handler: Handler) -> Iterator[Definition]:
    for number in range(count):
        yield Definition(
            name=f"{name}-{number}",
            handler_url=handler.url,
            handler=handler.function,
            schedule=schedule,
            payload=PAYLOAD,
        )


async def _load_others(store: Store, created: Instant, handler: Handler, dues: Dues) -> None:
    """Spread over the second, and never at the crowd's own instant."""
    every = Every(SECOND)
    for phase in range(PHASES):
        at = created - (50 + 100 * phase) * MILLISECOND
        jobs = list(_jobs(f"other-{phase}", OTHERS // PHASES, every, handler))
        await store.jobs.create_many(jobs, now=at)
        for _ in jobs:
            dues.add(at, every)


async def _wait(is_so: Callable[[], bool], what: str, say: Progress) -> None:
    end = time.perf_counter() + ALL_S
    while not is_so() and time.perf_counter() < end:
        say(what, 0.0)
        await asyncio.sleep(LOOK_S)
