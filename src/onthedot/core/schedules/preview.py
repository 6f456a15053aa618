"""What is to come of a schedule, instant by instant, with what is special about each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, Literal, NamedTuple

from onthedot.core.instants import INSTANT_MAX, SECOND, Instant
from onthedot.core.schedules.allowed import Allowed
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.fixed_delay import FixedDelay
from onthedot.core.schedules.once import Once
from onthedot.core.schedules.repeat import Repeat
from onthedot.core.schedules.span import Schedule, Timetable, dues, span
from onthedot.core.schedules.wall import comes_twice
from onthedot.core.schedules.within import Within
from onthedot.core.schedules.zones import zone_of

Mark = Literal[
    "dstGap",
    "dstOverlapFirst",
    "dstOverlapSecond",
    "calendar",
    "jitter",
    "spread",
    "last",
    "fixedDelay",
]


_MOVED: Final[tuple[Mark, ...]] = ("calendar",)


class PreviewedOccurrence(NamedTuple):
    """An occurrence to come: due at `at`, which its schedule names as `nominal`: a calendar may
    have moved it. `skipped`: instants of the schedule, since the occurrence before, that a calendar
    leaves out or has moved onto this one; None: too many to count.
    """

    at: Instant
    nominal: Instant
    marks: tuple[Mark, ...] = ()
    skipped: int | None = 0


def coming(
    schedule: Timetable | Once | FixedDelay | None, after: Instant, count: int, *, anchor: Instant
) -> list[PreviewedOccurrence]:
    """The next occurrences strictly after an instant, at most `count`."""
    return list(islice(to_come(schedule, after, anchor=anchor), count))


def to_come(
    schedule: Timetable | Once | FixedDelay | None, after: Instant, *, anchor: Instant
) -> Iterator[PreviewedOccurrence]:
    """All occurrences strictly after an instant, each worked out when it is asked for. Of a fixed
    delay one, if no run is under way: all others are counted from ends that nobody knows.
    """
    if schedule is None:
        return
    if isinstance(schedule, FixedDelay):
        due = after + schedule.delay_us
        if due <= INSTANT_MAX:
            yield PreviewedOccurrence(due, due, ("fixedDelay",))
        return
    if isinstance(schedule, Once):
        if schedule.at > after:
            yield PreviewedOccurrence(schedule.at, schedule.at)
        return
    base, end = schedule, INSTANT_MAX
    if isinstance(schedule, Within):
        base = schedule.base
        end = INSTANT_MAX if schedule.end is None else schedule.end
        # What a window leaves out before its beginning was not for the calendar to skip.
        after = after if schedule.start is None else max(after, schedule.start - 1)
    if isinstance(base, Allowed):
        yield from _under(base, after, end, anchor)
        return
    for due in dues(schedule, after, anchor=anchor):
        yield PreviewedOccurrence(due, due, marks(schedule, due))


def marks(schedule: Timetable | Once, due: Instant) -> tuple[Mark, ...]:
    """What a DST change has to do with a due instant."""
    if isinstance(schedule, Within | Allowed):
        return marks(schedule.base, due)
    if not isinstance(schedule, Cron | Repeat):
        return ()
    if schedule.makes_up(due):
        return ("dstGap",)
    match comes_twice(zone_of(schedule.timezone), due // SECOND):
        case "first":
            return ("dstOverlapFirst",)
        case "second":
            return ("dstOverlapSecond",)
    return ()


def _under(
    schedule: Allowed, before: Instant, end: Instant, anchor: Instant
) -> Iterator[PreviewedOccurrence]:
    """Occurrences under a calendar, later than `before` and up to `end`."""
    for due, nominals, landed in schedule.landings(before, anchor=anchor):
        if due > end:
            return
        nominal, *others = nominals
        passed = _between(schedule.base, before, due, anchor)
        skipped = None if passed is None else passed - landed + len(others)
        found = marks(schedule.base, due) if nominal == due else _MOVED
        yield PreviewedOccurrence(due, nominal, found, skipped)
        before = due


def _between(schedule: Schedule, before: Instant, due: Instant, anchor: Instant) -> int | None:
    """How many instants a schedule has between two; None: too many to count."""
    first = schedule.after(before, anchor=anchor)
    if first is None or first >= due:
        return 0
    passed = span(schedule, first, due - 1, anchor=anchor)
    return 0 if passed is None else passed.count
