"""Jobs with a fixed delay: how they are made, brought up and looked at."""

from __future__ import annotations

from onthedot.core.instants import MINUTE
from onthedot.core.model import Job, LeasedRun
from onthedot.core.schedules import FixedDelay
from onthedot.core.states import Status
from tests.support.builders import a_job, ledger_of, promote

QUARTER = 15 * MINUTE


async def a_chain(store, clock, **fields) -> Job:
    return await a_job(store, clock, **{"schedule": FixedDelay(QUARTER), "retries": 0, **fields})


async def the_link(store, clock, node, job) -> LeasedRun:
    """The run of a chain that is under way now: whatever waits is brought up."""
    clock.advance((await store.jobs.get(job.id)).link - clock.now())
    [run] = await promote(store, clock, node)
    assert run.job == job.id
    return run


async def waiting_of(store, clock, job) -> list[int]:
    views = await ledger_of(store, clock, job.id)
    return [view.due for view in views if view.status is Status.SCHEDULED]


async def fates_of(store, clock, job) -> list[Status]:
    return [view.status for view in reversed(await ledger_of(store, clock, job.id))]
