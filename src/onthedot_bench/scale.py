"""What many schedules cost: loaded by the verb for crowds, then fired, beside a few of them in the
same database.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from onthedot.store.contract import Store
from onthedot_bench import throughput
from onthedot_bench.driving import Progress
from onthedot_bench.figures import Found
from onthedot_bench.handlers import Kind, opened
from onthedot_bench.place import BenchDatabase

FEW = 100_000
PAGE = 50
PAGES = 20


async def measure(
    place: BenchDatabase, kind: Kind, *, seconds: float, schedules: int, say: Progress
) -> Found:
    """So many beside a few."""
    few = min(FEW, schedules)
    small, found = await measure_each(
        place, kind, seconds=seconds, schedules=(few, schedules), say=say
    )
    found.ledger.lost += small.ledger.lost
    found.ledger.recorded_twice += small.ledger.recorded_twice
    cost, before = _cost(found), _cost(small)
    found.more |= {
        f"microsPerRunWith{few}": round(before, 1),
        "costRatio": round(cost / before, 2) if before else None,
    }
    return found


async def measure_each(
    place: BenchDatabase, kind: Kind, *, seconds: float, schedules: Sequence[int], say: Progress
) -> list[Found]:
    """One number of schedules after the other, each in an empty database."""
    everything: list[Found] = []
    for jobs in schedules:
        async with place.store() as (store, _), opened(kind) as called:
            found = await throughput.measure(
                store, called, seconds=seconds, jobs=jobs, say=say, loaded=place.vacuum
            )
            page_ms = await _page_ms(store)
        found.more |= {"microsPerRun": round(_cost(found), 1), "pageOfJobsMs": round(page_ms, 2)}
        everything.append(found)
    return everything


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
