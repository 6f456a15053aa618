"""A schedule under a calendar: what becomes of instants that it does not allow.

`skip` leaves them out. `next` and `previous` move each to the nearest day, after it or before it,
on which its time of day is allowed; several that come to one instant are one occurrence. It is a
pure function of instants: nothing that was moved has to be remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from onthedot.core.instants import DAY, SECOND, Instant
from onthedot.core.schedules.calendar import ROLL_DAYS_MAX, Calendar
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.wall import DAY_S, seconds_of, wall_of
from onthedot.core.schedules.zones import zone_of

if TYPE_CHECKING:
    from onthedot.core.schedules.span import Schedule

Roll = Literal["skip", "next", "previous"]

ROLLED_PER_DAY_MAX: Final = 24
"""Only schedules that name no more instants a day may be moved: a search looks at each of them."""

STEPS_MAX: Final = 10_000
"""More than 27 years of days; after so many the schedule is taken to be over."""

COUNT_MAX: Final = 10_000

# Days on the wall and days of 24 hours part by a change of the clocks: never by as much as this.
_SLACK: Final = 2


@dataclass(frozen=True, slots=True)
class Allowed:
    """Of `base`, what the calendar allows in the zone, and what is moved to where it does."""

    base: Schedule
    calendar: Calendar
    roll: Roll = "skip"
    timezone: str = "UTC"

    def after(self, instant: Instant, *, anchor: Instant = 0) -> Instant | None:
        """The first due instant strictly after; None when there is none before 2200."""
        match self.roll:
            case "next":
                return self._after_next(instant, anchor)
            case "previous":
                return self._after_previous(instant, anchor)
        return self._after_skip(instant, anchor)

    def lands(self, nominal: Instant) -> Instant | None:
        """Where an instant of the schedule comes to; None: it is left out."""
        days, zone = self.calendar.days, zone_of(self.timezone)
        second, below = divmod(nominal, SECOND)
        wall = wall_of(zone, second)
        if days.allows(wall):
            return nominal
        if self.roll == "skip":
            return None
        moved = days.nearest(wall, 1 if self.roll == "next" else -1)
        found = () if moved is None else seconds_of(zone, moved, "after", "first")
        # Where the clocks leave that time out, what comes after the gap need not be allowed.
        if not found or not days.allows(wall_of(zone, found[0])):
            return None
        return found[0] * SECOND + below

    def against(self, nominal: Instant) -> str:
        """The rule that does not allow an instant of the schedule; empty: it is allowed."""
        return self.calendar.against(wall_of(zone_of(self.timezone), nominal // SECOND))

    def gathered(self, due: Instant, *, anchor: Instant = 0) -> list[Instant]:
        """The instants of the schedule that come to this one, the nearest of them first."""
        first = last = due
        if self.roll == "next":
            first -= (self.calendar.days.closed_for(self._day(due) - 1, -1) + _SLACK) * DAY
        elif self.roll == "previous":
            last += (self.calendar.days.closed_for(self._day(due) + 1, 1) + _SLACK) * DAY
        found = []
        nominal = self.base.after(first - 1, anchor=anchor)
        while nominal is not None and nominal <= last:  # bounded by ROLLED_PER_DAY_MAX
            if self.lands(nominal) == due:
                found.append(nominal)
            nominal = self.base.after(nominal, anchor=anchor)
        return found if self.roll == "previous" else found[::-1]

    def count(self, first: Instant, last: Instant, *, anchor: Instant = 0) -> int | None:
        """How many due instants lie in [first, last]; None when more than COUNT_MAX."""
        total, due = 0, self.after(first - 1, anchor=anchor)
        while due is not None and due <= last:
            total += 1
            if total > COUNT_MAX:
                return None
            due = self.after(due, anchor=anchor)
        return total

    def _after_skip(self, instant: Instant, anchor: Instant) -> Instant | None:
        days, zone = self.calendar.days, zone_of(self.timezone)
        due = self.base.after(instant, anchor=anchor)
        for _ in range(STEPS_MAX):
            if due is None:
                return None
            second = due // SECOND
            segment = zone.segment(second)
            wall = second + segment.offset
            opens = days.opens(wall)
            if opens == wall:
                return due
            # The clock may be set back at the end of the segment, to times that were passed over.
            if opens is None and days.opens(wall - DAY_S) is None:
                return None
            until = segment.end if opens is None else min(opens - segment.offset, segment.end)
            due = self.base.after(until * SECOND - 1, anchor=anchor)
        return None

    def _after_next(self, instant: Instant, anchor: Instant) -> Instant | None:
        """What comes to later than `instant` may be named long before it."""
        back = self.calendar.days.closed_for(self._day(instant) - _SLACK, -1)
        due = self.base.after(instant - (back + 2 * _SLACK) * DAY, anchor=anchor)
        best: Instant | None = None
        for _ in range(STEPS_MAX):
            if due is None or (best is not None and due >= best):
                return best
            lands = self.lands(due)
            if lands is not None and lands > instant and (best is None or lands < best):
                best = lands
            start = due if lands is not None else self._leap(due, look_back=1, reach=ROLL_DAYS_MAX)
            due = None if start is None else self.base.after(start, anchor=anchor)
        return best

    def _after_previous(self, instant: Instant, anchor: Instant) -> Instant | None:
        """What comes to earlier than the best that was found may be named long after it."""
        due = self.base.after(instant, anchor=anchor)
        best: Instant | None = None
        for _ in range(STEPS_MAX):
            if due is None or (best is not None and self._is_beyond(due, best)):
                return best
            lands = self.lands(due)
            if lands is not None and lands > instant and (best is None or lands < best):
                best = lands
            back = ROLL_DAYS_MAX + _SLACK
            start = due if lands is not None else self._leap(due, look_back=back, reach=0)
            due = None if start is None else self.base.after(start, anchor=anchor)
        return best

    def _is_beyond(self, nominal: Instant, best: Instant) -> bool:
        """Whether nothing from `nominal` on comes to before `best`."""
        day = self._day(best) + _SLACK
        return self._day(nominal) > day + self.calendar.days.closed_for(day, 1) + _SLACK

    def _leap(self, nominal: Instant, *, look_back: int, reach: int) -> Instant | None:
        """From an instant that is left out, over those that must be left out as well: all, where
        nothing is allowed from so many days before it to `reach` days after them. None: all to
        come.
        """
        wall = wall_of(zone_of(self.timezone), nominal // SECOND)
        opens = self.calendar.days.opens(wall - look_back * DAY_S)
        if opens is None:
            return None
        ahead = opens // DAY_S - wall // DAY_S - reach - 2 * _SLACK
        return nominal + max(0, ahead) * DAY

    def _day(self, instant: Instant) -> int:
        return wall_of(zone_of(self.timezone), instant // SECOND) // DAY_S


def instants_a_day(schedule: Schedule) -> int:
    """How many instants a day may have at most."""
    match schedule:
        case Cron():
            fields = schedule.fields()
            times = [(fields.minutes, fields.hours), *fields.also]
            total = sum(len(minutes) * len(hours) for minutes, hours in times)
            return len(fields.seconds) * total
        case Every():
            return -(-DAY // schedule.every_us)
    return -(-DAY // schedule.step.us) if schedule.step.is_elapsed else 1
