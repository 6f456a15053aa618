"""What the API is given to work with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from onthedot.clock import Clock
from onthedot.observe.health import Health
from onthedot.observe.metrics import Gauges
from onthedot.observe.tally import Tally
from onthedot.store.contract import Store


@dataclass
class Reading:
    """The last gauges for /metrics, and when they were read, by the stopwatch."""

    gauges: Gauges | None = None
    read_at: float = float("-inf")
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True)
class Services:
    """`wake_scheduler` and `wake_worker` are hints that something new is in the store."""

    store: Store
    clock: Clock
    installation: str
    version: str
    api_key: str | None
    wake_scheduler: Callable[[], None]
    wake_worker: Callable[[], None]
    health: Callable[[], Health]
    tally: Tally = field(default_factory=Tally)
    reading: Reading = field(default_factory=Reading)
