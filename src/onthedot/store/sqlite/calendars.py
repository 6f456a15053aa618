"""SqliteCalendars on SQLite: as they are now, and which jobs follow them."""

from __future__ import annotations

import sqlite3

from onthedot.core.instants import Instant
from onthedot.core.model import Definition, Job
from onthedot.core.schedules import Calendar
from onthedot.core.schedules.calendar import unknown_calendar
from onthedot.store.calendars import NAMED_MAX, Behind, CalendarView, rules_text
from onthedot.store.refusals import (
    calendar_conflict,
    calendar_in_use,
    no_such_calendar,
)
from onthedot.store.rows import job_of
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.statements import SQL


class SqliteCalendars:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def put(
        self, name: str, calendar: Calendar, *, now: Instant, expected: int | None = None
    ) -> CalendarView:
        return await self._database.write(lambda db: _put(db, name, calendar, now, expected))

    async def get(self, name: str) -> CalendarView:
        return await self._database.read(lambda db: _get(db, name))

    async def page(self, *, after: str, limit: int) -> list[CalendarView]:
        bounds = {"after": after, "limit": limit}
        return await self._database.read(
            lambda db: [CalendarView.of(row) for row in db.execute(SQL["calendars.page"], bounds)]
        )

    async def followers(self, name: str, *, limit: int) -> list[Job]:
        return await self._database.read(lambda db: _followers(db, name, limit))

    async def behind(self, *, limit: int) -> list[Behind]:
        return await self._database.read(
            lambda db: [Behind.of(row) for row in db.execute(SQL["calendars.behind"], (limit,))]
        )

    async def delete(self, name: str, *, expected: int | None = None) -> None:
        await self._database.write(lambda db: _delete(db, name, expected))


def use(db: sqlite3.Connection, job: int, old: Definition | None, new: Definition | None) -> None:
    """Write down which calendar a job follows from now on; `new` None: the job is deleted."""
    before = None if old is None else old.calendar
    after = None if new is None else new.calendar
    if after is None:
        if before is not None:
            db.execute(SQL["calendars.leave"], (job,))
        return
    if before is not None and before[:2] == after[:2]:
        return
    if db.execute(SQL["calendars.keep"], (after.name,)).fetchone() is None:
        raise unknown_calendar(after.name)
    db.execute(SQL["calendars.use"], (job, after.name, after.version))


def _put(
    db: sqlite3.Connection, name: str, calendar: Calendar, now: Instant, expected: int | None
) -> CalendarView:
    row = db.execute(SQL["calendars.lock"], (name,)).fetchone()
    if expected is not None and (row is None or row[0] != expected):
        raise calendar_conflict(name, None if row is None else row[0], expected)
    said = {"name": name, "rules": rules_text(calendar), "now": now}
    if row is None:
        db.execute(SQL["calendars.insert"], said)
    elif row[1] != said["rules"]:
        db.execute(SQL["calendars.update"], {**said, "version": row[0] + 1})
    return _get(db, name)


def _get(db: sqlite3.Connection, name: str) -> CalendarView:
    row = db.execute(SQL["calendars.get"], (name,)).fetchone()
    if row is None:
        raise no_such_calendar(name)
    return CalendarView.of(row)


def _followers(db: sqlite3.Connection, name: str, limit: int) -> list[Job]:
    bounds = {"name": name, "limit": limit}
    return [job_of(row) for row in db.execute(SQL["calendars.followers"], bounds)]


def _delete(db: sqlite3.Connection, name: str, expected: int | None) -> None:
    found = _get(db, name)
    if expected is not None and found.version != expected:
        raise calendar_conflict(name, found.version, expected)
    if found.jobs:
        raise calendar_in_use(found, _followers(db, name, NAMED_MAX))
    db.execute(SQL["calendars.delete"], (name,))
