"""What is to come of a schedule, instant by instant, with what is special about each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from onthedot.core.instants import INSTANT_MAX, SECOND, Instant
from onthedot.core.schedules.allowed import COUNT_MAX, Allowed
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.fixed_delay import FixedDelay
from onthedot.core.schedules.once import Once
from onthedot.core.schedules.repeat import Repeat
from onthedot.core.schedules.span import Timetable, span
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


class Coming(NamedTuple):
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
) -> list[Coming]:
    """The next occurrences strictly after an instant, at most `count`. Of a fixed delay one, if no
    run is under way: all others are counted from ends that nobody knows.
    """
    if schedule is None:
        return []
    if isinstance(schedule, FixedDelay):
        due = after + schedule.delay_us
        return [Coming(due, due, ("fixedDelay",))] if count and due <= INSTANT_MAX else []
    dues = list(islice(_dues(schedule, after, anchor), count))
    base = schedule.base if isinstance(schedule, Within) else schedule
    if isinstance(base, Allowed):
        # What a window leaves out before its beginning was not for the calendar to skip.
        start = schedule.start if isinstance(schedule, Within) else None
        before = after if start is None else max(after, start - 1)
        return [_under(base, last, due, anchor) for last, due in pairwise([before, *dues])]
    return [Coming(due, due, marks(schedule, due)) for due in dues]


def marks(schedule: Timetable | Once, due: Instant) -> tuple[Mark, ...]:
    """What a change of the clocks has to do with a due instant."""
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


def _under(schedule: Allowed, before: Instant, due: Instant, anchor: Instant) -> Coming:
    """An occurrence under a calendar; `before` is the one before it."""
    nominal, *others = schedule.gathered(due, anchor=anchor)
    skipped = _left_out(schedule, before, due, anchor)
    found = marks(schedule.base, due) if nominal == due else ("calendar",)
    return Coming(due, nominal, found, None if skipped is None else skipped + len(others))


def _left_out(schedule: Allowed, before: Instant, due: Instant, anchor: Instant) -> int | None:
    """How many instants between two occurrences come to nothing; None: too many to count."""
    first = schedule.base.after(before, anchor=anchor)
    if first is None or first >= due:
        return 0
    if schedule.roll == "skip":
        passed = span(schedule.base, first, due - 1, anchor=anchor)
        return 0 if passed is None else passed.count
    total = 0
    for _ in range(COUNT_MAX):
        if first is None or first >= due:
            return total
        total += schedule.lands(first) is None
        first = schedule.base.after(first, anchor=anchor)
    return None


def _dues(schedule: Timetable | Once, after: Instant, anchor: Instant) -> Iterator[Instant]:
    if isinstance(schedule, Once):
        yield from [schedule.at] if schedule.at > after else []
        return
    due = schedule.after(after, anchor=anchor)
    while due is not None:
        yield due
        due = schedule.after(due, anchor=anchor)
