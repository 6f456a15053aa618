"""The days of a calendar, ready to be asked. CalendarDays are counted from 1970-01-01 on the wall.

What comes back every week or every year depends only on the shape of the year: the weekday on which
it begins, and its length. The open days of each shape are worked out once, dates that do not come
back are sorted ranges, and days in a row with the same hours are one run: every search jumps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final, TypeVar

from onthedot.core.schedules.calendar_text import (
    Stretch,
    Weekly,
    Yearly,
    bit_of_year,
    read_rule,
)
from onthedot.core.schedules.wall import DAY_S

ROLL_DAYS_MAX: Final = 62
"""An instant that has no allowed day so near is left out. It bounds how far a search looks."""

_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAY_LAST: Final = date(2200, 3, 31).toordinal() - _EPOCH
_YEAR_FIRST: Final = 1900
_YEARS: Final = tuple(
    date(year, 1, 1).toordinal() - _EPOCH for year in range(_YEAR_FIRST, 2203)
)  # the first day of each
_SHAPES_YEARS: Final = 40
"""In so many years in a row every shape comes, also around 2100, which has no 29 February."""

_KEPT_MAX: Final = 4_096

K = TypeVar("K")
V = TypeVar("V")

Hours = tuple[tuple[int, int], ...]
"""Seconds of a day, each part from its start to before its end, in order and apart."""

_NONE: Final[Hours] = ()
_ALL: Final[Hours] = ((0, DAY_S),)


class CalendarDays:
    """Which hours of which days a calendar allows."""

    __slots__ = (
        *("_around_kept", "_closed_kept", "_exclude", "_kept", "_kinds", "_require", "_run_ends"),
        *("_shapes", "_week"),
    )

    def __init__(self, exclude: Sequence[str], require: Sequence[str]) -> None:
        self._exclude = Side(exclude)
        self._require = Side(require) if require else None
        self._kinds: dict[Hours, Hours] = {}
        self._week = self._weekly()
        self._shapes: dict[tuple[int, int, bool], tuple[int, ...]] = {}
        self._kept: dict[int, Hours] = {}
        self._run_ends: dict[tuple[int, int], int] = {}
        self._around_kept: dict[tuple[int, int], Hours] = {}
        self._closed_kept: dict[tuple[int, int], int] = {}

    @property
    def parts_max(self) -> int:
        """How many separate parts the rules of one kind make of a weekday, at most."""
        sides = [self._exclude] if self._require is None else [self._exclude, self._require]
        return max(len(hours) for side in sides for hours in side.week)

    def allows(self, wall: int) -> bool:
        day, second = divmod(wall, DAY_S)
        return has(self.hours(day), second)

    def nearest(self, wall: int, step: int) -> int | None:
        """The same time of the nearest day on which it is allowed: a later one with `step` 1, an
        earlier one with -1; None if there is none so near.
        """
        day, second = divmod(wall, DAY_S)
        if not has(self._around(day, step), second):
            return None
        turn = 1
        while turn <= ROLL_DAYS_MAX:
            at = day + turn * step
            if has(self.hours(at), second):
                return wall + turn * step * DAY_S
            turn = (self._run_end(at, step) - day) * step + 1
        return None

    def closed_for(self, day: int, step: int) -> int:
        """For how many days from this one on, in the direction of `step`, a time of day may be
        closed throughout that opens on the other side: only from these days, and the one after
        them, can something be moved to there.
        """
        known = self._closed_kept.get((day, step))
        if known is None:
            known, shut = 0, without(self._around(day, -step), self.hours(day))
            while shut and known < ROLL_DAYS_MAX:
                # The rest of the run has the same hours: nothing more opens in it.
                run_end = self._run_end(day + known * step, step)
                known = min((run_end - day) * step + 1, ROLL_DAYS_MAX)
                shut = without(shut, self.hours(day + known * step))
            _keep(self._closed_kept, (day, step), known)
        return known

    def opens(self, wall: int) -> int | None:
        """The first time that is allowed, from this one on; None if there is none before 2200."""
        day: int | None = wall // DAY_S
        # Bounded: each turn but the first passes a day of which ranges of dates cover a part.
        while day is not None and day <= _DAY_LAST:
            for start, end in self.hours(day):
                if day * DAY_S + end > wall:
                    return max(wall, day * DAY_S + start)
            day = self._next_open(day + 1)
        return None

    def hours(self, day: int) -> Hours:
        """What is allowed of a day."""
        kept = self._kept.get(day)
        if kept is None:
            kept = self._hours(day)
            _keep(self._kept, day, kept)
        return kept

    def _hours(self, day: int) -> Hours:
        exclude, require = self._exclude, self._require
        ranged = exclude.parts(day)
        required = () if require is None else require.parts(day)
        weekday = (day + 3) % 7  # 1970-01-01 was a Thursday
        excluded_of_year, required_of_year = exclude.has_day(day), False
        if require is not None:
            required_of_year = require.has_day(day)
        usual = self._week[weekday, excluded_of_year, required_of_year]
        if not ranged and not required:
            return usual
        if excluded_of_year:
            return _NONE
        if required and require is not None and not required_of_year:
            opened = united([*require.week[weekday], *required])
            usual = without(opened, exclude.week[weekday])
        found = without(usual, ranged) if ranged else usual
        return self._kinds.setdefault(found, found)

    def _weekly(self) -> dict[tuple[int, bool, bool], Hours]:
        """What is allowed of each weekday: as it is, and if a rule of every year covers it."""
        made: dict[tuple[int, bool, bool], Hours] = {}
        for weekday in range(7):
            excluded = self._exclude.week[weekday]
            required = _ALL if self._require is None else self._require.week[weekday]
            for of_year, opened in ((False, required), (True, _ALL)):
                found = without(opened, excluded)
                made[weekday, False, of_year] = self._kinds.setdefault(found, found)
                made[weekday, True, of_year] = _NONE
        return made

    def _run_end(self, day: int, step: int) -> int:
        """The last of the days in a row, from this one on, that have its hours; or one before it,
        where the row is longer than anybody looks.
        """
        known = self._run_ends.get((day, step))
        if known is None:
            hours = self.hours(day)
            beside = self._run_ends.get((day + step, step))
            if beside is not None and self.hours(day + step) == hours:
                known = beside
            else:
                known = day
                while abs(known - day) < ROLL_DAYS_MAX and self.hours(known + step) == hours:
                    known += step
                for each in range(day + step, known + step, step):
                    _keep(self._run_ends, (each, step), known)
            _keep(self._run_ends, (day, step), known)
        return known

    def _around(self, day: int, step: int) -> Hours:
        """What is allowed on any of the days on one side of this one."""
        known = self._around_kept.get((day, step))
        if known is None:
            kinds, at = set[Hours](), day + step
            while (at - day) * step <= ROLL_DAYS_MAX:
                kinds.add(self.hours(at))
                at = self._run_end(at, step) + step
            first, *others = kinds
            known = united(part for each in kinds for part in each) if others else first
            _keep(self._around_kept, (day, step), known)
        return known

    def _next_open(self, day: int) -> int | None:
        """The first day from this one on that may have something allowed; None: there is none."""
        while day <= _DAY_LAST:  # bounded: each turn passes a range of excluded days
            found = self._next_by_shape(day)
            ranged = self._next_in_ranges(day)
            if found is None or (ranged is not None and ranged < found):
                found = ranged
            if found is None:
                return None
            day = self._exclude.end_of_stretch(found * DAY_S) // DAY_S
            if day <= found:
                return found
        return None

    def _next_in_ranges(self, day: int) -> int | None:
        """The same, of the ranges of dates that are required."""
        if self._require is None:
            return None
        stretch = self._require.next_stretch(day * DAY_S)
        while stretch is not None:  # bounded: each turn passes a range
            start, end = stretch
            found = self._next_by_shape(max(day, start // DAY_S), required=True)
            if found is None or found * DAY_S < end:
                return found
            stretch = self._require.next_stretch(found * DAY_S)
        return None

    def _next_by_shape(self, day: int, *, required: bool = False) -> int | None:
        """The same, by the rules that come back alone; `required`: as if all days were."""
        year = bisect_right(_YEARS, day) - 1
        for number in range(year, min(year + _SHAPES_YEARS, len(_YEARS) - 1)):
            start = _YEARS[number]
            days = self._open_days(start, _YEARS[number + 1] - start, required)
            place = bisect_left(days, day - start)
            if place < len(days):
                return start + days[place]
        return None

    def _open_days(self, start: int, length: int, required: bool) -> tuple[int, ...]:
        """The days, from 0, of a year that begins on `start`."""
        shape = (start % 7, length, required)
        days = self._shapes.get(shape)
        if days is None:
            exclude, require = self._exclude, self._require
            days = self._shapes[shape] = tuple(
                day - start
                for day in range(start, start + length)
                if self._week[
                    (day + 3) % 7,
                    exclude.has_day(day),
                    required or (require is not None and require.has_day(day)),
                ]
            )
        return days


class Side:
    """All rules of one kind, sorted by how they come back: never, every year, every week."""

    __slots__ = ("_ends", "_starts", "_year", "week")

    def __init__(self, texts: Iterable[str]) -> None:
        stretches: list[tuple[int, int]] = []
        year = 0
        week: list[list[tuple[int, int]]] = [[] for _ in range(7)]
        for text in texts:
            match read_rule(text, field="rule").covers:
                case Stretch() as found:
                    stretches.append(found)
                case Yearly(bits):
                    year |= bits
                case Weekly() as found:
                    _add_weekly(week, found)
        apart = united(stretches)
        self._starts = [start for start, _ in apart]
        self._ends = [end for _, end in apart]
        self._year = year
        self.week = tuple(united(hours) for hours in week)

    def covers(self, day: int, second: int) -> bool:
        """Whether a rule covers this second of a day."""
        if self.has_day(day) or has(self.week[(day + 3) % 7], second):
            return True
        return has(self.parts(day), second)

    def has_day(self, day: int) -> bool:
        """Whether a rule of every year covers a day."""
        if not self._year:
            return False
        shown = date.fromordinal(day + _EPOCH)
        return bool(self._year >> bit_of_year(shown.month, shown.day) & 1)

    def parts(self, day: int) -> Hours:
        """What ranges that never come back cover of a day."""
        begin = day * DAY_S
        place = bisect_right(self._ends, begin)
        found = []
        while place < len(self._starts) and self._starts[place] < begin + DAY_S:
            start, end = self._starts[place], self._ends[place]
            found.append((max(start - begin, 0), min(end - begin, DAY_S)))
            place += 1
        return tuple(found)

    def end_of_stretch(self, wall: int) -> int:
        """Where the stretch ends in which this time lies; the time itself outside of one."""
        place = bisect_right(self._ends, wall)
        inside = place < len(self._starts) and self._starts[place] <= wall
        return self._ends[place] if inside else wall

    def next_stretch(self, wall: int) -> Stretch | None:
        """The first stretch that is not over at this time."""
        place = bisect_right(self._ends, wall)
        found = place < len(self._starts)
        return Stretch(self._starts[place], self._ends[place]) if found else None


def has(hours: Hours, second: int) -> bool:
    place = bisect_right(hours, (second, DAY_S))
    return place > 0 and second < hours[place - 1][1]


def united(parts: Iterable[tuple[int, int]]) -> Hours:
    """The same in order and apart: what overlaps or touches becomes one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)


def without(parts: Hours, taken: Hours) -> Hours:
    """What is left of `parts`; both are in order and apart."""
    if not taken or not parts:
        return parts
    found: list[tuple[int, int]] = []
    place = 0
    for start, end in parts:
        at = start
        while place < len(taken) and taken[place][1] <= at:
            place += 1
        later = place
        while later < len(taken) and taken[later][0] < end:
            begin, until = taken[later]
            if begin > at:
                found.append((at, begin))
            at = max(at, until)
            later += 1
        if at < end:
            found.append((at, end))
        place = max(place, later - 1)  # the last of them may reach into the next part
    return tuple(found)


def _keep(kept: dict[K, V], key: K, value: V) -> None:
    if len(kept) >= _KEPT_MAX:
        kept.clear()
    kept[key] = value


def _add_weekly(week: Sequence[list[tuple[int, int]]], found: Weekly) -> None:
    for day in found.days:
        if found.start < found.end:
            week[day].append((found.start, found.end))
            continue
        week[day].append((found.start, DAY_S))
        if found.end:
            week[(day + 1) % 7].append((0, found.end))
