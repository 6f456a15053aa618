"""Dead letters on PostgreSQL: reading them, running them again, letting them go."""

from __future__ import annotations

from typing import NoReturn

from onthedot.core.instants import Instant
from onthedot.ids import run_id
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.ledger import find_run
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import job_deleted, no_dead_letter, no_such_job
from onthedot.store.rows import dead_letter_of
from onthedot.store.values import DeadLetter, DeadLetterCursor, Redriven

_LAST = DeadLetterCursor((1 << 63) - 1, 0, 0)
_NEWEST = (1 << 63) - 1


class PostgresDeadLetters:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def page(self, *, before: DeadLetterCursor | None, limit: int) -> list[DeadLetter]:
        rows = await self._database.rows(SQL["dead_letters.page"], *(before or _LAST), limit)
        return [dead_letter_of(row) for row in rows]

    async def of_job(self, job: int, *, before: int | None, limit: int) -> list[DeadLetter]:
        below = _NEWEST if before is None else before
        rows = await self._database.rows(SQL["dead_letters.of_job"], job, below, limit)
        return [dead_letter_of(row) for row in rows]

    async def get(self, job: int, run: int) -> DeadLetter:
        async def verb(db: Connection) -> DeadLetter:
            row = await db.fetchrow(SQL["dead_letters.get"], job, run)
            if row is None:
                await _refuse(db, job, run)
            return dead_letter_of(row)

        return await self._database.snapshot(verb)

    async def redrive(self, job: int, run: int, *, now: Instant) -> int:
        return await self._database.transaction(lambda db: _redrive_one(db, job, run, now))

    async def redrive_all(self, job: int, *, limit: int, now: Instant) -> list[Redriven]:
        async def verb(db: Connection) -> list[Redriven]:
            if await db.fetchval(SQL["dead_letters.lock_job"], job) is None:
                raise no_such_job(job)
            rows = await db.fetch(SQL["dead_letters.redrive"], job, None, limit, now)
            return [Redriven(*row) for row in rows]

        return await self._database.transaction(verb)

    async def dismiss(self, job: int, run: int) -> None:
        async def verb(db: Connection) -> None:
            if await db.fetchval(SQL["dead_letters.dismiss"], job, run) is None:
                await _refuse(db, job, run)

        await self._database.transaction(verb)

    async def dismiss_all(self, job: int, *, limit: int) -> int:
        return len(await self._database.rows(SQL["dead_letters.dismiss_all"], job, limit))


async def _redrive_one(db: Connection, job: int, run: int, now: Instant) -> int:
    is_there = await db.fetchval(SQL["dead_letters.lock_job"], job) is not None
    if not is_there:
        if await db.fetchrow(SQL["dead_letters.get"], job, run) is None:
            await _refuse(db, job, run)
        raise job_deleted(job)
    rows = await db.fetch(SQL["dead_letters.redrive"], job, [run], 1, now)
    if not rows:
        await _refuse(db, job, run)
    return int(rows[0][1])


async def _refuse(db: Connection, job: int, run: int) -> NoReturn:
    successor = await db.fetchval(SQL["dead_letters.successor"], job, run)
    if successor is not None:
        installation = await db.fetchval(SQL["upkeep.installation"])
        raise no_dead_letter(None, run_id(installation, job, successor))
    # Whether it has ended does not depend on the instant.
    found = await find_run(db, job, run, now=0)
    raise no_dead_letter(None if found is None else found.status, None)
