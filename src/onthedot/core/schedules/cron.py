"""Cron: which instants an expression names in a time zone. The only place that knows cronsim.

cronsim reads the expression and says which days match. Clock changes are handled here: stepping
zone-aware times with cronsim can go back in time in the second pass of an overlap, loses minutes
when the clocks move by half an hour (Lord Howe), and fires for a day that never was (Apia, 2011).

The rule is Debian cron's. A *fixed-time* job (neither minute nor hour starts with `*`) is never
skipped and never repeated: in a gap it is due right after it, in an overlap in the first pass. Any
other expression follows the hands of the clock: it is due whenever a matching time is shown, so
`*/30 2 * * *` has nothing in the gap and `0 * * * *` fires in both passes.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from onthedot.core.instants import INSTANT_MAX, SECOND, Instant
from onthedot.core.schedules.cron_text import canonical, is_fixed_time, normalise
from onthedot.core.schedules.zones import change_after, offset_at, offsets_of, zone_named
from onthedot.errors import NeverFires

_DAY_S: Final = 86_400
_SECOND_MAX: Final = INSTANT_MAX // SECOND
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_ONE_DAY: Final = timedelta(days=1)
# The rarest day there is, 29 February on a given weekday, comes at least every 40 years.
_DAYS_SEARCHED_MAX: Final = 41 * 366
# Debian cron takes a jump this long for a correction of the clock, not for daylight saving.
_GAP_S_MAX: Final = 3 * 3600
_ORDINALS: Final = {"1th": "1st", "2th": "2nd", "3th": "3rd"}


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression in a time zone. Make it with `parse`, unless it is known to be valid."""

    expression: str
    timezone: str = "UTC"

    @classmethod
    def parse(cls, expression: str, timezone: str = "UTC") -> Cron:
        """Refuses what is not a five-field expression, not a zone, or can never be due."""
        cron = cls(normalise(expression), timezone)
        _compiled(cron.expression, timezone)
        return cron

    def after(self, instant: Instant, *, anchor: Instant = 0) -> Instant | None:
        """The first due instant strictly after; None when there is none before 2200."""
        if instant >= INSTANT_MAX:
            return None
        # Due instants are whole seconds, so the part below a second can be cut.
        second = max(instant // SECOND, -1)
        due = _compiled(self.expression, self.timezone).after(second)
        return None if due is None or due > _SECOND_MAX else due * SECOND

    def count(self, first: Instant, last: Instant, *, limit: int) -> int | None:
        """How many due instants lie in [first, last]; None when more than `limit`."""
        compiled = _compiled(self.expression, self.timezone)
        total, at = 0, first // SECOND - 1
        end = min(last // SECOND, _SECOND_MAX)
        while total <= limit:
            due = compiled.after(at)
            if due is None or due > end:
                return total
            # From each due instant a whole day at once: a job of every minute that was paused for
            # two months has 87,840 of them, and stepping took 0.5 s.
            at = min(due + _DAY_S, end)
            more = compiled.count_ordinary(due, at)
            if more is None:
                more, at = 0, due
            total += 1 + more
        return None

    def explain(self) -> str:
        """One sentence in English, such as 'At 02:30 every day (Europe/Berlin)'."""
        text = _compiled(self.expression, self.timezone).sim.explain()
        # cronsim says 21th, 22th, 23th.
        text = re.sub(r"(?<!1)[123]th\b", lambda match: _ORDINALS[match[0]], text)
        return f"{text} ({self.timezone})"


@dataclass(frozen=True, slots=True)
class _Compiled:
    """An expression made ready. Times are seconds; `wall` ones are read off the local clock."""

    sim: CronSim
    minutes_of_day: array[int]
    zone: ZoneInfo
    fixed: bool

    def after(self, second: int) -> int | None:
        return self._fixed_after(second) if self.fixed else self._shown_after(second)

    def count_ordinary(self, due: int, until: int) -> int | None:
        """How many are due in (due, until], a day or less; None when the clocks change in it."""
        offset = offset_at(self.zone, due)
        if offset_at(self.zone, until) != offset:
            return None
        # `due` being an occurrence, no fixed time is still held back by the second pass before it.
        start, end = due + offset, until + offset
        total = 0
        for day in range(start // _DAY_S, end // _DAY_S + 1):
            if self._first_day(day, days_max=1) is not None:
                midnight = day * _DAY_S
                total += bisect_right(self.minutes_of_day, (end - midnight) // 60)
                total -= bisect_right(self.minutes_of_day, (start - midnight) // 60)
        return total

    def _fixed_after(self, second: int) -> int | None:
        for wall in self._walls_after(second + offset_at(self.zone, second)):
            first, later = offsets_of(self.zone, wall)
            if later - first >= _GAP_S_MAX:
                continue
            if first < later:
                return change_after(self.zone, wall - later, wall - first)
            # In the second pass of an overlap the first pass of this time is over.
            if wall - first > second:
                return wall - first
        return None

    def _shown_after(self, second: int) -> int | None:
        offset = offset_at(self.zone, second)
        start = second + offset
        first, later = offsets_of(self.zone, start)
        if first > later and offset == first:
            # In the first pass of an overlap: what is shown in it, else what the second pass shows.
            change = change_after(self.zone, second, second + first - later)
            wall = self._wall_after(start)
            if wall is not None and wall - first < change:
                return wall - first
            second, start = change - 1, change - 1 + later
        for wall in self._walls_after(start):
            first, later = offsets_of(self.zone, wall)
            if first >= later:
                return wall - first if wall - first > second else wall - later
        return None

    def _walls_after(self, wall: int) -> Iterator[int]:
        # An end is needed: an expression may be true in gaps only, year after year.
        while (match := self._wall_after(wall)) is not None and match <= _SECOND_MAX + _DAY_S:
            yield match
            wall = match

    def _wall_after(self, wall: int) -> int | None:
        """The next matching reading of a clock that never changes."""
        day, second = divmod(wall, _DAY_S)
        match = self._first_day(day)
        if match == day:
            index = bisect_right(self.minutes_of_day, second // 60)
            if index < len(self.minutes_of_day):
                return day * _DAY_S + self.minutes_of_day[index] * 60
            match = self._first_day(day + 1)
        return None if match is None else match * _DAY_S + self.minutes_of_day[0] * 60

    def _first_day(self, day: int, *, days_max: int = _DAYS_SEARCHED_MAX) -> int | None:
        """The first matching day from `day` on, in days since the epoch."""
        candidate = date.fromordinal(day + _EPOCH_ORDINAL)
        for _ in range(days_max):
            if candidate.month not in self.sim.months:
                candidate = (candidate.replace(day=28) + 4 * _ONE_DAY).replace(day=1)
            elif self.sim.match_day(candidate):
                return candidate.toordinal() - _EPOCH_ORDINAL
            else:
                candidate += _ONE_DAY
        return None


# Many jobs share few expressions, and a miss costs about as much as ten calls of `after`.
@lru_cache(maxsize=2048)
def _compiled(expression: str, timezone: str) -> _Compiled:
    plain = canonical(normalise(expression))
    zone = zone_named(timezone)
    try:
        sim = CronSim(plain, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError:
        # Everything else was checked before: what is left is 30 February and its like.
        raise _never(expression) from None
    minutes = sorted(hour * 60 + minute for hour in sim.hours for minute in sim.minutes)
    compiled = _Compiled(sim, array("H", minutes), zone, is_fixed_time(plain))
    if compiled._first_day(0) is None:
        raise _never(expression)
    return compiled


def _never(expression: str) -> NeverFires:
    return NeverFires(
        f"{expression!r} is never due: no day of any year matches",
        hint="Check day-of-month against month; 'L' is the last day of every month.",
        field="cronExpr",
    )
