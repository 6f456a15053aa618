"""Dead letters on SQLite: reading them, running them again, letting them go."""

from __future__ import annotations

import sqlite3
from typing import NoReturn

from onthedot.core.instants import Instant
from onthedot.ids import run_id
from onthedot.store.refusals import job_deleted, no_dead_letter, no_such_job
from onthedot.store.rows import dead_letter_of
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.enqueueing import free_number
from onthedot.store.sqlite.ledger import find_run
from onthedot.store.sqlite.statements import SQL
from onthedot.store.values import DeadLetter, DeadLetterCursor, Redriven

_LAST = DeadLetterCursor((1 << 63) - 1, 0, 0)
_NEWEST = (1 << 63) - 1

Row = tuple[int, Instant, str | None]
"""What a redrive needs of a letter: its run, when that was due, its payload."""


class SqliteDeadLetters:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def page(self, *, before: DeadLetterCursor | None, limit: int) -> list[DeadLetter]:
        bounds = {**(before or _LAST)._asdict(), "limit": limit}
        return await self._database.read(
            lambda db: [dead_letter_of(row) for row in db.execute(SQL["dead_letters.page"], bounds)]
        )

    async def of_job(self, job: int, *, before: int | None, limit: int) -> list[DeadLetter]:
        bounds = {"job": job, "before": _NEWEST if before is None else before, "limit": limit}
        return await self._database.read(
            lambda db: [
                dead_letter_of(row) for row in db.execute(SQL["dead_letters.of_job"], bounds)
            ]
        )

    async def get(self, job: int, run: int) -> DeadLetter:
        return await self._database.read(lambda db: _get(db, job, run))

    async def redrive(self, job: int, run: int, *, now: Instant) -> int:
        return await self._database.write(lambda db: _redrive_one(db, job, run, now))

    async def redrive_all(self, job: int, *, limit: int, now: Instant) -> list[Redriven]:
        return await self._database.write(lambda db: _redrive_all(db, job, limit, now))

    async def dismiss(self, job: int, run: int) -> None:
        await self._database.write(lambda db: _take(db, job, run))

    async def dismiss_all(self, job: int, *, limit: int) -> int:
        bounds = {"job": job, "limit": limit}
        return await self._database.write(
            lambda db: db.execute(SQL["dead_letters.dismiss_all"], bounds).rowcount
        )


def _get(db: sqlite3.Connection, job: int, run: int) -> DeadLetter:
    row = db.execute(SQL["dead_letters.get"], {"job": job, "run": run}).fetchone()
    if row is None:
        _refuse(db, job, run)
    return dead_letter_of(row)


def _redrive_one(db: sqlite3.Connection, job: int, run: int, now: Instant) -> int:
    letter = _take(db, job, run)
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


def _take(db: sqlite3.Connection, job: int, run: int) -> Row:
    rows: list[Row] = db.execute(SQL["dead_letters.take"], {"job": job, "run": run}).fetchall()
    if not rows:
        _refuse(db, job, run)
    return rows[0]


def _exists(db: sqlite3.Connection, job: int) -> bool:
    return db.execute(SQL["runs.job_of"], (job,)).fetchone() is not None


def _refuse(db: sqlite3.Connection, job: int, run: int) -> NoReturn:
    successor = db.execute(SQL["dead_letters.successor"], (job, run)).fetchone()
    if successor is not None:
        (installation,) = db.execute(SQL["upkeep.installation"]).fetchone()
        raise no_dead_letter(None, run_id(installation, job, successor[0]))
    # Whether it has ended does not depend on the instant.
    found = find_run(db, job, run, now=0)
    raise no_dead_letter(None if found is None else found.status, None)
