"""Time, injected. Nowhere else does onthedot read a clock."""

from __future__ import annotations

import time
from typing import Protocol

from onthedot.core.instants import Instant


class Clock(Protocol):
    """The time of the database, as well as this node knows it, and a stopwatch for durations."""

    def now(self) -> Instant:
        """The instant, in microseconds since the epoch. It may jump when somebody sets the
        clock.
        """
        ...

    def monotonic(self) -> float:
        """Seconds on a stopwatch that never jumps and goes on while the machine is suspended."""
        ...


class SystemClock:
    """The machine's own clock: right for SQLite, whose database lives on this machine."""

    def now(self) -> Instant:
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        # CLOCK_BOOTTIME also counts suspension: a laptop that slept must find its lease old.
        return time.clock_gettime(_STOPWATCH) if _STOPWATCH is not None else time.monotonic()


_STOPWATCH: int | None = getattr(time, "CLOCK_BOOTTIME", None)
