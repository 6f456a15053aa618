"""What many schedules cost: loaded by the verb for crowds, then fired, beside a few of them in the
same database.
"""

from __future__ import annotations

import time
from statistics import median

from onthedot.bench import throughput
from onthedot.bench.driving import Progress
from onthedot.bench.figures import Found
from onthedot.bench.handlers import Kind, opened
from onthedot.bench.place import Place
from onthedot.store.contract import Store

FEW = 100_000
PAGE = 50
PAGES = 20


async def measure(
    place: Place, kind: Kind, *, seconds: float, schedules: int, say: Progress
) -> Found:
    few = min(FEW, schedules)
    async with place.store() as (store, _), opened(kind) as called:
        small = await throughput.measure(store, called, seconds=seconds, jobs=few, say=say)
    async with place.store() as (store, _), opened(kind) as called:
        found = await throughput.measure(store, called, seconds=seconds, jobs=schedules, say=say)
        page_ms = await _page_ms(store)
    found.ledger.lost += small.ledger.lost
    found.ledger.recorded_twice += small.ledger.recorded_twice
    cost, before = _cost(found), _cost(small)
    found.more |= {
        "microsPerRun": round(cost, 1),
        f"microsPerRunWith{few}": round(before, 1),
        "costRatio": round(cost / before, 2) if before else None,
        "pageOfJobsMs": round(page_ms, 2),
    }
    return found


def _cost(found: Found) -> float:
    """Of processor time, of the database and of Python."""
    spent = found.spent
    return (spent.python_s + (spent.database_s or 0.0)) * 1e6 / max(1, found.runs)


async def _page_ms(store: Store) -> float:
    """The middle one of some pages of jobs, one after the other."""
    took: list[float] = []
    before: int | None = None
    for _ in range(PAGES):
        began = time.perf_counter()
        page = await store.jobs.page(before=before, limit=PAGE)
        took.append(time.perf_counter() - began)
        before = page[-1].id if page else None
    return median(took) * 1e3
