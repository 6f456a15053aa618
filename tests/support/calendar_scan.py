"""Calendars as they were first written: every question looks at every day, one after the other, and
every occurrence at every instant around it. Slow and plain, to hold the quick ones against.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from onthedot.core.instants import DAY, SECOND, Instant
from onthedot.core.schedules import Allowed
from onthedot.core.schedules.calendar_text import Stretch, Weekly, Yearly, read_rule
from onthedot.core.schedules.wall import DAY_S, seconds_of, wall_of
from onthedot.core.schedules.zones import zone_of

ROLL_DAYS = 62
AROUND = (ROLL_DAYS + 4) * DAY
EPOCH = date(1970, 1, 1).toordinal()


class ScannedDays:
    """A calendar that reads its rules for every time that it is asked about."""

    def __init__(self, exclude: Sequence[str], require: Sequence[str]) -> None:
        self._exclude = [read_rule(text, field="rule").covers for text in exclude]
        self._require = [read_rule(text, field="rule").covers for text in require]

    def allows(self, wall: int) -> bool:
        if any(covers(rule, wall) for rule in self._exclude):
            return False
        return not self._require or any(covers(rule, wall) for rule in self._require)

    def nearest(self, wall: int, step: int) -> int | None:
        days = (wall + turn * step * DAY_S for turn in range(1, ROLL_DAYS + 1))
        return next(filter(self.allows, days), None)

    def opens(self, wall: int, end: int) -> int | None:
        """Rules begin and end with whole minutes."""
        if self.allows(wall):
            return wall
        minutes = range(wall - wall % 60 + 60, end, 60)
        return next(filter(self.allows, minutes), None)


def covers(rule: Stretch | Yearly | Weekly, wall: int) -> bool:
    day, second = divmod(wall, DAY_S)
    if isinstance(rule, Stretch):
        return rule.start <= wall < rule.end
    if isinstance(rule, Yearly):
        shown = date.fromordinal(day + EPOCH).replace(year=2028)  # a leap year
        return bool(rule.bits >> (shown - date(2028, 1, 1)).days & 1)
    weekday, before = (day + 3) % 7, (day + 2) % 7
    if rule.start < rule.end:
        return weekday in rule.days and rule.start <= second < rule.end
    return (weekday in rule.days and second >= rule.start) or (
        before in rule.days and second < rule.end
    )


class ScannedSchedule:
    """A schedule under a calendar, by looking at every instant."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._days = ScannedDays(allowed.calendar.exclude, allowed.calendar.require)
        self._lands: dict[Instant, Instant | None] = {}

    def lands(self, nominal: Instant) -> Instant | None:
        if nominal not in self._lands:
            self._lands[nominal] = self._landed(nominal)
        return self._lands[nominal]

    def _landed(self, nominal: Instant) -> Instant | None:
        zone = zone_of(self._allowed.timezone)
        second, below = divmod(nominal, SECOND)
        wall = wall_of(zone, second)
        if self._days.allows(wall):
            return nominal
        if self._allowed.roll == "skip":
            return None
        moved = self._days.nearest(wall, 1 if self._allowed.roll == "next" else -1)
        found = () if moved is None else seconds_of(zone, moved, "after", "first")
        if not found or not self._days.allows(wall_of(zone, found[0])):
            return None
        return found[0] * SECOND + below

    def nominals(self, first: Instant, last: Instant) -> Iterator[Instant]:
        nominal = self._allowed.base.after(first - 1, anchor=0)
        while nominal is not None and nominal <= last:
            yield nominal
            nominal = self._allowed.base.after(nominal, anchor=0)

    def dues(self, after: Instant, until: Instant) -> list[Instant]:
        landed = {self.lands(each) for each in self.nominals(after - AROUND, until + AROUND)}
        return sorted(due for due in landed if due is not None and after < due <= until)

    def gathered(self, due: Instant) -> list[Instant]:
        """The nearest first."""
        around = self.nominals(due - AROUND, due + AROUND)
        found = [each for each in around if self.lands(each) == due]
        return found[::-1] if self._allowed.roll == "next" else found

    def left_out(self, before: Instant, due: Instant) -> int:
        between = self.nominals(before + 1, due - 1)
        return sum(self.lands(each) is None for each in between)
