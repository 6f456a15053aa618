"""Backfills on PostgreSQL: instants of the past, run after all, so many at a time."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.core.backfilling import BackfillOptions
from onthedot.core.instants import Instant
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import SQL
from onthedot.store.postgres.steps import PostgresSession, drive
from onthedot.store.refusals import no_such_job
from onthedot.store.shared.backfills import SharedBackfills
from onthedot.store.shared.steps import rows
from onthedot.store.values import BackfillView


class PostgresBackfills(SharedBackfills):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(PostgresSession(database))
        self._database = database

    async def begin(
        self, job: int, dues: Sequence[Instant], options: BackfillOptions, *, now: Instant
    ) -> BackfillView:
        async def verb(db: Connection) -> BackfillView:
            if await db.fetchval(SQL["dead_letters.lock_job"], job) is None:
                raise no_such_job(job)
            said = (options.priority, options.concurrency, options.newest_first)
            number = await db.fetchval(SQL["backfills.insert"], job, *said, now)
            # In one order, so that two backfills of the same instants cannot wait for each other.
            total = await db.fetchval(SQL["backfills.insert_items"], job, sorted(dues), number)
            await db.execute(SQL["backfills.set_total"], number, total)
            return BackfillView(number, job, options, total, now)

        return await self._database.transaction(verb)

    async def advance(self, *, limit: int, now: Instant) -> int:
        return await self._database.transaction(lambda db: _advance(db, limit, now))


async def _advance(db: Connection, limit: int, now: Instant) -> int:
    made = 0
    for row in await db.fetch(SQL["backfills.open"], limit):
        number, job, priority, concurrency, newest_first = row
        if await db.fetchval(SQL["dead_letters.lock_job"], job) is None:
            await drive(db, rows("backfills.forget_unmade", id=number))
        live = await db.fetchval(SQL["backfills.live"], number)
        order = "backfills.newest" if newest_first else "backfills.oldest"
        dues = await db.fetch(SQL[order], number, max(0, concurrency - live))
        for place, (due,) in enumerate(dues):
            # Each has a microsecond of its own, so that free numbers are not looked for long.
            await db.fetchval(SQL["backfills.make"], job, due, priority, now, now + place)
        made += len(dues)
        if not dues and not live:
            await drive(db, rows("backfills.end", id=number, now=now))
    return made
