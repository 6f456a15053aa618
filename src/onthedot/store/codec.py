"""Definitions and rules as text, the same in every store. Canonical: what is equal has equal
text.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from operator import ne
from types import MappingProxyType
from typing import Any

import msgspec

from onthedot.core.model import (
    Backoff,
    CatchUpLimits,
    Definition,
    ExecutionSpec,
    Guarantee,
    NamedCalendar,
    Once,
    Rule,
    Schedule,
)
from onthedot.core.schedules import Allowed, FixedDelay, Within, from_spec, to_spec
from onthedot.core.schedules import Schedule as Recurring
from onthedot.core.schedules.spec import (
    allowed_from,
    allowed_spec,
    calendar_from,
    calendar_spec,
)
from onthedot.core.shifting import Shift
from onthedot.core.states import Status

_UNSAID: Mapping[str, Any] = MappingProxyType(
    {name: value for name, value in Definition._field_defaults.items() if name != "payload"}
)
"""What the text of a definition leaves out. Part of the format: when a default of a definition
changes, its old value has to stay here.
"""

_ALWAYS_SAID = object()
_unsaid_values = tuple(_UNSAID.get(field, _ALWAYS_SAID) for field in Definition._fields)

STATUS_CODES = {
    Status.SUCCEEDED: 1,
    Status.FAILED: 2,
    Status.CANCELLED: 3,
    Status.SKIPPED: 4,
    Status.MISSED: 5,
    Status.LOST: 6,
}
RETRIED = 7
"""An attempt that failed and was followed by another: history, but not the fate of the run."""

STATUS_OF_CODE = {code: status for status, code in STATUS_CODES.items()} | {RETRIED: Status.FAILED}


def definition_text(definition: Definition) -> str:
    """A definition without its payload, which has a column of its own."""
    fields = zip(Definition._fields, definition, strict=False)
    said: dict[str, Any] = dict(compress(fields, map(ne, definition, _unsaid_values)))
    del said["payload"]
    if definition.schedule is not None:
        said["schedule"] = _schedule_spec(definition.schedule)
    if definition.calendar is not None:
        name, version, calendar = definition.calendar
        said["calendar"] = {"name": name, "version": version, **calendar_spec(calendar)}
    return _text(said)


def definition_from(text: str, payload: str) -> Definition:
    values: dict[str, Any] = {**_UNSAID, **msgspec.json.decode(text)}
    values["schedule"] = _schedule_from(values["schedule"])
    values["backoff"] = Backoff(*values["backoff"])
    values["tags"] = tuple(values["tags"])
    values["shift"] = Shift(*values["shift"])
    values["catching"] = CatchUpLimits(*values["catching"])
    if values["calendar"] is not None:
        spec = values["calendar"]
        values["calendar"] = NamedCalendar(spec["name"], spec["version"], calendar_from(spec))
    return Definition(payload=payload, **values)


class _Handling(msgspec.Struct):
    """The part of a definition's text that a worker needs; the rest is passed over unread."""

    handler_url: str = ""
    handler: str = ""
    timeout_us: int = _UNSAID["timeout_us"]
    retries: int = _UNSAID["retries"]
    backoff: Backoff = _UNSAID["backoff"]
    guarantee: Guarantee = _UNSAID["guarantee"]


_HANDLING = msgspec.json.Decoder(_Handling)


def execution_spec_from(text: str, payload: str) -> ExecutionSpec:
    read = _HANDLING.decode(text)
    return ExecutionSpec(
        *(read.handler_url, read.handler, payload, read.timeout_us, read.retries),
        *(read.backoff, read.guarantee),
    )


def rule_text(rule: Rule) -> str:
    schedule, end, allowed = rule.schedule, None, None
    if isinstance(schedule, Within):
        end, schedule = schedule.end, schedule.base
    if isinstance(schedule, Allowed):
        allowed, schedule = schedule, schedule.base
    said: dict[str, Any] = {
        "schedule": to_spec(schedule),
        "lane": rule.lane,
        "priority": rule.priority,
        "catch_up": rule.catch_up,
        "catch_up_window_us": rule.catch_up_window_us,
    }
    if rule.traits:
        said["traits"] = rule.traits
    if allowed is not None:
        said["calendar"] = allowed_spec(allowed)
    if end is not None:
        said["end"] = end
    if rule.shift is not None:
        said["shift"] = rule.shift
    if rule.catching != _UNSAID["catching"]:
        said["catching"] = rule.catching
    return _text(said)


def rule_from(text: str) -> Rule:
    values: dict[str, Any] = msgspec.json.decode(text)
    base, calendar = from_spec(values["schedule"]), values.pop("calendar", None)
    schedule = base if calendar is None else allowed_from(base, calendar)
    end = values.pop("end", None)
    values.setdefault("traits", 0)
    values["schedule"] = schedule if end is None else Within(schedule, end=end)
    values["shift"] = Shift(*values["shift"]) if "shift" in values else None
    values["catching"] = CatchUpLimits(*values.get("catching", _UNSAID["catching"]))
    return Rule(**values)


def _schedule_spec(schedule: Recurring | Once | FixedDelay) -> dict[str, str | int]:
    match schedule:
        case Once():
            return {"at": schedule.at}
        case FixedDelay():
            return {"fixed_delay": schedule.delay_us}
    return to_spec(schedule)


def _schedule_from(spec: dict[str, Any] | None) -> Schedule:
    if spec is None:
        return None
    if "fixed_delay" in spec:
        return FixedDelay(spec["fixed_delay"])
    return Once(spec["at"]) if "at" in spec else from_spec(spec)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
