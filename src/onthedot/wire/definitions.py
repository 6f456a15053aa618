"""From what a user says about a job to its definition: everything is checked here, at the door."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, UnsetType

from onthedot.core.durations import format_duration
from onthedot.core.fields import FIELDS
from onthedot.core.instants import Instant, parse_instant
from onthedot.core.model import Backoff, Definition, NamedCalendar
from onthedot.errors import Invalid
from onthedot.wire.converting import duration_of
from onthedot.wire.reading import payload_text
from onthedot.wire.runs import TriggerManyIn
from onthedot.wire.schedules import delayed, given_or_none, scheduled, two_schedules
from onthedot.wire.shapes import BackoffIn, JobIn, JobPatch, OnFailureIn, TriggerIn
from onthedot.wire.urls import checked_url

_BACKOFF: Final = {
    member.name: member for each in FIELDS if each.name == "backoff" for member in each.members
}


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
    if isinstance(given.name, str) and not given.name.strip():
        raise Invalid("name is empty", hint="Give the job a name that people know.", field="name")
    changes = _handler(given)
    if isinstance(given.backoff, BackoffIn):
        changes["backoff"] = _backoff(old.backoff, given.backoff)
    if given.on_failure is None:
        changes["on_failure_url"] = ""
    elif isinstance(given.on_failure, OnFailureIn):
        changes["on_failure_url"] = checked_url(given.on_failure.url, field="onFailure.url")
    called = old._replace(**changes) if changes else old
    definition = scheduled(called, given, now=now, calendar=calendar)
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


def _handler(given: JobIn | JobPatch) -> dict[str, Any]:
    """What to call: one takes the place of the other."""
    url, function = given_or_none(given.handler_url), given_or_none(given.handler)
    if url is not None:
        checked_url(url, field="handlerUrl")
    if url is not None and function is not None:
        raise Invalid(
            "handlerUrl and handler are both given",
            hint="A job calls a URL or a Python function: keep one of them.",
            field="handler",
        )
    if url is None and function is None:
        return {}
    return {"handler_url": url or "", "handler": function or ""}


def _backoff(old: Backoff, given: BackoffIn) -> Backoff:
    initial = _wait("initial", given.initial, old.initial_us)
    # Who asks for a long first wait and says nothing of the longest wants at least that one.
    longest = _wait("max", given.max, max(old.max_us, initial))
    if longest < initial:
        raise Invalid(
            f"backoff.max {format_duration(longest)} is less than "
            f"backoff.initial {format_duration(initial)}",
            hint="Raise backoff.max, or lower backoff.initial.",
            field="backoff.max",
        )
    factor = old.factor if isinstance(given.factor, UnsetType) else given.factor
    return Backoff(initial_us=initial, factor=factor, max_us=longest)


def _wait(name: str, value: object, otherwise: int) -> int:
    return otherwise if value is UNSET else duration_of(value, _BACKOFF[name], f"backoff.{name}")
