"""Which days an expression names. CronDays are counted from 1970-01-01, months from January 1969.

A month has one of 28 shapes: the weekday on which it begins, and its length. Which of its days
match depends on nothing else, so each shape is worked out once, and a day is found by bisection.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import date
from typing import Final

from onthedot.core.schedules.cron_fields import LAST, CronDays, Fields, Weekdays

_YEAR_FIRST: Final = 1969  # at the epoch it is still 31 December in the west
_YEAR_LAST: Final = 2200  # and when 2199 ends, already 1 January in the east
_EPOCH: Final = date(1970, 1, 1).toordinal()
_STARTS: Final = tuple(
    date(year, month, 1).toordinal() - _EPOCH
    for year in range(_YEAR_FIRST, _YEAR_LAST + 2)
    for month in range(1, 13)
)
_MONTHS: Final = (_YEAR_LAST + 1 - _YEAR_FIRST) * 12
_SUNDAY, _SATURDAY = 0, 6


class DaySet:
    """The days that match an expression."""

    __slots__ = ("_fields", "_month", "_months_to_wait", "_shapes", "every_day")

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._shapes: list[tuple[int, ...] | None] = [None] * 28
        self._month: tuple[int, int, tuple[int, ...]] = (0, -1, ())
        self._months_to_wait = _months_to_wait(fields.months)
        self.every_day = (
            fields.both
            and len(fields.days.numbers) == 31
            and len(fields.weekdays.numbers) == 7
            and len(fields.months) == 12
            and fields.years is None
        )

    def first(self, day: int) -> int | None:
        """The first matching day from `day` on."""
        if self.every_day:
            return day
        start, last, days = self._month
        if start <= day <= last:
            # Most questions are about the month of the question before.
            return start + days[bisect_left(days, day - start)]
        return self._search(day)

    def _search(self, day: int) -> int | None:
        month = bisect_right(_STARTS, day) - 1
        # Bounded: at most one turn for every month there is.
        while (skip := self._skip(month)) is not None:
            if skip == 0:
                start, days = _STARTS[month], self._days(month)
                if days and day <= start + days[-1]:
                    self._month = start, start + days[-1], days
                    return start + days[bisect_left(days, day - start)]
            month += skip or 1
        return None

    def count(self, first: int, end: int) -> int:
        """How many days of [first, end) match."""
        if self.every_day or first >= end:
            return max(0, end - first)
        total = 0
        month = bisect_right(_STARTS, first) - 1
        while (skip := self._skip(month)) is not None:
            start = _STARTS[month]
            if start >= end:
                break
            if skip == 0:
                days = self._days(month)
                total += bisect_left(days, end - start) - bisect_left(days, first - start)
            month += skip or 1
        return total

    def _skip(self, month: int) -> int | None:
        """How many months until one that may match: 0 if this one may. None: there is none."""
        if month >= _MONTHS:
            return None
        years = self._fields.years
        if years is not None:
            year = _YEAR_FIRST + month // 12
            index = bisect_left(years, year)
            if index == len(years):
                return None
            if years[index] != year:
                return (years[index] - _YEAR_FIRST) * 12 - month
        return self._months_to_wait[month % 12]

    def _days(self, month: int) -> tuple[int, ...]:
        start = _STARTS[month]
        length = _STARTS[month + 1] - start
        weekday = (start + 4) % 7  # the epoch was a Thursday
        shape = (length - 28) * 7 + weekday
        days = self._shapes[shape]
        if days is None:
            days = self._shapes[shape] = _days_of_shape(self._fields, weekday, length)
        return days


def _months_to_wait(months: tuple[int, ...]) -> tuple[int, ...]:
    wait, distance = [0] * 12, 12
    for month in (*range(11, -1, -1), *range(11, -1, -1)):
        distance = 0 if month + 1 in months else distance + 1
        wait[month] = distance
    return tuple(wait)


def _days_of_shape(fields: Fields, weekday: int, length: int) -> tuple[int, ...]:
    """The matching days, from 0, of a month that begins on `weekday` and has `length` days."""
    by_number = _by_number(fields.days, weekday, length)
    by_weekday = _by_weekday(fields.weekdays, weekday, length)
    found = by_number & by_weekday if fields.both else by_number | by_weekday
    return tuple(sorted(day - 1 for day in found))


def _by_number(days: CronDays, weekday: int, length: int) -> set[int]:
    found = {day for day in days.numbers if day <= length}
    if days.last:
        found.add(length)
    if days.last_weekday:
        found.add(_nearest_weekday(length, weekday, length))
    if days.nearest is not None and days.nearest <= length:
        found.add(_nearest_weekday(days.nearest, weekday, length))
    return found


def _by_weekday(weekdays: Weekdays, weekday: int, length: int) -> set[int]:
    found = {day for day in range(1, length + 1) if (weekday + day - 1) % 7 in weekdays.numbers}
    for wanted, which in weekdays.nth:
        first = 1 + (wanted - weekday) % 7
        day = first + (length - first) // 7 * 7 if which == LAST else first + (which - 1) * 7
        if day <= length:
            found.add(day)
    return found


def _nearest_weekday(day: int, weekday: int, length: int) -> int:
    """The day itself, or Friday or Monday beside it; never in another month."""
    name = (weekday + day - 1) % 7
    if name == _SATURDAY:
        return day - 1 if day > 1 else day + 2
    if name == _SUNDAY:
        return day + 1 if day < length else day - 2
    return day
