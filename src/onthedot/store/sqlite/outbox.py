"""Notices of failed runs on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from onthedot.core.instants import Instant
from onthedot.core.model import Outcome
from onthedot.core.notifying import Notice
from onthedot.store.rows import notice_of, notice_view
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.statements import SQL
from onthedot.store.values import Delivery, NoticeView


class SqliteOutbox:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def take(self, *, limit: int, until: Instant, now: Instant) -> list[Notice]:
        return await self._database.write(lambda db: _take(db, limit, until, now))

    async def settle(self, deliveries: Sequence[Delivery], *, now: Instant) -> int:
        return await self._database.write(lambda db: sum(_settle(db, deliveries, now)))

    async def get(self, job: int, run: int) -> NoticeView | None:
        return await self._database.read(lambda db: _get(db, job, run))


def note_failures(db: sqlite3.Connection, outcomes: Iterable[Outcome]) -> None:
    """Of runs whose end is in history by now; those whose job asks for it get a notice."""
    keys = [(outcome.job, outcome.run, outcome.attempt) for outcome in outcomes]
    db.executemany(SQL["outbox.note"], keys)


def _take(db: sqlite3.Connection, limit: int, until: Instant, now: Instant) -> list[Notice]:
    keys = db.execute(SQL["outbox.due"], {"now": now, "limit": limit}).fetchall()
    return [
        notice_of(row)
        for key in keys
        for row in db.execute(SQL["outbox.take"], (until, *key)).fetchall()
    ]


def _settle(db: sqlite3.Connection, deliveries: Sequence[Delivery], now: Instant) -> Iterable[int]:
    for delivery in deliveries:
        if delivery.trouble is None:
            yield db.execute(SQL["outbox.delivered"], delivery[:3]).rowcount
        else:
            values = {**delivery._asdict(), "now": now}
            yield db.execute(SQL["outbox.put_off"], values).rowcount


def _get(db: sqlite3.Connection, job: int, run: int) -> NoticeView | None:
    row = db.execute(SQL["outbox.get"], (job, run)).fetchone()
    return None if row is None else notice_view(row)
