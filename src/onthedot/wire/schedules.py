"""What a request says about when: read into a schedule, with what it leaves out kept as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from msgspec import UNSET, UnsetType

from onthedot.core.durations import parse_duration
from onthedot.core.editing import refuse_without_instant
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
from onthedot.core.schedules.zones import zone_named
from onthedot.errors import Invalid
from onthedot.wire import fields as f
from onthedot.wire.windows import WindowFields, windowed

_SCHEDULES: Final = {
    "cronExpr": "cron_expr",
    "every": "every",
    "fixedDelay": "fixed_delay",
    "runAt": "run_at",
    "delay": "delay",
    "schedule": "schedule",
}


class ScheduleFields(WindowFields, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """When: at most one of cronExpr, every, fixedDelay, runAt, delay, schedule, and how it is
    read.
    """

    cron_expr: f.CronExpr | UnsetType | None = UNSET
    every: f.EveryField | UnsetType | None = UNSET
    fixed_delay: f.FixedDelayField | UnsetType | None = UNSET
    run_at: f.RunAt | UnsetType | None = UNSET
    delay: f.Delay | UnsetType | None = UNSET
    schedule: f.ScheduleText | UnsetType | None = UNSET
    timezone: f.Timezone | UnsetType = UNSET
    dst_gap: f.DstGapField | UnsetType | None = UNSET
    dst_overlap: f.DstOverlapField | UnsetType | None = UNSET


def scheduled(
    labelled: Definition,
    given: ScheduleFields,
    *,
    now: Instant,
    calendar: NamedCalendar | None = None,
) -> Definition:
    """The definition with the schedule of the request: the one given, none if taken away, else what
    there was.

    `labelled` has the name and the key of the request already, from which an `H` takes its value.
    """
    if given.timezone is not UNSET:
        labelled = labelled._replace(timezone=given.timezone)
        zone_named(labelled.timezone)
    named = {wire: given_or_none(getattr(given, name)) for wire, name in _SCHEDULES.items()}
    chosen = [(wire, value) for wire, value in named.items() if value is not None]
    if len(chosen) > 1:
        raise two_schedules(chosen[0][0], chosen[1][0])
    old, terms = labelled.schedule, _terms(labelled, given, now)
    new = labelled
    if chosen:
        field, value = chosen[0]
        text = value if field == "schedule" else None
        new = labelled._replace(schedule=_parsed(field, value, terms), schedule_text=text)
        if old is not None:
            new = new._replace(schedule=kept(labelled, new))
    elif _taken_away(labelled, given):
        new = labelled._replace(schedule=None, schedule_text=None)
    elif isinstance(old, Cron | Repeat):
        gap, overlap = terms.dst_gap, terms.dst_overlap
        moved = replace(old, timezone=terms.timezone, dst_gap=gap, dst_overlap=overlap)
        new = labelled._replace(schedule=moved)
    if not isinstance(new.schedule, Cron | Repeat):
        _refuse_rules_without_clock(given)
    new = windowed(new, given, calendar)
    if timetable(new) != timetable(labelled) or _is_new_chain(labelled, new):
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


def _terms(labelled: Definition, given: ScheduleFields, now: Instant) -> Terms:
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


def _refuse_rules_without_clock(given: ScheduleFields) -> None:
    for field, value in (("dstGap", given.dst_gap), ("dstOverlap", given.dst_overlap)):
        if given_or_none(value) is not None:
            raise Invalid(
                f"{field} is a rule for times on a clock, and the job has none",
                hint=f"Leave {field} out, or give the job a cronExpr.",
                field=field,
            )


def _taken_away(old: Definition, given: ScheduleFields) -> bool:
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


def _refuse_without_instant(definition: Definition, given: ScheduleFields, now: Instant) -> None:
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
