"""Calendars: which times on the wall are allowed, whatever a schedule says.

A time is allowed if no rule of `exclude` covers it and, where there is any rule in `require`, one
of those does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Final, TypeVar

from onthedot.core.schedules.calendar_text import Stretch, Weekly, Yearly, read_rule
from onthedot.core.schedules.wall import DAY_S
from onthedot.errors import Invalid, InvalidCalendar

RULES_MAX: Final = 1_000
TEXT_MAX: Final = 16_384
"""The text of all rules together; every job that follows the calendar keeps a copy of it."""

ROLL_DAYS_MAX: Final = 62
"""An instant that has no allowed day so near is left out. It bounds how far a search looks."""

_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAY_LAST: Final = date(2200, 3, 31).toordinal() - _EPOCH
_DAYS_MAX: Final = 10_000
_KEPT_MAX: Final = 1_024
_NAME_SHOWN: Final = 100
_RULES_SHOWN: Final = 3

K = TypeVar("K")
V = TypeVar("V")

Hours = tuple[tuple[int, int], ...]
"""Seconds of a day, each part from its start to before its end, in order and apart."""

_NONE: Final[Hours] = ()
_ALL: Final[Hours] = ((0, DAY_S),)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Rules as their one text each. Make it with `read`, unless they are known to be valid."""

    exclude: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    _days: Days | None = field(default=None, init=False, compare=False, repr=False)

    @classmethod
    def read(cls, exclude: Sequence[str], require: Sequence[str]) -> Calendar:
        """Refuses rules that are not understood, by their place, and more than are kept."""
        if not exclude and not require:
            raise InvalidCalendar(
                "a calendar without rules allows everything",
                hint="Give at least one rule in exclude or require.",
                field="exclude",
            )
        if len(exclude) + len(require) > RULES_MAX:
            raise InvalidCalendar(
                f"the calendar has {len(exclude) + len(require)} rules, at most {RULES_MAX} are "
                "kept",
                hint="Use dates of every year ('12-25') and spans, or drop years that are over.",
                field="exclude" if len(exclude) >= len(require) else "require",
            )
        made = cls(_read(exclude, "exclude"), _read(require, "require"))
        length = sum(map(len, made.exclude + made.require))
        if length > TEXT_MAX:
            raise InvalidCalendar(
                f"the rules have {length} characters together, at most {TEXT_MAX} are kept",
                hint="Use dates of every year ('12-25') and spans.",
                field="exclude",
            )
        return made

    def against(self, wall: int) -> str:
        """The rule that does not allow a time, in words; empty: it is allowed."""
        day, second = divmod(wall, DAY_S)
        for text in self.exclude:
            if _has(_Side([text]).of(day), second):
                return f"exclude has '{text}'"
        if self.days.allows(wall):
            return ""
        rules = ", ".join(f"'{text}'" for text in self.require[:_RULES_SHOWN])
        more = len(self.require) - _RULES_SHOWN
        return f"require has only {rules}{f' and {more} more' if more > 0 else ''}"

    @property
    def days(self) -> Days:
        if self._days is None:
            made = Days(self.exclude, self.require)
            object.__setattr__(self, "_days", made)
            return made
        return self._days


@lru_cache(maxsize=64)
def shared_calendar(exclude: tuple[str, ...], require: tuple[str, ...]) -> Calendar:
    """A calendar whose rules are known to be valid. Many jobs share few of them, with all that is
    worked out about their days.
    """
    return Calendar(exclude, require)


def unknown_calendar(name: str) -> Invalid:
    return Invalid(
        f"calendar {name[:_NAME_SHOWN]!r} does not exist",
        hint="Make it first with PUT /v1/calendars/{name}; GET /v1/calendars lists them.",
        field="calendar",
    )


class Days:
    """A calendar, ready to be asked. Days are counted from 1970-01-01 on the wall."""

    __slots__ = ("_exclude", "_kept", "_require", "_runs", "_soon")

    def __init__(self, exclude: Sequence[str], require: Sequence[str]) -> None:
        self._exclude = _Side(exclude)
        self._require = _Side(require) if require else None
        self._kept: dict[int, Hours] = {}
        self._soon: dict[tuple[int, int], Hours] = {}
        self._runs: dict[tuple[int, int], int] = {}

    def allows(self, wall: int) -> bool:
        day, second = divmod(wall, DAY_S)
        return _has(self.hours(day), second)

    def nearest(self, wall: int, step: int) -> int | None:
        """The same time of the nearest day on which it is allowed: a later one with `step` 1, an
        earlier one with -1; None if there is none so near.
        """
        day, second = divmod(wall, DAY_S)
        if not _has(self._around(day, step), second):
            return None
        for turn in range(1, ROLL_DAYS_MAX + 1):
            if _has(self.hours(day + turn * step), second):
                return wall + turn * step * DAY_S
        return None

    def closed_for(self, day: int, step: int) -> int:
        """For how many days from this one on, in the direction of `step`, a time of day may be
        closed throughout that opens on the other side: only from these days, and the one after
        them, can something be moved to there.
        """
        known = self._runs.get((day, step))
        if known is None:
            known, shut = 0, _without(self._around(day, -step), self.hours(day))
            while shut and known < ROLL_DAYS_MAX:
                known += 1
                shut = _without(shut, self.hours(day + known * step))
            _keep(self._runs, (day, step), known)
        return known

    def opens(self, wall: int) -> int | None:
        """The first time that is allowed, from this one on; None if there is none before 2200."""
        day = wall // DAY_S
        for _ in range(_DAYS_MAX):
            if day > _DAY_LAST:
                return None
            for start, end in self.hours(day):
                if day * DAY_S + end > wall:
                    return max(wall, day * DAY_S + start)
            day = self._later(day + 1)
        return None

    def hours(self, day: int) -> Hours:
        """What is allowed of a day."""
        kept = self._kept.get(day)
        if kept is None:
            required = _ALL if self._require is None else self._require.of(day)
            kept = _without(required, self._exclude.of(day)) if required else _NONE
            _keep(self._kept, day, kept)
        return kept

    def _around(self, day: int, step: int) -> Hours:
        """What is allowed on any of the days on one side of this one."""
        known = self._soon.get((day, step))
        if known is None:
            days = range(day + step, day + step * (ROLL_DAYS_MAX + 1), step)
            hours = {self.hours(each) for each in days}  # few kinds of days
            known = _united(part for each in hours for part in each)
            _keep(self._soon, (day, step), known)
        return known

    def _later(self, day: int) -> int:
        """This day, or a later one with nothing allowed before it: long spans are leapt over."""
        day = max(day, self._exclude.end_of_stretch(day * DAY_S) // DAY_S)
        if self._require is None or not self._require.only_stretches:
            return day
        start = self._require.next_stretch(day * DAY_S)
        return _DAY_LAST + 1 if start is None else max(day, start // DAY_S)


class _Side:
    """All rules of one kind, sorted by how they come back: never, every year, every week."""

    __slots__ = ("_ends", "_starts", "_week", "_year", "only_stretches")

    def __init__(self, texts: Iterable[str]) -> None:
        stretches: list[tuple[int, int]] = []
        year: set[tuple[int, int]] = set()
        week: list[list[tuple[int, int]]] = [[] for _ in range(7)]
        for text in texts:
            match read_rule(text, field="rule").covers:
                case Stretch() as found:
                    stretches.append(found)
                case Yearly(days):
                    year |= days
                case Weekly() as found:
                    _add_weekly(week, found)
        apart = _united(stretches)
        self._starts = [start for start, _ in apart]
        self._ends = [end for _, end in apart]
        self._year = frozenset(year)
        self._week = tuple(_united(hours) for hours in week)
        self.only_stretches = not year and not any(self._week)

    def of(self, day: int) -> Hours:
        """What these rules cover of a day."""
        if self._year:
            shown = date.fromordinal(day + _EPOCH)
            if (shown.month, shown.day) in self._year:
                return _ALL
        begin = day * DAY_S
        found = list(self._week[(day + 3) % 7])  # 1970-01-01 was a Thursday
        place = bisect_right(self._ends, begin)
        while place < len(self._starts) and self._starts[place] < begin + DAY_S:
            start, end = self._starts[place], self._ends[place]
            found.append((max(start - begin, 0), min(end - begin, DAY_S)))
            place += 1
        return _united(found) if len(found) > 1 else tuple(found)

    def end_of_stretch(self, wall: int) -> int:
        """Where the stretch ends in which this time lies; the time itself outside of one."""
        place = bisect_right(self._ends, wall)
        inside = place < len(self._starts) and self._starts[place] <= wall
        return self._ends[place] if inside else wall

    def next_stretch(self, wall: int) -> int | None:
        """Where the first stretch begins that is not over at this time."""
        place = bisect_right(self._ends, wall)
        return self._starts[place] if place < len(self._starts) else None


def _keep(kept: dict[K, V], key: K, value: V) -> None:
    if len(kept) >= _KEPT_MAX:
        kept.clear()
    kept[key] = value


def _has(hours: Hours, second: int) -> bool:
    return any(start <= second < end for start, end in hours)


def _read(texts: Sequence[str], name: str) -> tuple[str, ...]:
    read = (read_rule(text, field=f"{name}[{place}]").text for place, text in enumerate(texts))
    return tuple(dict.fromkeys(read))


def _add_weekly(week: Sequence[list[tuple[int, int]]], found: Weekly) -> None:
    for day in found.days:
        if found.start < found.end:
            week[day].append((found.start, found.end))
            continue
        week[day].append((found.start, DAY_S))
        if found.end:
            week[(day + 1) % 7].append((0, found.end))


def _united(parts: Iterable[tuple[int, int]]) -> Hours:
    """The same in order and apart: what overlaps or touches becomes one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)


def _without(parts: Hours, taken: Hours) -> Hours:
    found: list[tuple[int, int]] = []
    for start, end in parts:
        at = start
        for begin, until in taken:
            if until <= at or begin >= end:
                continue
            if begin > at:
                found.append((at, begin))
            at = until
        if at < end:
            found.append((at, end))
    return tuple(found)
