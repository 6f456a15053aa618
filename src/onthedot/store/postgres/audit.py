"""The books of jobs on PostgreSQL, for auditing."""

from __future__ import annotations

from onthedot.core.audit import AuditSnapshot, RecordedOccurrence
from onthedot.core.instants import Instant
from onthedot.core.model import occurrence, shard_of
from onthedot.store.audit_rows import LIVE_MAX, VERSIONS_MAX, Rows, books_of, fate_of
from onthedot.store.postgres.clock import FAR_US, near_slot
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import no_such_job


class PostgresAudit:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def jobs(self, *, after: int, limit: int) -> list[int]:
        rows = await self._database.rows(SQL["audit.jobs"], after, limit)
        return [row[0] for row in rows]

    async def books(self, job: int, *, until: Instant, unfired: bool) -> AuditSnapshot:
        return await self._database.snapshot(lambda db: _books(db, job, until, unfired))

    async def fates(self, job: int, *, after: Instant, limit: int) -> list[RecordedOccurrence]:
        async def verb(db: Connection) -> list[RecordedOccurrence]:
            rows = await db.fetch(SQL["audit.fate_before"], job, occurrence(after))
            rows += await db.fetch(SQL["audit.fates"], job, occurrence(after), limit)
            return [fate_of(row) for row in rows]

        return await self._database.snapshot(verb)


async def _books(db: Connection, job: int, until: Instant, unfired: bool) -> AuditSnapshot:
    versions = (await db.fetch(SQL["audit.versions"], job, VERSIONS_MAX))[::-1]
    versions += await db.fetch(SQL["audit.current"], job)
    if not versions:
        raise no_such_job(job)
    entries = []
    if unfired:
        slots = near_slot(until), until // FAR_US
        entries = await db.fetch(SQL["audit.unfired"], job, shard_of(job), until, *slots)
    rows = Rows(
        versions=versions,
        live=await db.fetch(SQL["audit.live"], job, LIVE_MAX),
        created_at=await db.fetchval(SQL["audit.created_at"], job),
        edge=await db.fetchval(SQL["audit.edge"]),
        aside=await db.fetch(SQL["audit.aside"], job),
        unfired=entries,
        told=await db.fetch(SQL["zones.told"], until),
        link=await db.fetchrow(SQL["audit.link"], job),
    )
    return books_of(rows, now=until)
