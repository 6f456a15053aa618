"""Schedules as plain JSON values, for the store, and as a sentence, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onthedot.core.durations import format_duration
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.span import Schedule

_UNITS: Final = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"))


_CRON_EXTRAS: Final = ("dst_gap", "dst_overlap", "plain")


def to_spec(schedule: Schedule) -> dict[str, str | int]:
    """Canonical: equal schedules have equal specs. What is not said keeps its first meaning."""
    if isinstance(schedule, Every):
        return {"every": schedule.every_us}
    spec: dict[str, str | int] = {"cron": schedule.expression, "timezone": schedule.timezone}
    extras = {name: getattr(schedule, name) for name in _CRON_EXTRAS}
    return spec | {name: value for name, value in extras.items() if value is not None}


def from_spec(spec: Mapping[str, str | int]) -> Schedule:
    """The schedule of a spec that `to_spec` made; it was checked when it came in."""
    if "every" in spec:
        return Every(int(spec["every"]))
    extras: dict[str, Any] = {name: spec[name] for name in _CRON_EXTRAS if name in spec}
    return Cron(_as_read(str(spec["cron"])), str(spec["timezone"]), **extras)


def _as_read(expression: str) -> str:
    # Specs of before cron was our own may have a small l or w, as in '0 0 lw * *'. Names of days
    # and months, which may be in small letters still, mean the same in capitals.
    return expression.upper() if "l" in expression or "w" in expression else expression


def explain(schedule: Schedule) -> str:
    """One sentence in English: 'every 15 minutes', 'At 02:30 every day (Europe/Berlin)'."""
    if isinstance(schedule, Cron):
        return schedule.explain()
    for size, name in _UNITS:
        if schedule.every_us % size == 0:
            amount = schedule.every_us // size
            return f"every {name}" if amount == 1 else f"every {amount} {name}s"
    return f"every {format_duration(schedule.every_us)}"
