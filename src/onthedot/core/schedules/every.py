"""Intervals: the anchor, and then every so often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onthedot.core.durations import format_duration
from onthedot.core.instants import INSTANT_MAX, SECOND, Instant
from onthedot.errors import InvalidDuration

EVERY_MIN: Final = SECOND


@dataclass(frozen=True, slots=True)
class Every:
    """Due at `anchor + k * every_us` for k = 1, 2, ...: elapsed time, whatever the clocks do."""

    every_us: int

    def __post_init__(self) -> None:
        if self.every_us < EVERY_MIN:
            raise InvalidDuration(
                f"every {format_duration(self.every_us)} is shorter than 1 s",
                hint="Use 1 second or more.",
                field="every",
            )

    def after(self, instant: Instant, *, anchor: Instant) -> Instant | None:
        """The first due instant strictly after; None when that is beyond 2199."""
        turns = max(1, (instant - anchor) // self.every_us + 1)
        due = anchor + turns * self.every_us
        return due if due <= INSTANT_MAX else None
