"""A job as an edit finds it on PostgreSQL."""

from __future__ import annotations

from onthedot.core.editing import CurrentJob
from onthedot.core.instants import Instant
from onthedot.core.model import (
    Job,
    Once,
    occurrence,
    shard_of,
)
from onthedot.core.schedules import FixedDelay
from onthedot.store.postgres.chains import lock_chain
from onthedot.store.postgres.database import Connection
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import no_such_job
from onthedot.store.rows import job_of

NO_RUN = -1


async def _current_job(db: Connection, job: Job, horizon: Instant, now: Instant) -> CurrentJob:
    schedule = job.definition.schedule
    if isinstance(schedule, FixedDelay):
        chain, waiting, live = await lock_chain(db, job.id)
        return CurrentJob(
            job=job, horizon=horizon, waiting=waiting, now=now, chain=chain, live=live
        )
    run = occurrence(schedule.at) if isinstance(schedule, Once) else NO_RUN
    waiting = await db.fetchval(SQL["jobs.is_waiting"], job.id, run)
    return CurrentJob(job=job, horizon=horizon, waiting=waiting, now=now)


async def locked_job(db: Connection, number: int, now: Instant) -> tuple[CurrentJob, bool]:
    """The job under the lock of its shard, and whether it has an entry in the clock."""
    horizon = await db.fetchval(SQL["jobs.lock_shard"], shard_of(number))
    row = await db.fetchrow(SQL["jobs.lock"], number)
    if row is None:
        raise no_such_job(number)
    *columns, armed = row
    return await _current_job(db, job_of(columns), horizon, now), armed
