"""Repetitions from a start of their own: steps of the calendar, or of elapsed time.

Every occurrence is counted from the start, never from the one before: a month after 31 January is
28 February, and two months after it 31 March.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

from onthedot.core.instants import DAY, INSTANT_MAX, SECOND, Instant
from onthedot.core.schedules.wall import DAY_S, DstGap, DstOverlap, seconds_of, wall_of
from onthedot.core.schedules.zones import zone_of

_EPOCH: Final = date(1970, 1, 1).toordinal()
_MONTH_US: Final = 2_629_746 * SECOND  # the mean of 400 years
# Months of different length and DST changes put an estimate off by this at most.
_STEPS_OFF: Final = 3


class Step(NamedTuple):
    """Months and days are counted on the calendar of the zone; the rest is elapsed time."""

    months: int = 0
    days: int = 0
    us: int = 0

    @property
    def mean_us(self) -> int:
        return self.months * _MONTH_US + self.days * DAY + self.us

    @property
    def is_elapsed(self) -> bool:
        return not self.months and not self.days


@dataclass(frozen=True, slots=True)
class Repeat:
    """Due at `start` and after every step from it, `times` times in all (None: without end).

    `after_start`: the start itself is not due, only what follows it. The time of day is fixed, so
    a gap is made up for right after it, and an overlap counts once, unless the rules say otherwise.
    """

    start: Instant
    step: Step
    timezone: str = "UTC"
    dst_gap: DstGap | None = None
    dst_overlap: DstOverlap | None = None
    times: int | None = None
    after_start: bool = False

    def after(self, instant: Instant, *, anchor: Instant = 0) -> Instant | None:
        """The first due instant strictly after; None when there is none before 2200."""
        return next(self.dues(instant), None)

    def dues(self, after: Instant) -> Iterator[Instant]:
        """All that is due strictly after, in order."""
        number = max(self._first, self._near(after))
        begin = self._begin()
        while self.times is None or number < self._first + self.times:  # bounded: dues grow
            if self.start + number * self.step.mean_us > INSTANT_MAX + 2 * DAY * 31:
                return
            for due in self._dues(number, begin, after):
                if due > INSTANT_MAX:
                    return
                if due > after:
                    yield due
                    after = due
            number += 1

    def count(self, first: Instant, last: Instant, *, limit: int) -> int | None:
        """How many due instants lie in [first, last]; None when more than `limit`."""
        total = 0
        for due in self.dues(first - 1):
            if due > last:
                break
            if self.step.is_elapsed:
                return (min(last, self._end) - due) // self.step.us + 1
            total += 1
            if total > limit:
                return None
        return total

    def makes_up(self, due: Instant) -> bool:
        """Whether a due instant stands for a time that a gap swallowed."""
        if self.step.is_elapsed or self.step.us:
            return False
        zone = zone_of(self.timezone)
        shown = wall_of(zone, due // SECOND) - wall_of(zone, self.start // SECOND)
        return shown % DAY_S != 0

    @property
    def _first(self) -> int:
        return 1 if self.after_start else 0

    @property
    def _end(self) -> Instant:
        """The last instant, where time simply elapses."""
        if self.times is None:
            return INSTANT_MAX
        return min(INSTANT_MAX, self.start + (self._first + self.times - 1) * self.step.us)

    def _near(self, instant: Instant) -> int:
        """A number not beyond that of the first occurrence after this instant."""
        turns = (instant - self.start) // self.step.mean_us
        return turns + 1 if self.step.is_elapsed else turns - _STEPS_OFF

    def _begin(self) -> tuple[int, int]:
        """The day, and the second of the day, that the clock shows at the start."""
        return divmod(wall_of(zone_of(self.timezone), self.start // SECOND), DAY_S)

    def _dues(self, number: int, begin: tuple[int, int], after: Instant) -> tuple[Instant, ...]:
        """When the step of this number is due; it need not be told if that is not after."""
        months, days, us = self.step
        if number == 0 or self.step.is_elapsed:
            return (self.start + number * us,)
        day, second_of_day = begin
        wall = (_months_later(day, number * months) + number * days) * DAY_S + second_of_day
        elapsed = self.start % SECOND + number * us
        if (wall + DAY_S) * SECOND + elapsed <= after:
            return ()  # no zone is a day off: it has passed, wherever the clocks stood
        zone = zone_of(self.timezone)
        seconds = seconds_of(zone, wall, self.dst_gap or "after", self.dst_overlap or "first")
        return tuple(second * SECOND + elapsed for second in seconds)


def _months_later(day: int, months: int) -> int:
    """The same day of a later month, or its last day where it has no such day."""
    if not months:
        return day
    start = date.fromordinal(day + _EPOCH)
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    last = monthrange(year, month + 1)[1]
    return date(year, month + 1, min(start.day, last)).toordinal() - _EPOCH
