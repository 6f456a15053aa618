"""Notices of failed runs on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.core.instants import Instant
from onthedot.core.notifying import Notice
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import SQL
from onthedot.store.rows import notice_of, notice_view
from onthedot.store.values import Delivery, NoticeView


class PostgresOutbox:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def take(self, *, limit: int, until: Instant, now: Instant) -> list[Notice]:
        rows = await self._database.rows(SQL["outbox.take"], now, until, limit)
        return [notice_of(row) for row in rows]

    async def settle(self, deliveries: Sequence[Delivery], *, now: Instant) -> int:
        return await self._database.transaction(lambda db: _settle(db, deliveries, now))

    async def get(self, job: int, run: int) -> NoticeView | None:
        row = await self._database.row(SQL["outbox.get"], job, run)
        return None if row is None else notice_view(row)


async def _settle(db: Connection, deliveries: Sequence[Delivery], now: Instant) -> int:
    """Locked first: from then on what is still ours stays so until we have written it."""
    keys = [[each[column] for each in deliveries] for column in range(3)]
    ours = {tuple(row) for row in await db.fetch(SQL["outbox.lock"], *keys)}
    for delivery in deliveries:
        job, run, _, trouble, next_at = delivery
        if (job, run) not in ours:
            continue
        if trouble is None:
            await db.execute(SQL["outbox.delivered"], job, run)
        else:
            await db.execute(SQL["outbox.put_off"], job, run, next_at, trouble, now)
    return len(ours)
