"""A clock that stands still until a test moves it."""

from __future__ import annotations

from onthedot.core.instants import SECOND, Instant, parse_instant

START: Instant = parse_instant("2026-03-01T00:00:00Z", field="START")


class ManualClock:
    """The store's time in a test: starts at `START` and goes only where it is told to go."""

    def __init__(self, start: Instant = START) -> None:
        self._start = self._now = start

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> float:
        return (self._now - self._start) / SECOND

    def advance(self, us: int) -> Instant:
        assert us >= 0, us
        self._now += us
        return self._now

    def set_back(self, us: int) -> Instant:
        """Somebody corrects the machine's clock."""
        assert us >= 0, us
        self._now -= us
        return self._now
