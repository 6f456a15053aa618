"""From what a user says about a job to its definition: everything is checked here, at the door."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, UnsetType

from onthedot.core.durations import format_duration, parse_duration
from onthedot.core.instants import DAY, Instant, parse_instant
from onthedot.core.model import Backoff, Definition, NamedCalendar
from onthedot.errors import Invalid
from onthedot.wire.jobs import BackoffIn, JobFields, JobIn, JobPatch, OnFailureIn
from onthedot.wire.reading import payload_text
from onthedot.wire.runs import TriggerIn, TriggerManyIn
from onthedot.wire.schedules import delayed, given_or_none, scheduled, two_schedules
from onthedot.wire.urls import checked_url
from onthedot.wire.windows import catching_of

TIMEOUT_MAX: Final = DAY
WAIT_MAX: Final = 30 * DAY


def definition_of(job: JobIn, *, now: Instant, calendar: NamedCalendar | None = None) -> Definition:
    """The definition of a new job, or a refusal that names the field. `calendar` is the one that it
    names, if there is one of this name.
    """
    if given_or_none(job.handler_url) is None and given_or_none(job.handler) is None:
        raise Invalid(
            "handlerUrl is missing",
            hint="Give the URL to call, or the name of a Python function as handler.",
            field="handlerUrl",
        )
    blank = Definition(name=job.name)
    if job.guarantee == "at_most_once":
        blank = blank._replace(retries=0)
    return _with(blank, job, now, calendar)


def patched(
    definition: Definition,
    patch: JobPatch,
    *,
    now: Instant,
    calendar: NamedCalendar | None = None,
) -> Definition:
    """The definition after an edit: what the patch does not name stays."""
    return _with(definition, patch, now, calendar)


def trigger_due(trigger: TriggerIn, *, now: Instant) -> Instant:
    """When a triggered run is due. An instant that has passed is due at once."""
    run_at, delay = given_or_none(trigger.run_at), given_or_none(trigger.delay)
    if run_at is not None and delay is not None:
        raise two_schedules("runAt", "delay")
    if run_at is not None:
        return parse_instant(run_at, field="runAt")
    return now if delay is None else delayed(delay, now)


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


def _with(
    old: Definition, given: JobIn | JobPatch, now: Instant, calendar: NamedCalendar | None
) -> Definition:
    changes = {**_labels(given), **_policies(old, given)}
    if given.payload is not UNSET:
        changes["payload"] = payload_text(given.payload)
    definition = scheduled(old._replace(**changes), given, now=now, calendar=calendar)
    _refuse_broken_promise(definition)
    return definition


def _refuse_broken_promise(definition: Definition) -> None:
    if definition.guarantee == "at_most_once" and definition.retries > 0:
        raise Invalid(
            f"retries is {definition.retries}, and guarantee at_most_once allows one start",
            hint="Give retries 0, or guarantee 'at_least_once'.",
            field="retries",
        )
    if definition.guarantee == "exactly_once" and not definition.handler:
        raise Invalid(
            "guarantee exactly_once is for Python functions, and the job calls a URL",
            hint="Use 'at_least_once': the receiver can tell repeats by the Idempotency-Key.",
            field="guarantee",
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
    url, function = given_or_none(given.handler_url), given_or_none(given.handler)
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
    changes["catching"] = catching_of(old.catching, given)
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
