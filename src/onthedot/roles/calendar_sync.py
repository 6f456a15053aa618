"""The follower: lets jobs take over calendars that were changed, whoever changed them."""

from __future__ import annotations

from collections.abc import Callable

from onthedot.clock import Clock
from onthedot.observe.events import log
from onthedot.store.contract import Store
from onthedot.usecases.calendars import take_over

IDLE_S = 5.0


class CalendarSync:
    """Who edits a calendar begins with it; what that leaves, or dies over, is done here."""

    def __init__(self, store: Store, clock: Clock, on_change: Callable[[], None]) -> None:
        self._store = store
        self._clock = clock
        self._on_change = on_change

    async def step(self) -> float:
        made, more = await take_over(self._store, now=self._clock.now())
        if made:
            log("calendar.followed", jobs=made)
            self._on_change()
        return 0.0 if more else IDLE_S
