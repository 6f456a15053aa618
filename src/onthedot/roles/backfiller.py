"""The backfiller: keeps open backfills going, each with no more runs at a time than it may have."""

from __future__ import annotations

from collections.abc import Callable

from onthedot.clock import Clock
from onthedot.observe.events import log
from onthedot.store.contract import Store

STEP_S = 1.0
IDLE_S = 5.0
BUSY_S = 60.0
"""So long after it has made runs it looks every second; else every five, for new backfills."""

OPEN_MAX = 100
"""Backfills looked after in one step, the oldest first."""


class Backfiller:
    def __init__(self, store: Store, clock: Clock, on_runs: Callable[[], None]) -> None:
        self._store = store
        self._clock = clock
        self._on_runs = on_runs
        self._busy_until = float("-inf")

    async def step(self) -> float:
        made = await self._store.backfills.advance(limit=OPEN_MAX, now=self._clock.now())
        if made:
            log("backfill.made", runs=made)
            self._on_runs()
            self._busy_until = self._clock.monotonic() + BUSY_S
        return STEP_S if self._clock.monotonic() < self._busy_until else IDLE_S
