"""What is to come of a schedule, instant by instant, with what is special about each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

from onthedot.core.instants import INSTANT_MAX, SECOND, Instant
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.fixed_delay import FixedDelay
from onthedot.core.schedules.once import Once
from onthedot.core.schedules.repeat import Repeat
from onthedot.core.schedules.span import Timetable
from onthedot.core.schedules.wall import comes_twice
from onthedot.core.schedules.within import Within
from onthedot.core.schedules.zones import zone_of

Mark = Literal[
    "dstGap", "dstOverlapFirst", "dstOverlapSecond", "jitter", "spread", "last", "fixedDelay"
]


class Coming(NamedTuple):
    """An occurrence to come: due at `at`, which its schedule names as `nominal`."""

    at: Instant
    nominal: Instant
    marks: tuple[Mark, ...] = ()


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
    dues = islice(_dues(schedule, after, anchor), count)
    return [Coming(due, due, marks(schedule, due)) for due in dues]


def marks(schedule: Timetable | Once, due: Instant) -> tuple[Mark, ...]:
    """What a change of the clocks has to do with a due instant."""
    if isinstance(schedule, Within):
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


def _dues(schedule: Timetable | Once, after: Instant, anchor: Instant) -> Iterator[Instant]:
    if isinstance(schedule, Once):
        yield from [schedule.at] if schedule.at > after else []
        return
    due = schedule.after(after, anchor=anchor)
    while due is not None:
        yield due
        due = schedule.after(due, anchor=anchor)
