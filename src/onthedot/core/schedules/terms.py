"""What an expression is read with, and how one that is not understood is refused."""

from __future__ import annotations

from typing import Final, NamedTuple

from onthedot.core.instants import Instant
from onthedot.core.schedules.wall import DstGap, DstOverlap
from onthedot.errors import InvalidSchedule

LENGTH_MAX: Final = 256


class Terms(NamedTuple):
    """`now`: what "tomorrow" and an interval without a start are counted from. `seed`: what an `H`
    in a cron expression is derived from; it should stay the same for the life of a job.
    """

    now: Instant
    timezone: str = "UTC"
    dst_gap: DstGap | None = None
    dst_overlap: DstOverlap | None = None
    seed: str | None = None


def refusal(text: str, position: int, why: str, hint: str) -> InvalidSchedule:
    """`position`: the character at fault, counted from 1."""
    error = InvalidSchedule(f"schedule {text!r} {why}", hint=hint, field="schedule")
    error.position = position
    return error
