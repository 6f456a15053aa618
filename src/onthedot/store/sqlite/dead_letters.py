"""Dead letters on SQLite: running them again."""

from __future__ import annotations

import sqlite3

from onthedot.core.instants import Instant
from onthedot.store.contract import LedgerVerbs
from onthedot.store.refusals import job_deleted, no_such_job
from onthedot.store.shared.dead_letters import SharedDeadLetters
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.enqueueing import free_number
from onthedot.store.sqlite.statements import SQL
from onthedot.store.sqlite.steps import SqliteSession
from onthedot.store.values import Redriven

Row = tuple[int, Instant, str | None]
"""What a redrive needs of a dead letter: its run, when that was due, its payload."""


class SqliteDeadLetters(SharedDeadLetters):
    def __init__(self, database: SqliteDatabase, ledger: LedgerVerbs) -> None:
        super().__init__(SqliteSession(database), ledger)
        self._database = database

    async def redrive(self, job: int, run: int, *, now: Instant) -> int:
        made = await self._database.write(lambda db: _redrive_one(db, job, run, now))
        if made is None:
            raise await self._refusal(job, run)
        return made

    async def redrive_all(self, job: int, *, limit: int, now: Instant) -> list[Redriven]:
        return await self._database.write(lambda db: _redrive_all(db, job, limit, now))


def _redrive_one(db: sqlite3.Connection, job: int, run: int, now: Instant) -> int | None:
    letter = _take(db, job, run)
    if letter is None:
        return None
    if not _exists(db, job):
        raise job_deleted(job)
    return _run_again(db, job, letter, now)


def _redrive_all(db: sqlite3.Connection, job: int, limit: int, now: Instant) -> list[Redriven]:
    if not _exists(db, job):
        raise no_such_job(job)
    letters = db.execute(SQL["dead_letters.oldest"], {"job": job, "limit": limit}).fetchall()
    for run, *_ in letters:
        _take(db, job, run)
    return [Redriven(letter[0], _run_again(db, job, letter, now)) for letter in letters]


def _run_again(db: sqlite3.Connection, job: int, letter: Row, now: Instant) -> int:
    run, due, payload = letter
    number = free_number(db, job, now)
    current = db.execute(SQL["runs.job_of"], (job,)).fetchone()
    row = (job, number, *current, due, now, 1, 0, 0, payload, None, None)
    db.execute(SQL["runs.insert_live"], row)
    db.execute(SQL["dead_letters.remember"], (job, number, run))
    return number


def _take(db: sqlite3.Connection, job: int, run: int) -> Row | None:
    rows: list[Row] = db.execute(SQL["dead_letters.take"], {"job": job, "run": run}).fetchall()
    return rows[0] if rows else None


def _exists(db: sqlite3.Connection, job: int) -> bool:
    return db.execute(SQL["runs.job_of"], (job,)).fetchone() is not None
