"""Schedules as plain JSON values, for the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onthedot.core.schedules.allowed import Allowed
from onthedot.core.schedules.calendar import Calendar, shared_calendar
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.repeat import Repeat, Step
from onthedot.core.schedules.span import Schedule

_CRON_EXTRAS: Final = ("dst_gap", "dst_overlap", "plain")
_REPEAT_EXTRAS: Final = ("dst_gap", "dst_overlap", "times", "after_start")


def to_spec(schedule: Schedule) -> dict[str, str | int]:
    """Canonical: equal schedules have equal specs. What is not said keeps its first meaning."""
    if isinstance(schedule, Every):
        return {"every": schedule.every_us}
    if isinstance(schedule, Repeat):
        return _repeat_spec(schedule)
    spec: dict[str, str | int] = {"cron": schedule.expression, "timezone": schedule.timezone}
    extras = {name: getattr(schedule, name) for name in _CRON_EXTRAS}
    return spec | {name: value for name, value in extras.items() if value is not None}


def from_spec(spec: Mapping[str, str | int]) -> Schedule:
    """The schedule of a spec that `to_spec` made; it was checked when it came in."""
    if "every" in spec:
        return Every(int(spec["every"]))
    if "start" in spec:
        return _repeat_from(spec)
    extras: dict[str, Any] = {name: spec[name] for name in _CRON_EXTRAS if name in spec}
    return Cron(_as_read(str(spec["cron"])), str(spec["timezone"]), **extras)


def calendar_spec(calendar: Calendar) -> dict[str, Any]:
    return {"exclude": calendar.exclude, "require": calendar.require}


def calendar_from(spec: Mapping[str, Any]) -> Calendar:
    return shared_calendar(tuple(spec["exclude"]), tuple(spec["require"]))


def allowed_spec(allowed: Allowed) -> dict[str, Any]:
    """What stands beside the spec of its schedule."""
    said = calendar_spec(allowed.calendar)
    return {**said, "roll": allowed.roll, "timezone": allowed.timezone}


def allowed_from(base: Schedule, spec: Mapping[str, Any]) -> Allowed:
    """The schedule `base` under what `allowed_spec` said."""
    return Allowed(base, calendar_from(spec), spec["roll"], spec["timezone"])


def _as_read(expression: str) -> str:
    # Specs of before cron was our own may have a small l or w, as in '0 0 lw * *'. Names of days
    # and months, which may be in lowercase still, mean the same in capitals.
    return expression.upper() if "l" in expression or "w" in expression else expression


def _repeat_spec(repeat: Repeat) -> dict[str, str | int]:
    spec: dict[str, str | int] = {"start": repeat.start, "timezone": repeat.timezone}
    said = {**repeat.step._asdict(), **{name: getattr(repeat, name) for name in _REPEAT_EXTRAS}}
    return spec | {name: value for name, value in said.items() if value}


def _repeat_from(spec: Mapping[str, str | int]) -> Repeat:
    step: dict[str, Any] = {name: spec[name] for name in Step._fields if name in spec}
    extras: dict[str, Any] = {name: spec[name] for name in _REPEAT_EXTRAS if name in spec}
    return Repeat(int(spec["start"]), Step(**step), str(spec["timezone"]), **extras)
