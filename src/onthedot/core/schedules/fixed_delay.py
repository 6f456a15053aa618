"""A fixed delay: so long after the last run has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onthedot.core.durations import format_duration
from onthedot.core.instants import SECOND
from onthedot.errors import InvalidDuration

FIXED_DELAY_MIN: Final = SECOND


@dataclass(frozen=True, slots=True)
class FixedDelay:
    """Due `delay_us` after the last run has ended, whatever came of it. No instant but the next is
    known: it has no `after` as the other schedules have.
    """

    delay_us: int

    def __post_init__(self) -> None:
        if self.delay_us < FIXED_DELAY_MIN:
            raise InvalidDuration(
                f"a fixed delay of {format_duration(self.delay_us)} is shorter than 1 s",
                hint="Use 1 second or more.",
                field="fixedDelay",
            )
