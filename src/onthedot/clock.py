"""Time, injected. Nowhere else does onthedot read a clock."""

from __future__ import annotations

import math
import time
from collections import deque
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


def thread_seconds() -> float:
    """How long the processor has worked for this thread: no stall, and no neighbour, adds to it."""
    return time.thread_time()


class DatabaseClock:
    """The clock of a database on another machine, bounded from below.

    When an answer arrives, the database's time is at least the stamp in it: how long the answer
    was under way is unknown. So the largest recent bound is used, aged by the stopwatch; an error
    makes a run late, never early. A stopwatch may run fast, so it is believed a little less than
    it says. The wall clock of this machine plays no part.
    """

    def __init__(self, own: Clock) -> None:
        self._own = own
        self._bounds: deque[tuple[float, int]] = deque(maxlen=BOUNDS_KEPT)
        self._ahead = 0
        self._observed = 0.0

    def observe(self, stamp: Instant) -> None:
        """An answer with this stamp has just arrived."""
        arrived = self._own.monotonic()
        self._bounds.append((arrived, stamp - _microseconds(arrived)))
        self._ahead = max(bound - _drift(arrived - then) for then, bound in self._bounds)
        self._observed = arrived

    def now(self) -> Instant:
        assert self._bounds, "the database was asked for its time before anything else"
        stopwatch = self._own.monotonic()
        return _microseconds(stopwatch) + self._ahead - _drift(stopwatch - self._observed)

    def monotonic(self) -> float:
        return self._own.monotonic()

    def offset_us(self) -> int:
        """How far the database's clock is ahead of this machine's."""
        return self.now() - self._own.now()


BOUNDS_KEPT = 20
DRIFT = 200e-6
"""By so much a stopwatch may run faster than the database's clock: quartz is off by up to 100
parts in a million, on either side. Between two heartbeats it costs half a millisecond."""


def _drift(seconds: float) -> int:
    return math.ceil(seconds * DRIFT * 1_000_000)


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)


_STOPWATCH: int | None = getattr(time, "CLOCK_BOOTTIME", None)
