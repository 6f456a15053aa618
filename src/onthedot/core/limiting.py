"""The last occurrence that `max_runs` allows, found when it is said and when the days change."""

from __future__ import annotations

from onthedot.core.instants import Instant
from onthedot.core.model import Definition, Job, timetable
from onthedot.core.schedules import nth, span
from onthedot.core.schedules.span import too_many


def limited(definition: Definition, anchor: Instant, after: Instant) -> Definition:
    """With the instant of the last occurrence that `max_runs` allows, counted from now on."""
    if definition.last_at is not None:
        definition = definition._replace(last_at=None)
    schedule = None if definition.max_runs is None else timetable(definition)
    if definition.max_runs is None or schedule is None:
        return definition
    return definition._replace(last_at=nth(schedule, after, definition.max_runs, anchor=anchor))


def days_of(definition: Definition) -> object:
    """What decides which days are allowed."""
    return definition.calendar, definition.calendar_roll, definition.timezone


def carried(old: Job, definition: Definition, cut: Instant) -> Definition:
    """With the last instant of as many occurrences as the old version had left: a calendar that
    changes gives nobody more runs than `max_runs` said.
    """
    before = timetable(old.definition._replace(end_at=None))
    after = timetable(definition._replace(last_at=None))
    assert before is not None, old
    assert after is not None, definition
    first = before.after(cut, anchor=old.anchor)
    if first is None or definition.last_at is None:
        return definition
    left = span(before, first, definition.last_at, anchor=old.anchor)
    if left is None:
        return definition
    if left.count is None:
        raise too_many(definition.max_runs)
    last = nth(after, cut, left.count, anchor=old.anchor)
    return definition if last is None else definition._replace(last_at=last)
