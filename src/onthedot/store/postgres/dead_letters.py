"""Dead letters on PostgreSQL: running them again."""

from __future__ import annotations

from onthedot.core.instants import Instant
from onthedot.store.contract import LedgerVerbs
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import SQL
from onthedot.store.postgres.steps import PostgresSession, drive
from onthedot.store.refusals import job_deleted, no_such_job
from onthedot.store.shared.dead_letters import SharedDeadLetters
from onthedot.store.shared.steps import row
from onthedot.store.values import Redriven


class PostgresDeadLetters(SharedDeadLetters):
    def __init__(self, database: PostgresDatabase, ledger: LedgerVerbs) -> None:
        super().__init__(PostgresSession(database), ledger)
        self._database = database

    async def redrive(self, job: int, run: int, *, now: Instant) -> int:
        async def verb(db: Connection) -> int | None:
            if await db.fetchval(SQL["dead_letters.lock_job"], job) is None:
                if await drive(db, row("dead_letters.get", job=job, run=run)) is not None:
                    raise job_deleted(job)
                return None
            rows = await db.fetch(SQL["dead_letters.redrive"], job, [run], 1, now)
            return int(rows[0][1]) if rows else None

        made = await self._database.transaction(verb)
        if made is None:
            raise await self._refusal(job, run)
        return made

    async def redrive_all(self, job: int, *, limit: int, now: Instant) -> list[Redriven]:
        async def verb(db: Connection) -> list[Redriven]:
            if await db.fetchval(SQL["dead_letters.lock_job"], job) is None:
                raise no_such_job(job)
            rows = await db.fetch(SQL["dead_letters.redrive"], job, None, limit, now)
            return [Redriven(*row) for row in rows]

        return await self._database.transaction(verb)
