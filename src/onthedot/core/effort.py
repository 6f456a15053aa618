"""Work counted in steps: a step is about what it takes to look at one instant of a schedule, some
millionths of a second. Steps are the same on every machine and in every run, as time is not.

Whoever lists many instants stops, or lets others have a turn, after so many steps. They are counted
beside the work instead of being handed from call to call: most schedules are asked for one instant,
by the thousand, and never come near a bound.
"""

from __future__ import annotations

from threading import local
from typing import Final

SLICE: Final = 500
"""Steps at a stretch, about two milliseconds; then others have a turn."""

DECISION_MAX: Final = 1_500
"""Steps of what is decided at one go, under a lock: several milliseconds."""


class _Odometer(local):
    steps = 0


_ODOMETER: Final = _Odometer()


def charge(steps: int) -> None:
    """Count work that was done."""
    _ODOMETER.steps += steps


def spent() -> int:
    """The steps of this thread so far. Only what is added to them means anything."""
    return _ODOMETER.steps
