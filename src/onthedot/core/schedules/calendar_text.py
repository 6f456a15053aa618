"""The rules of a calendar as text: a date, a span, days of the week, hours of a day.

Every rule names times on a clock on the wall, so that one calendar serves jobs of every zone.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final, NamedTuple

from onthedot.core.schedules.moments import day_number
from onthedot.core.schedules.wall import DAY_S
from onthedot.errors import InvalidCalendar

LENGTH_MAX: Final = 64

_WEEK: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_YEARLY: Final = re.compile(r"([0-9]{2})-([0-9]{2})")
_HOURS: Final = re.compile(r"([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2})")
_MOMENT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})t([0-9]{2}):([0-9]{2})")
_LEAP_YEAR: Final = 2028
_LEAP_DAYS: Final = 366
_BEFORE_MONTH: Final = tuple(
    (date(_LEAP_YEAR, month, 1) - date(_LEAP_YEAR, 1, 1)).days for month in range(1, 13)
)
_FORMS: Final = (
    "Write a date '2027-12-24', a date of every year '12-25', a span of either "
    "'2027-12-24/2028-01-02', days 'mon-fri' or 'sat,sun', hours 'mon-fri 09:00-17:00' or "
    "'22:00-06:00', or moments '2027-12-20T18:00/2028-01-02T08:00'."
)


class Stretch(NamedTuple):
    """Seconds on the wall, from `start` to before `end`."""

    start: int
    end: int


class Yearly(NamedTuple):
    """Days of every year: a bit for each day of a leap year, as `bit_of_year` has them."""

    bits: int


class Weekly(NamedTuple):
    """Seconds of the days of a week, 0 being Monday. An `end` that is not after `start` lies on the
    day after.
    """

    days: frozenset[int]
    start: int = 0
    end: int = DAY_S


class CalendarRule(NamedTuple):
    """What a rule covers, and the one text in which it is kept."""

    covers: Stretch | Yearly | Weekly
    text: str


def read_rule(text: str, *, field: str) -> CalendarRule:
    """A rule from its text, or a refusal that names the field and what is wrong with it."""
    if len(text) > LENGTH_MAX:
        raise InvalidCalendar(
            f"{field} has {len(text)} characters, a rule has at most {LENGTH_MAX}",
            hint="Give one date, span, or set of days or hours in each rule.",
            field=field,
        )
    reader = _Reader(text, field)
    folded = " ".join(text.split()).lower()
    first, slash, last = folded.partition("/")
    return reader.span(first, last) if slash else reader.single(folded)


class _Reader:
    def __init__(self, text: str, field: str) -> None:
        self._text = text
        self._field = field

    def single(self, text: str) -> CalendarRule:
        day = self._day(text)
        if day is not None:
            return CalendarRule(Stretch(day * DAY_S, (day + 1) * DAY_S), text)
        of_year = self._of_year(text)
        if of_year is not None:
            return CalendarRule(Yearly(1 << bit_of_year(*of_year)), text)
        return self._weekly(text)

    def span(self, first: str, last: str) -> CalendarRule:
        for reading in (self._days, self._years, self._moments):
            found = reading(first, last)
            if found is not None:
                return CalendarRule(found, f"{first}/{last}".upper())
        raise self._wrong("is no span: both of its ends must be of one kind", _FORMS)

    def _days(self, first: str, last: str) -> Stretch | None:
        start, end = self._day(first), self._day(last)
        if start is None or end is None:
            return None
        if end < start:
            raise self._wrong("ends before it begins", "The earlier date comes first.")
        return Stretch(start * DAY_S, (end + 1) * DAY_S)

    def _years(self, first: str, last: str) -> Yearly | None:
        start, end = self._of_year(first), self._of_year(last)
        if start is None or end is None:
            return None
        # Counted in a year with a 29th of February; one that ends before it begins goes on over
        # the turn of the year.
        begin, past = bit_of_year(*start), bit_of_year(*end) + 1
        if begin < past:
            return Yearly((1 << past) - (1 << begin))
        return Yearly((1 << _LEAP_DAYS) - (1 << begin) | (1 << past) - 1)

    def _moments(self, first: str, last: str) -> Stretch | None:
        start, end = self._moment(first), self._moment(last)
        if start is None or end is None:
            return None
        if end <= start:
            raise self._wrong("does not end after it begins", "The earlier moment comes first.")
        return Stretch(start, end)

    def _weekly(self, text: str) -> CalendarRule:
        days_text, _, hours_text = text.rpartition(" ")
        hours = _HOURS.fullmatch(hours_text)
        if hours is None:
            days = self._week(text)
            return CalendarRule(Weekly(days), _week_text(days))
        start = self._second(hours[1], hours[2])
        end = self._second(hours[3], hours[4])
        if start in (end, DAY_S):
            raise self._wrong(
                "has no time between its hours", "For whole days give only the days: 'sat,sun'."
            )
        if not days_text:
            return CalendarRule(Weekly(frozenset(range(7)), start, end), hours_text)
        days = self._week(days_text)
        return CalendarRule(Weekly(days, start, end), f"{_week_text(days)} {hours_text}")

    def _week(self, text: str) -> frozenset[int]:
        found: set[int] = set()
        for part in text.split(","):
            first, dash, last = part.strip().partition("-")
            if first not in _WEEK or (dash and last not in _WEEK):
                raise self._wrong("is not understood", _FORMS)
            start = _WEEK.index(first)
            length = (_WEEK.index(last) - start) % 7 if dash else 0
            found.update((start + k) % 7 for k in range(length + 1))
        return frozenset(found)

    def _day(self, text: str) -> int | None:
        match = _DATE.fullmatch(text)
        if match is None:
            return None
        day = day_number(int(match[1]), int(match[2]), int(match[3]))
        if day is None:
            raise self._wrong(
                f"names the day {text}, which does not exist or is not of 1970 to 2199",
                "Give a day that the calendar has.",
            )
        return day

    def _of_year(self, text: str) -> tuple[int, int] | None:
        match = _YEARLY.fullmatch(text)
        if match is None:
            return None
        month, day = int(match[1]), int(match[2])
        if day_number(_LEAP_YEAR, month, day) is None:
            raise self._wrong(
                f"names the day {text}, which no year has", "Give month and day, such as 12-25."
            )
        return month, day

    def _moment(self, text: str) -> int | None:
        match = _MOMENT.fullmatch(text)
        if match is None:
            return None
        day = self._day(match[1])
        assert day is not None, text
        return day * DAY_S + self._second(match[2], match[3])

    def _second(self, hour: str, minute: str) -> int:
        second = int(hour) * 3600 + int(minute) * 60
        if int(minute) > 59 or second > DAY_S:
            raise self._wrong(
                f"names the time {hour}:{minute}, which no clock shows",
                "Give hours from 00:00 to 24:00.",
            )
        return second

    def _wrong(self, why: str, hint: str) -> InvalidCalendar:
        return InvalidCalendar(f"{self._field} {self._text!r} {why}", hint=hint, field=self._field)


def bit_of_year(month: int, day: int) -> int:
    """The number of a day in a leap year, from 0."""
    return _BEFORE_MONTH[month - 1] + day - 1


def _week_text(days: frozenset[int]) -> str:
    """Three and more in a row as a span, the rest one by one: 'mon-fri', 'sat,sun'."""
    parts: list[str] = []
    row: list[int] = []
    for day in range(8):
        if day in days:
            row.append(day)
            continue
        if len(row) >= 3:
            parts.append(f"{_WEEK[row[0]]}-{_WEEK[row[-1]]}")
        else:
            parts.extend(_WEEK[each] for each in row)
        row = []
    return ",".join(parts)
