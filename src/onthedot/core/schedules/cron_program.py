"""A cron expression made ready to be asked: sorted times and days, and the offsets of its zone.

Times are whole seconds since the epoch; a *wall* time is what the local clock shows, counted the
same way. Between two DST changes the two differ by a constant, so the next wall time is
found in the calendar alone, and only at a change do the rules for gaps and overlaps come in.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from onthedot.core.schedules.cron_days import DaySet
from onthedot.core.schedules.cron_fields import Fields
from onthedot.core.schedules.wall import DAY_S, GAP_S_MAX, MINUTE_S, DstGap, DstOverlap
from onthedot.core.schedules.zones import Segment, Zone

# More than any two offsets of a zone differ by.
_FAR_S: Final = 2 * DAY_S


class _Window(NamedTuple):
    """The part of a segment in which a wall time is due exactly when it matches.

    Seconds [start, end) of the segment; a matching wall time counts from `wall_first` on.
    """

    start: int
    end: int
    offset: int
    wall_first: int
    segment: Segment


_NO_WINDOW: Final = _Window(0, 0, 0, 0, Segment(0, 0, 0, 0, 0))


class Program:
    """The instants of one expression in one zone, under one rule for gaps and overlaps."""

    __slots__ = (
        *("_days", "_gap", "_last_second", "_minutes", "_overlap", "_seconds", "_window"),
        *("_zone", "__weakref__"),
    )

    def __init__(self, fields: Fields, zone: Zone, gap: DstGap, overlap: DstOverlap) -> None:
        self._seconds = fields.seconds
        self._minutes = _minutes_of_day(fields)
        self._last_second = self._minutes[-1] * 60 + self._seconds[-1]
        self._days = DaySet(fields)
        self._zone = zone
        self._gap = gap
        self._overlap = overlap
        self._window = _NO_WINDOW
        zone.tell(self)

    def offsets_changed(self) -> None:
        self._window = _NO_WINDOW

    def is_ever_due(self) -> bool:
        """Whether any day of the calendar matches."""
        return self._days.first(0) is not None

    def first(self, start: int) -> int | None:
        """The first due second from `start` on."""
        # Bounded: each turn but the first passes a DST change near a matching wall time.
        while True:
            window = self._window
            if not window.start <= start < window.segment.end:
                window = self._window = self._window_at(start)
            if start == window.start and self._gap == "after":
                # What the gap before this swallowed may be due at its very end, which is here.
                made_up = self._made_up(self._zone.segment(start - 1), start)
                if made_up is not None:
                    return made_up
            shown = start + window.offset
            wall = self._first_wall(shown if shown > window.wall_first else window.wall_first)
            if wall is None:
                return None
            due = wall - window.offset
            if due < window.end:
                return due
            segment = window.segment
            made_up = self._made_up(segment, start)
            if made_up is not None:
                return made_up
            if due < segment.end and segment.after > segment.offset:
                return due
            start = segment.end
            # What comes twice may match in its second pass; otherwise nothing does until `due`.
            if segment.after >= segment.offset and due - _FAR_S > start:
                start = due - _FAR_S

    def count(self, first: int, last: int, *, limit: int) -> int | None:
        """How many are due in [first, last]; None when more than `limit`."""
        total = 0
        while total <= limit:
            due = self.first(first)
            if due is None or due > last:
                return total
            total += 1
            window = self._window_at(due)
            # Within a window every matching wall time is due, so they are counted, not listed.
            end = min(last + 1, window.end)
            first = due + 1
            if first < end:
                wall = max(first + window.offset, window.wall_first)
                total += self._count_walls(wall, end + window.offset)
                first = end
        return None

    def nth(self, first: int, number: int) -> int | None:
        """The due second of this number from `first` on, 1 being the first; None: there are not so
        many.
        """
        while (due := self.first(first)) is not None:  # bounded: each turn passes a window
            number -= 1
            if number == 0:
                return due
            window = self._window_at(due)
            first = due + 1
            if first < window.end:
                wall, end = (
                    max(first + window.offset, window.wall_first),
                    window.end + window.offset,
                )
                inside = self._count_walls(wall, end)
                if inside >= number:
                    return self._nth_wall(wall, end, number) - window.offset
                number -= inside
                first = window.end
        return None

    def is_made_up(self, due: int) -> bool:
        """Whether a due second makes up for what a gap swallowed."""
        before = self._zone.segment(due - 1 if self._gap == "after" else due)
        return self._made_up(before, due) == due

    def _window_at(self, second: int) -> _Window:
        segment = self._zone.segment(second)
        start, end, offset, before, after = segment
        wall_first = start + offset
        if before > offset and self._overlap == "first":
            wall_first = start + before
        if after < offset and self._overlap == "second":
            end -= offset - after
        if after > offset and self._gap == "before":
            end -= MINUTE_S
        return _Window(start, end, offset, wall_first, segment)

    def _made_up(self, segment: Segment, start: int) -> int | None:
        """When the times that the gap after this segment swallows are due; None: not, or not from
        `start` on. However many they are, they make one occurrence.
        """
        shift = segment.after - segment.offset
        if not 0 < shift < GAP_S_MAX or self._gap == "skip":
            return None
        due = segment.end if self._gap == "after" else segment.end - MINUTE_S
        if due < start:
            return None
        swallowed = self._first_wall(segment.end + segment.offset)
        if swallowed is None or swallowed >= segment.end + segment.after:
            return None
        return due

    def _first_wall(self, wall: int) -> int | None:
        """The first matching reading, from `wall` on, of a clock that never changes."""
        day, second = divmod(wall, DAY_S)
        if second > self._last_second:
            day, second = day + 1, 0
        match = self._days.first(day)
        if match is None:
            return None
        minutes, seconds = self._minutes, self._seconds
        if match != day:
            return match * DAY_S + minutes[0] * 60 + seconds[0]
        # The first minute whose first second is not over yet.
        index = bisect_left(minutes, -((seconds[0] - second) // 60))
        if len(seconds) > 1 and index:
            late = second - minutes[index - 1] * 60
            if late <= seconds[-1]:
                return wall - late + seconds[bisect_left(seconds, late)]
        return day * DAY_S + minutes[index] * 60 + seconds[0]

    def _nth_wall(self, first: int, end: int, number: int) -> int:
        """The matching reading of this number in [first, end), which has so many."""
        low, high = first, end - 1
        while low < high:  # halves
            middle = (low + high) // 2
            if self._count_walls(first, middle + 1) >= number:
                high = middle
            else:
                low = middle + 1
        return low

    def _count_walls(self, first: int, end: int) -> int:
        """How many readings in [first, end) match, on a clock that never changes."""
        if first >= end:
            return 0
        (day, second), (last_day, last_second) = divmod(first, DAY_S), divmod(end, DAY_S)
        days = self._days
        total = days.count(day, last_day) * len(self._minutes) * len(self._seconds)
        if days.first(day) == day:
            total -= self._count_before(second)
        if last_second and days.first(last_day) == last_day:
            total += self._count_before(last_second)
        return total

    def _count_before(self, second: int) -> int:
        """How many times of a day come before this second of it."""
        minute, rest = divmod(second, 60)
        index = bisect_left(self._minutes, minute)
        whole = index * len(self._seconds)
        if index < len(self._minutes) and self._minutes[index] == minute:
            whole += bisect_left(self._seconds, rest)
        return whole


def times_of(fields: Fields) -> Iterator[list[int]]:
    """The minutes of the day that each of the joined expressions names."""
    for minutes, hours in ((fields.minutes, fields.hours), *fields.also):
        yield [hour * 60 + minute for hour in hours for minute in minutes]


def _minutes_of_day(fields: Fields) -> list[int]:
    if len(fields.minutes) == 60 and len(fields.hours) == 24:
        return list(range(24 * 60))  # a quarter of the time, for the commonest of all
    if fields.also:
        return sorted({time for each in times_of(fields) for time in each})
    return [hour * 60 + minute for hour in fields.hours for minute in fields.minutes]
