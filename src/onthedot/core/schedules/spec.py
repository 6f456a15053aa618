"""Schedules as plain JSON values, for the store, and as a sentence, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from onthedot.core.durations import format_duration
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.span import Schedule

_UNITS: Final = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"))


def to_spec(schedule: Schedule) -> dict[str, str | int]:
    """Canonical: equal schedules have equal specs."""
    if isinstance(schedule, Every):
        return {"every": schedule.every_us}
    return {"cron": schedule.expression, "timezone": schedule.timezone}


def from_spec(spec: Mapping[str, str | int]) -> Schedule:
    """The schedule of a spec that `to_spec` made; it was checked when it came in."""
    if "every" in spec:
        return Every(int(spec["every"]))
    return Cron(str(spec["cron"]), str(spec["timezone"]))


def explain(schedule: Schedule) -> str:
    """One sentence in English: 'every 15 minutes', 'At 02:30 every day (Europe/Berlin)'."""
    if isinstance(schedule, Cron):
        return schedule.explain()
    for size, name in _UNITS:
        if schedule.every_us % size == 0:
            amount = schedule.every_us // size
            return f"every {name}" if amount == 1 else f"every {amount} {name}s"
    return f"every {format_duration(schedule.every_us)}"
