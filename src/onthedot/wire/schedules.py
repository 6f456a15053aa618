"""What a request says about when: read into a schedule, with what it leaves out kept as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from msgspec import UNSET, UnsetType

from onthedot.core.durations import parse_duration
from onthedot.core.editing import refuse_without_instant
from onthedot.core.fields import FIELDS
from onthedot.core.instants import INSTANT_MAX, Instant, parse_instant
from onthedot.core.model import Definition, NamedCalendar, Schedule, timetable
from onthedot.core.schedules import (
    Cron,
    Every,
    FixedDelay,
    Once,
    Repeat,
    Terms,
    read_cron,
    read_schedule,
)
from onthedot.errors import Invalid
from onthedot.wire.converting import with_given
from onthedot.wire.shapes import Given
from onthedot.wire.windows import windowed

_SCHEDULES: Final = tuple((each.wire_name, each.name) for each in FIELDS if each.schedule)


def scheduled(
    old: Definition,
    given: Given,
    *,
    now: Instant,
    calendar: NamedCalendar | None = None,
) -> Definition:
    """The definition with what the request says, and with its schedule: the one given, none if
    taken away, else what there was.
    """
    new = with_given(old, given)
    chosen = [
        (wire, value)
        for wire, name in _SCHEDULES
        if (value := getattr(given, name)) is not None and value is not UNSET
    ]
    if len(chosen) > 1:
        raise two_schedules(chosen[0][0], chosen[1][0])
    terms = _terms(new, given, now)
    if chosen:
        field, value = chosen[0]
        text = value if field == "schedule" else None
        new = new._replace(schedule=_parsed(field, value, terms), schedule_text=text)
        if old.schedule is not None:
            new = new._replace(schedule=kept(old, new))
    elif _taken_away(old, given):
        new = new._replace(schedule=None, schedule_text=None)
    elif isinstance(new.schedule, Cron | Repeat):
        gap, overlap = terms.dst_gap, terms.dst_overlap
        moved = replace(new.schedule, timezone=terms.timezone, dst_gap=gap, dst_overlap=overlap)
        new = new._replace(schedule=moved)
    if not isinstance(new.schedule, Cron | Repeat):
        _refuse_rules_without_clock(given)
    new = windowed(new, given, calendar)
    if timetable(new) != timetable(old) or _is_new_chain(old, new):
        _refuse_without_instant(new, given, now)
    return new


def _is_new_chain(old: Definition, new: Definition) -> bool:
    bounds = [(each.schedule, each.start_at, each.end_at) for each in (old, new)]
    return isinstance(new.schedule, FixedDelay) and bounds[0] != bounds[1]


def kept(old: Definition, new: Definition) -> Schedule:
    """The new schedule, with what its expression got when it was first given, while that stays: the
    values of its `H`, even if the job has a new name, and the instant from which it is counted.
    """
    before, after = old.schedule, new.schedule
    if isinstance(before, Cron) and isinstance(after, Cron):
        return (
            replace(after, plain=before.plain) if before.expression == after.expression else after
        )
    if isinstance(before, Repeat) and isinstance(after, Repeat):
        same = old.schedule_text == new.schedule_text and before.step == after.step
        return replace(after, start=before.start) if same else after
    return after


def delayed(value: object, now: Instant) -> Instant:
    at = now + parse_duration(value, field="delay")
    if at > INSTANT_MAX:
        raise Invalid("delay ends after 2199", hint="Use a shorter delay.", field="delay")
    return at


def two_schedules(first: str, second: str) -> Invalid:
    return Invalid(
        f"{first} and {second} are two schedules at once",
        hint=f"Keep one of {first} and {second}.",
        field=second,
    )


def given_or_none(value: Any) -> Any:
    return None if value is UNSET else value


def _terms(labelled: Definition, given: Given, now: Instant) -> Terms:
    """`labelled` has the name and the key of the request, from which an `H` takes its value."""
    old = labelled.schedule
    gap, overlap, named = None, None, labelled.key or labelled.name
    if isinstance(old, Cron | Repeat):
        gap, overlap = old.dst_gap, old.dst_overlap
    return Terms(
        now=now,
        timezone=labelled.timezone,
        dst_gap=gap if isinstance(given.dst_gap, UnsetType) else given.dst_gap,
        dst_overlap=overlap if isinstance(given.dst_overlap, UnsetType) else given.dst_overlap,
        seed=f"{labelled.namespace}/{named}" if named else None,
    )


def _parsed(field: str, value: Any, terms: Terms) -> Schedule:
    match field:
        case "every":
            return Every(parse_duration(value, field=field))
        case "fixedDelay":
            return FixedDelay(parse_duration(value, field=field))
        case "runAt":
            return Once(parse_instant(value, field=field))
        case "delay":
            return Once(delayed(value, terms.now))
        case "schedule":
            return read_schedule(value, terms)
    return read_cron(value, terms)


def _refuse_rules_without_clock(given: Given) -> None:
    for field, value in (("dstGap", given.dst_gap), ("dstOverlap", given.dst_overlap)):
        if given_or_none(value) is not None:
            raise Invalid(
                f"{field} is a rule for times on a clock, and the job has none",
                hint=f"Leave {field} out, or give the job a cronExpr.",
                field=field,
            )


def _taken_away(old: Definition, given: Given) -> bool:
    """Whether the field that shows the present schedule is set to null."""
    if old.schedule_text is not None:
        return given.schedule is None
    match old.schedule:
        case Cron():
            return given.cron_expr is None
        case Every():
            return given.every is None
        case FixedDelay():
            return given.fixed_delay is None
        case Once():
            return given.run_at is None or given.delay is None
    return False


def _refuse_without_instant(definition: Definition, given: Given, now: Instant) -> None:
    try:
        refuse_without_instant(definition, now=now)
    except Invalid as error:
        if error.field in ("endAt", "calendar"):
            raise
        if isinstance(given.schedule, str):
            error.field = "schedule"
        elif isinstance(definition.schedule, Every):
            error.field = "every"
        elif isinstance(definition.schedule, FixedDelay):
            error.field = "fixedDelay"
        raise
