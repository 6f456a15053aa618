"""Named calendars: as they are now, and which jobs follow them."""

from __future__ import annotations

from typing import Final

from onthedot.core.instants import Instant
from onthedot.core.model import Definition, Job
from onthedot.core.schedules import Calendar
from onthedot.core.schedules.calendar import unknown_calendar
from onthedot.store.calendars import NAMED_MAX, Behind, CalendarView, rules_text
from onthedot.store.refusals import calendar_conflict, calendar_in_use, no_such_calendar
from onthedot.store.rows import job_of
from onthedot.store.shared.steps import Session, Steps, row, rows, value

PUT_TRIES: Final = 10


class SharedCalendars:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def put(
        self, name: str, calendar: Calendar, *, now: Instant, expected: int | None = None
    ) -> CalendarView:
        return await self._session.write(lambda: _put(name, rules_text(calendar), now, expected))

    async def get(self, name: str) -> CalendarView:
        found = await self._session.rows("calendars.get", name=name)
        if not found:
            raise no_such_calendar(name)
        return CalendarView.of(found[0])

    async def page(self, *, after: str, limit: int) -> list[CalendarView]:
        found = await self._session.rows("calendars.page", after=after, limit=limit)
        return [CalendarView.of(each) for each in found]

    async def followers(self, name: str, *, limit: int) -> list[Job]:
        found = await self._session.rows("calendars.followers", name=name, limit=limit)
        return [job_of(each) for each in found]

    async def behind(self, *, limit: int) -> list[Behind]:
        found = await self._session.rows("calendars.behind", limit=limit)
        return [Behind.of(each) for each in found]

    async def delete(self, name: str, *, expected: int | None = None) -> None:
        await self._session.write(lambda: _delete(name, expected))


def use(job: int, old: Definition | None, new: Definition | None) -> Steps[None]:
    """Write down which calendar a job follows from now on; `new` None: the job is deleted."""
    before = None if old is None else old.calendar
    after = None if new is None else new.calendar
    if after is None:
        if before is not None:
            yield from rows("calendars.leave", job=job)
        return
    if before is not None and before[:2] == after[:2]:
        return
    if (yield from value("calendars.keep", name=after.name)) is None:
        raise unknown_calendar(after.name)
    yield from rows("calendars.use", job=job, calendar=after.name, version=after.version)


def _put(name: str, rules: str, now: Instant, expected: int | None) -> Steps[CalendarView]:
    found = None
    for _ in range(PUT_TRIES):
        if expected is None:
            yield from rows("calendars.insert", name=name, rules=rules, now=now)
        found = yield from row("calendars.lock", name=name)
        if found is not None or expected is not None:
            break
        # It was there when we wanted to make it, and was deleted before we had it.
    version = None if found is None else found[0]
    if found is None or expected not in (None, version):
        raise calendar_conflict(name, version, expected or 0)
    if found[1] != rules:
        new = found[0] + 1
        yield from rows("calendars.update", name=name, version=new, rules=rules, now=now)
    return CalendarView.of((yield from row("calendars.get", name=name)))


def _delete(name: str, expected: int | None) -> Steps[None]:
    if (yield from row("calendars.lock_to_delete", name=name)) is None:
        raise no_such_calendar(name)
    # In a statement after the lock: jobs that were about to follow it have done so, or wait.
    found = CalendarView.of((yield from row("calendars.get", name=name)))
    if expected is not None and found.version != expected:
        raise calendar_conflict(name, found.version, expected)
    if found.jobs:
        followers = yield from rows("calendars.followers", name=name, limit=NAMED_MAX)
        raise calendar_in_use(found, [job_of(each) for each in followers])
    yield from rows("calendars.delete", name=name)
