"""Backfills on SQLite: instants of the past, run after all, so many at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from onthedot.core.backfilling import BackfillOptions
from onthedot.core.instants import Instant
from onthedot.store.refusals import no_such_job
from onthedot.store.shared.backfills import SharedBackfills
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.enqueueing import free_number
from onthedot.store.sqlite.statements import SQL
from onthedot.store.sqlite.steps import SqliteSession
from onthedot.store.values import BackfillView


class SqliteBackfills(SharedBackfills):
    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(SqliteSession(database))
        self._database = database

    async def begin(
        self, job: int, dues: Sequence[Instant], options: BackfillOptions, *, now: Instant
    ) -> BackfillView:
        return await self._database.write(lambda db: _begin(db, job, dues, options, now))

    async def advance(self, *, limit: int, now: Instant) -> int:
        return await self._database.write(lambda db: _advance(db, limit, now))


def _begin(
    db: sqlite3.Connection,
    job: int,
    dues: Sequence[Instant],
    options: BackfillOptions,
    now: Instant,
) -> BackfillView:
    if db.execute(SQL["runs.job_of"], (job,)).fetchone() is None:
        raise no_such_job(job)
    values = {
        "job": job,
        "priority": options.priority,
        "concurrency": options.concurrency,
        "newest_first": options.newest_first,
        "now": now,
    }
    number = db.execute(SQL["backfills.insert"], values).lastrowid
    assert number is not None
    rows = [(job, due, number) for due in dues]
    total = db.executemany(SQL["backfills.insert_item"], rows).rowcount if rows else 0
    db.execute(SQL["backfills.set_total"], (total, number))
    return BackfillView(number, job, options, total, now)


def _advance(db: sqlite3.Connection, limit: int, now: Instant) -> int:
    made = 0
    for row in db.execute(SQL["backfills.open"], {"limit": limit}).fetchall():
        number, job, priority, concurrency, newest_first = row
        current = db.execute(SQL["runs.job_of"], (job,)).fetchone()
        if current is None:
            db.execute(SQL["backfills.forget_unmade"], {"id": number})
        (live,) = db.execute(SQL["backfills.live"], {"id": number}).fetchone()
        order = "backfills.newest" if newest_first else "backfills.oldest"
        room = {"id": number, "limit": max(0, concurrency - live)}
        dues = db.execute(SQL[order], room).fetchall()
        for (due,) in dues:
            version, lane, traits, _ = current
            run = free_number(db, job, now)
            where = (job, run, version, lane, traits, priority, due, now)
            db.execute(SQL["runs.insert_live"], (*where, 1, 0, 0, None, None, None))
            db.execute(SQL["backfills.made"], (run, job, due))
        made += len(dues)
        if not dues and not live:
            db.execute(SQL["backfills.end"], {"id": number, "now": now})
    return made
