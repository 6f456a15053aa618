"""PostgresCalendars on PostgreSQL: as they are now, and which jobs follow them."""

from __future__ import annotations

from onthedot.core.instants import Instant
from onthedot.core.model import Definition, Job
from onthedot.core.schedules import Calendar
from onthedot.core.schedules.calendar import unknown_calendar
from onthedot.store.calendars import NAMED_MAX, Behind, CalendarView, rules_text
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import (
    calendar_conflict,
    calendar_in_use,
    no_such_calendar,
)
from onthedot.store.rows import job_of


class PostgresCalendars:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def put(
        self, name: str, calendar: Calendar, *, now: Instant, expected: int | None = None
    ) -> CalendarView:
        return await self._database.transaction(lambda db: _put(db, name, calendar, now, expected))

    async def get(self, name: str) -> CalendarView:
        row = await self._database.row(SQL["calendars.get"], name)
        if row is None:
            raise no_such_calendar(name)
        return CalendarView.of(row)

    async def page(self, *, after: str, limit: int) -> list[CalendarView]:
        rows = await self._database.rows(SQL["calendars.page"], after, limit)
        return [CalendarView.of(row) for row in rows]

    async def followers(self, name: str, *, limit: int) -> list[Job]:
        rows = await self._database.rows(SQL["calendars.followers"], name, limit)
        return [job_of(row) for row in rows]

    async def behind(self, *, limit: int) -> list[Behind]:
        rows = await self._database.rows(SQL["calendars.behind"], limit)
        return [Behind.of(row) for row in rows]

    async def delete(self, name: str, *, expected: int | None = None) -> None:
        await self._database.transaction(lambda db: _delete(db, name, expected))


async def use(db: Connection, job: int, old: Definition | None, new: Definition | None) -> None:
    """Write down which calendar a job follows from now on; `new` None: the job is deleted."""
    before = None if old is None else old.calendar
    after = None if new is None else new.calendar
    if after is None:
        if before is not None:
            await db.execute(SQL["calendars.leave"], job)
        return
    if before is not None and before[:2] == after[:2]:
        return
    if await db.fetchval(SQL["calendars.keep"], after.name) is None:
        raise unknown_calendar(after.name)
    await db.execute(SQL["calendars.use"], job, after.name, after.version)


async def _put(
    db: Connection, name: str, calendar: Calendar, now: Instant, expected: int | None
) -> CalendarView:
    rules = rules_text(calendar)
    if expected is None:
        await db.execute(SQL["calendars.insert"], name, rules, now)
    row = await db.fetchrow(SQL["calendars.lock"], name)
    if row is None and expected is None:
        # It was there when we wanted to make it, and was deleted before we had it.
        return await _put(db, name, calendar, now, expected)
    if row is None or (expected is not None and row[0] != expected):
        raise calendar_conflict(name, None if row is None else row[0], expected or 0)
    version, kept = row
    if kept != rules:
        await db.execute(SQL["calendars.update"], name, version + 1, rules, now)
    return CalendarView.of(await db.fetchrow(SQL["calendars.get"], name))


async def _delete(db: Connection, name: str, expected: int | None) -> None:
    if await db.fetchrow(SQL["calendars.lock_to_delete"], name) is None:
        raise no_such_calendar(name)
    # In a statement after the lock: jobs that were about to follow it have done so, or wait.
    found = CalendarView.of(await db.fetchrow(SQL["calendars.get"], name))
    if expected is not None and found.version != expected:
        raise calendar_conflict(name, found.version, expected)
    if found.jobs:
        rows = await db.fetch(SQL["calendars.followers"], name, NAMED_MAX)
        raise calendar_in_use(found, [job_of(row) for row in rows])
    await db.execute(SQL["calendars.delete"], name)
