"""Ranges of occurrences: how many, and which is the last, without listing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from onthedot.core.effort import DECISION_MAX, charge, spent
from onthedot.core.instants import DAY, INSTANT_MAX, Instant
from onthedot.core.schedules.allowed import STEPS_MAX, Allowed
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.repeat import Repeat
from onthedot.core.schedules.within import Within
from onthedot.errors import TooCostly

Schedule = Cron | Every | Repeat
"""Those that recur."""

Timetable = Schedule | Allowed | Within

COUNT_MAX: Final = 100_000

_NEAR: Final = 2 * DAY


@dataclass(frozen=True, slots=True)
class Span:
    """All from `first` to `last`, both included. `count` of a cron: None above COUNT_MAX, sooner
    under a calendar, or of a repetition by days or months.
    """

    count: int | None
    first: Instant
    last: Instant


def span(
    schedule: Timetable, first: Instant, last_at_most: Instant, *, anchor: Instant
) -> Span | None:
    """The occurrences in [first, last_at_most], `first` being one; None when the range is empty."""
    if first > last_at_most:
        return None
    if isinstance(schedule, Within):
        return span(schedule.base, first, _bounded(schedule, last_at_most), anchor=anchor)
    last = latest(schedule, last_at_most, first=first, anchor=anchor)
    if isinstance(schedule, Allowed):
        return Span(schedule.count(first, last, anchor=anchor), first, last)
    if isinstance(schedule, Every):
        return Span((last - first) // schedule.every_us + 1, first, last)
    # A cron is counted by months, a repetition one by one.
    limit = COUNT_MAX if isinstance(schedule, Cron) else DECISION_MAX
    return Span(schedule.count(first, last, limit=limit), first, last)


def dues(schedule: Timetable, after: Instant, *, anchor: Instant) -> Iterator[Instant]:
    """All that is due strictly after, in order: of many, cheaper than asking for one at a time."""
    if isinstance(schedule, Within):
        start = after if schedule.start is None else max(after, schedule.start - 1)
        for due in dues(schedule.base, start, anchor=anchor):
            if schedule.end is not None and due > schedule.end:
                return
            yield due
        return
    if isinstance(schedule, Allowed):
        for landing in schedule.landings(after, anchor=anchor):
            yield landing.due
        return
    if isinstance(schedule, Repeat):
        for due in schedule.dues(after):
            charge(1)
            yield due
        return
    found = schedule.after(after, anchor=anchor)
    while found is not None:
        charge(1)
        yield found
        found = schedule.after(found, anchor=anchor)


def nth(schedule: Timetable, after: Instant, number: int, *, anchor: Instant) -> Instant | None:
    """The due instant of this number, 1 being the first strictly after; if there are not so many,
    the last of them. Raises TooCostly where each must be looked at and they are too many.
    """
    if isinstance(schedule, Within):
        start = after if schedule.start is None else max(after, schedule.start - 1)
        first = schedule.after(start, anchor=anchor)
        if first is None:
            return None
        found = nth(schedule.base, start, number, anchor=anchor)
        if found is None or (schedule.end is not None and found > schedule.end):
            return latest(schedule, INSTANT_MAX, first=first, anchor=anchor)
        return found
    if isinstance(schedule, Every):
        first = schedule.after(after, anchor=anchor)
        if first is None:
            return None
        last = latest(schedule, INSTANT_MAX, first=first, anchor=anchor)
        return min(first + (number - 1) * schedule.every_us, last)
    if isinstance(schedule, Cron):
        first = schedule.after(after)
        if first is None:
            return None
        found = schedule.nth(first, number)
        return latest(schedule, INSTANT_MAX, first=first, anchor=anchor) if found is None else found
    found, begun = None, spent()
    for due in islice(dues(schedule, after, anchor=anchor), number):
        found = due
        if spent() - begun > DECISION_MAX + STEPS_MAX:  # the first alone may take STEPS_MAX
            raise too_many(number)
    return found


def too_many(number: int | None) -> TooCostly:
    return TooCostly(
        f"maxRuns is {number}: it takes too long to find the last of so many under this schedule",
        hint="Give endAt instead of maxRuns, or a smaller maxRuns: 500 are not too many under a "
        "usual calendar.",
        field="maxRuns",
    )


def latest(schedule: Timetable, at_most: Instant, *, first: Instant, anchor: Instant) -> Instant:
    """The last occurrence that is not after `at_most`, `first` being one of them."""
    assert first <= at_most
    at_most = min(at_most, INSTANT_MAX)
    if isinstance(schedule, Within):
        return latest(schedule.base, _bounded(schedule, at_most), first=first, anchor=anchor)
    if isinstance(schedule, Every):
        return first + (at_most - first) // schedule.every_us * schedule.every_us
    last = first
    # Cron has no way back. The answer lies near, as a rule: look for any in a time that doubles.
    width = _NEAR
    while at_most - width > first:
        due = schedule.after(at_most - width, anchor=anchor)
        if due is not None and due <= at_most:
            last = due
            break
        width *= 2
    if isinstance(schedule, Allowed) and schedule.roll != "skip":
        # One that is moved is found among many, so take them all: there are few a day.
        for due in dues(schedule, last, anchor=anchor):
            if due > at_most:
                break
            last = due
        return last
    # Then halve: `last` is an occurrence, and none lies in (end, at_most].
    end = at_most
    while (due := schedule.after(last, anchor=anchor)) is not None and due <= at_most:
        last = due
        middle = (last + end) // 2
        due = schedule.after(middle, anchor=anchor)
        if due is None or due > at_most:
            end = middle
        else:
            last = due
    return last


def _bounded(schedule: Within, at_most: Instant) -> Instant:
    return at_most if schedule.end is None else min(at_most, schedule.end)
