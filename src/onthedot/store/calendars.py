"""Named calendars, and jobs that follow them: the part of the contract that both stores share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from onthedot.core import editing
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.instants import Instant
from onthedot.core.model import Job, NamedCalendar
from onthedot.core.schedules import Calendar
from onthedot.core.schedules.spec import calendar_from, calendar_spec

NAMED_MAX: Final = 10
"""So many jobs are named by a refusal."""


class CalendarView(NamedTuple):
    """A calendar as it is now. So many `jobs` follow it; `behind` of them an earlier version."""

    name: str
    version: int
    calendar: Calendar
    created_at: Instant
    updated_at: Instant
    jobs: int = 0
    behind: int = 0

    @property
    def named(self) -> NamedCalendar:
        return NamedCalendar(self.name, self.version, self.calendar)

    @classmethod
    def of(cls, row: Sequence[Any]) -> CalendarView:
        name, version, rules, created_at, updated_at, jobs, behind = row
        return cls(name, version, _calendar(rules), created_at, updated_at, jobs, behind)


class Behind(NamedTuple):
    """A job that follows an earlier version of a calendar, and the calendar as it is now."""

    job: int
    calendar: NamedCalendar

    @classmethod
    def of(cls, row: Sequence[Any]) -> Behind:
        job, name, version, rules = row
        return cls(job, NamedCalendar(name, version, _calendar(rules)))

    def decide(self, current: CurrentJob) -> Change | None:
        """The job with the calendar as it is now; None if it has that, or another one."""
        definition = current.job.definition
        mine, now = definition.calendar, self.calendar
        if mine is None or mine.name != now.name or mine.version >= now.version:
            return None
        # The calendar has changed already: a job that cannot follow it exactly follows it still.
        return editing.edit(current, definition._replace(calendar=now), exact=False)


class CalendarVerbs(Protocol):
    """Calendars by name. A job's definition has a copy of the one that it follows, so that each of
    its versions accounts for what it was due; an edit of the calendar is taken over by its jobs one
    after the other, each with a new version.
    """

    async def put(
        self, name: str, calendar: Calendar, *, now: Instant, expected: int | None = None
    ) -> CalendarView:
        """Make it or change it: a new version, unless it says the same already. Raises
        VersionConflict if `expected` is not its version."""
        ...

    async def get(self, name: str) -> CalendarView:
        """The calendar, or NotFound."""
        ...

    async def page(self, *, after: str, limit: int) -> list[CalendarView]:
        """Calendars in the order of their names, those after `after`."""
        ...

    async def followers(self, name: str, *, limit: int) -> list[Job]:
        """Jobs that follow it, oldest first."""
        ...

    async def behind(self, *, limit: int) -> list[Behind]:
        """Jobs that follow an earlier version of any calendar, oldest first."""
        ...

    async def delete(self, name: str, *, expected: int | None = None) -> None:
        """Forget it. Raises NotFound, VersionConflict, or CalendarInUse while jobs follow it."""
        ...


def rules_text(calendar: Calendar) -> str:
    return msgspec.json.encode(calendar_spec(calendar)).decode()


def _calendar(rules: str) -> Calendar:
    return calendar_from(msgspec.json.decode(rules))
