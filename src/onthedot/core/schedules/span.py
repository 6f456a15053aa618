"""Ranges of occurrences: how many, and which is the last, without listing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onthedot.core.instants import INSTANT_MAX, Instant
from onthedot.core.schedules.allowed import Allowed
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.repeat import Repeat
from onthedot.core.schedules.within import Within

Schedule = Cron | Every | Repeat
"""Those that recur."""

Timetable = Schedule | Allowed | Within

COUNT_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Span:
    """All from `first` to `last`, both included. `count` of a cron: None above COUNT_MAX, sooner
    under a calendar.
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
    return Span(schedule.count(first, last, limit=COUNT_MAX), first, last)


def latest(schedule: Timetable, at_most: Instant, *, first: Instant, anchor: Instant) -> Instant:
    """The last occurrence that is not after `at_most`, `first` being one of them."""
    assert first <= at_most
    at_most = min(at_most, INSTANT_MAX)
    if isinstance(schedule, Within):
        return latest(schedule.base, _bounded(schedule, at_most), first=first, anchor=anchor)
    if isinstance(schedule, Every):
        return first + (at_most - first) // schedule.every_us * schedule.every_us
    # Cron has no way back, so halve: `last` is an occurrence, and none lies in (end, at_most].
    # The range halves at each turn: 53 turns for all the time there is.
    last, end = first, at_most
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
