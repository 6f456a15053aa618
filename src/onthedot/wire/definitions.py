"""From what a user says about a job to its definition: everything is checked here, at the door."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType

from onthedot.core.durations import format_duration, parse_duration
from onthedot.core.editing import refuse_without_instant
from onthedot.core.instants import DAY, INSTANT_MAX, Instant, parse_instant
from onthedot.core.model import Backoff, Definition, Once, Schedule
from onthedot.core.schedules import Cron, DstGap, DstOverlap, Every, read_schedule
from onthedot.core.schedules.zones import zone_named
from onthedot.errors import Invalid, NotAvailableYet
from onthedot.wire.jobs import BackoffIn, JobFields, JobIn, JobPatch, OnFailureIn
from onthedot.wire.reading import payload_text
from onthedot.wire.runs import TriggerIn, TriggerManyIn
from onthedot.wire.urls import checked_url

TIMEOUT_MAX: Final = DAY
WAIT_MAX: Final = 30 * DAY

_SCHEDULES: Final = {
    "cronExpr": "cron_expr",
    "every": "every",
    "runAt": "run_at",
    "delay": "delay",
    "schedule": "schedule",
}
_CRON_FIELDS: Final = (5, 6, 7)


class _CronSettings(NamedTuple):
    """What a cron expression is read with. `seed`: what an `H` in it is derived from."""

    timezone: str
    dst_gap: DstGap | None
    dst_overlap: DstOverlap | None
    seed: str


def definition_of(job: JobIn, *, now: Instant) -> Definition:
    """The definition of a new job, or a refusal that names the field."""
    if _given(job.handler_url) is None and _given(job.handler) is None:
        raise Invalid(
            "handlerUrl is missing",
            hint="Give the URL to call, or the name of a Python function as handler.",
            field="handlerUrl",
        )
    blank = Definition(name=job.name)
    if job.guarantee == "at_most_once":
        blank = replace(blank, retries=0)
    return _with(blank, job, now=now)


def patched(definition: Definition, patch: JobPatch, *, now: Instant) -> Definition:
    """The definition after an edit: what the patch does not name stays."""
    return _with(definition, patch, now=now)


def trigger_due(trigger: TriggerIn, *, now: Instant) -> Instant:
    """When a triggered run is due. An instant that has passed is due at once."""
    run_at, delay = _given(trigger.run_at), _given(trigger.delay)
    if run_at is not None and delay is not None:
        raise _two("runAt", "delay")
    if run_at is not None:
        return parse_instant(run_at, field="runAt")
    return now if delay is None else _delayed(delay, now)


def trigger_payload(trigger: TriggerIn) -> str | None:
    return None if trigger.payload is UNSET else payload_text(trigger.payload)


def triggers(many: TriggerManyIn, *, now: Instant) -> list[tuple[Instant, str | None]]:
    """When each of many runs is due, and its payload. A refusal names the place of the culprit."""
    asked = []
    for place, trigger in enumerate(many.runs):
        try:
            asked.append((trigger_due(trigger, now=now), trigger_payload(trigger)))
        except Invalid as error:
            error.field = f"runs[{place}].{error.field}"
            raise
    return asked


def _with(old: Definition, given: JobIn | JobPatch, *, now: Instant) -> Definition:
    changes = {**_labels(given), **_policies(old, given)}
    if given.timezone is not UNSET:
        changes["timezone"] = given.timezone
        zone_named(given.timezone)
    if given.payload is not UNSET:
        changes["payload"] = payload_text(given.payload)
    labelled = replace(old, **changes)
    definition = replace(labelled, schedule=_schedule(labelled, given, now))
    if definition.schedule != old.schedule:
        _refuse_without_instant(definition, given, now)
    _refuse_broken_promise(definition)
    return definition


def _refuse_broken_promise(definition: Definition) -> None:
    if definition.guarantee == "at_most_once" and definition.retries > 0:
        raise Invalid(
            f"retries is {definition.retries}, and guarantee at_most_once allows one start",
            hint="Give retries 0, or guarantee 'at_least_once'.",
            field="retries",
        )


def _labels(given: JobIn | JobPatch) -> dict[str, Any]:
    if isinstance(given.name, str) and not given.name.strip():
        raise Invalid("name is empty", hint="Give the job a name that people know.", field="name")
    if isinstance(given.handler_url, str):
        checked_url(given.handler_url, field="handlerUrl")
    plain = {
        "name": given.name,
        **_handler(given),
        "key": given.key,
        "namespace": given.namespace,
        "owner": given.owner,
        "queue": given.queue,
        "tags": UNSET if isinstance(given.tags, UnsetType) else tuple(dict.fromkeys(given.tags)),
    }
    return {name: value for name, value in plain.items() if value is not UNSET}


def _handler(given: JobIn | JobPatch) -> dict[str, Any]:
    """What to call: one takes the place of the other."""
    url, function = _given(given.handler_url), _given(given.handler)
    if url is not None and function is not None:
        raise Invalid(
            "handlerUrl and handler are both given",
            hint="A job calls a URL or a Python function: keep one of them.",
            field="handler",
        )
    if url is None and function is None:
        return {}
    return {"handler_url": url or "", "handler": function or ""}


def _policies(old: Definition, given: JobFields) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "retries": given.retries,
        "priority": given.priority,
        "guarantee": given.guarantee,
        "catch_up": given.catch_up,
        "overlap": given.overlap,
        "paused": given.paused,
    }
    if given.timeout is not UNSET:
        changes["timeout_us"] = _timeout(given.timeout)
    if given.catch_up_window is not UNSET:
        changes["catch_up_window_us"] = parse_duration(given.catch_up_window, field="catchUpWindow")
    if isinstance(given.backoff, BackoffIn):
        changes["backoff"] = _backoff(old.backoff, given.backoff)
    if given.on_failure is None:
        changes["on_failure_url"] = ""
    elif isinstance(given.on_failure, OnFailureIn):
        changes["on_failure_url"] = checked_url(given.on_failure.url, field="onFailure.url")
    return {name: value for name, value in changes.items() if value is not UNSET}


def _timeout(value: object) -> int:
    timeout = parse_duration(value, field="timeout")
    if not 0 < timeout <= TIMEOUT_MAX:
        raise Invalid(
            f"timeout {format_duration(timeout)} is not more than 0 and at most 24 hours",
            hint="Give seconds (30) or an ISO 8601 duration ('PT5M').",
            field="timeout",
        )
    return timeout


def _backoff(old: Backoff, given: BackoffIn) -> Backoff:
    initial = _wait(given.initial, old.initial_us, "backoff.initial")
    # Who asks for a long first wait and says nothing of the longest wants at least that one.
    longest = _wait(given.max, max(old.max_us, initial), "backoff.max")
    if longest < initial:
        raise Invalid(
            f"backoff.max {format_duration(longest)} is less than "
            f"backoff.initial {format_duration(initial)}",
            hint="Raise backoff.max, or lower backoff.initial.",
            field="backoff.max",
        )
    factor = old.factor if isinstance(given.factor, UnsetType) else given.factor
    return Backoff(initial_us=initial, factor=factor, max_us=longest)


def _wait(value: object, otherwise: int, field: str) -> int:
    if value is UNSET:
        return otherwise
    wait = parse_duration(value, field=field)
    if wait > WAIT_MAX:
        raise Invalid(
            f"{field} {format_duration(wait)} is longer than 30 days",
            hint="Use 30 days or less.",
            field=field,
        )
    return wait


def _schedule(labelled: Definition, given: JobFields, now: Instant) -> Schedule:
    """The schedule after the request: the one given, none if taken away, else what there was.

    `labelled` has everything of the request already, but for the schedule.
    """
    named = {wire: _given(getattr(given, name)) for wire, name in _SCHEDULES.items()}
    chosen = [(wire, value) for wire, value in named.items() if value is not None]
    if len(chosen) > 1:
        raise _two(chosen[0][0], chosen[1][0])
    old, settings = labelled.schedule, _cron_settings(labelled, given)
    if chosen:
        schedule = _kept_hash(old, _parsed(*chosen[0], settings, now))
    elif _taken_away(old, given):
        schedule = None
    elif isinstance(old, Cron):
        timezone, dst_gap, dst_overlap, _ = settings
        schedule = replace(old, timezone=timezone, dst_gap=dst_gap, dst_overlap=dst_overlap)
    else:
        schedule = old
    if not isinstance(schedule, Cron):
        _refuse_rules_without_cron(given)
    return schedule


def _cron_settings(labelled: Definition, given: JobFields) -> _CronSettings:
    old = labelled.schedule
    gap, overlap = (old.dst_gap, old.dst_overlap) if isinstance(old, Cron) else (None, None)
    return _CronSettings(
        timezone=labelled.timezone,
        dst_gap=gap if isinstance(given.dst_gap, UnsetType) else given.dst_gap,
        dst_overlap=overlap if isinstance(given.dst_overlap, UnsetType) else given.dst_overlap,
        seed=f"{labelled.namespace}/{labelled.key or labelled.name}",
    )


def _kept_hash(old: Schedule, new: Schedule) -> Schedule:
    """While an expression stays, so do the values of its `H`, even if the job has a new name."""
    if isinstance(old, Cron) and isinstance(new, Cron) and old.expression == new.expression:
        return replace(new, plain=old.plain)
    return new


def _parsed(field: str, value: Any, settings: _CronSettings, now: Instant) -> Schedule:
    match field:
        case "every":
            return Every(parse_duration(value, field=field))
        case "runAt":
            return Once(parse_instant(value, field=field))
        case "delay":
            return Once(_delayed(value, now))
        case "schedule":
            return _schedule_text(value, settings)
    return _cron(value, settings)


def _cron(text: str, settings: _CronSettings) -> Cron | Every:
    timezone, dst_gap, dst_overlap, seed = settings
    return read_schedule(text, timezone, dst_gap=dst_gap, dst_overlap=dst_overlap, seed=seed)


def _schedule_text(text: str, settings: _CronSettings) -> Cron | Every:
    if len(text.split()) not in _CRON_FIELDS and not text.startswith("@"):
        shown = text if len(text) <= 60 else text[:60] + "…"
        raise NotAvailableYet(
            f"schedule {shown!r} is not available yet",
            hint="Give a cron expression such as '0 9 * * MON-FRI', or use every, runAt or delay.",
            field="schedule",
        )
    try:
        return _cron(text, settings)
    except Invalid as error:
        if error.field == "cronExpr":
            error.field = "schedule"
        raise


def _refuse_rules_without_cron(given: JobFields) -> None:
    for field, value in (("dstGap", given.dst_gap), ("dstOverlap", given.dst_overlap)):
        if _given(value) is not None:
            raise Invalid(
                f"{field} is a rule for cronExpr, and the job has none",
                hint=f"Leave {field} out, or give the job a cronExpr.",
                field=field,
            )


def _delayed(value: object, now: Instant) -> Instant:
    at = now + parse_duration(value, field="delay")
    if at > INSTANT_MAX:
        raise Invalid("delay ends after 2199", hint="Use a shorter delay.", field="delay")
    return at


def _taken_away(schedule: Schedule, given: JobFields) -> bool:
    """Whether the field that shows the present schedule is set to null."""
    match schedule:
        case Cron():
            return given.cron_expr is None or given.schedule is None
        case Every():
            return given.every is None
        case Once():
            return given.run_at is None or given.delay is None
    return False


def _refuse_without_instant(definition: Definition, given: JobFields, now: Instant) -> None:
    try:
        refuse_without_instant(definition, now=now)
    except Invalid as error:
        if isinstance(definition.schedule, Every):
            error.field = "every"
        elif isinstance(given.schedule, str):
            error.field = "schedule"
        raise


def _two(first: str, second: str) -> Invalid:
    return Invalid(
        f"{first} and {second} are two schedules at once",
        hint=f"Keep one of {first} and {second}.",
        field=second,
    )


def _given(value: Any) -> Any:
    return None if value is UNSET else value
