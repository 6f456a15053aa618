"""What the API is given to work with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from onthedot.api.hosts import AllowedHosts
from onthedot.clock import Clock
from onthedot.core.instants import Instant
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
    """`wake_scheduler` and `wake_worker` are hints that something new is in the store.
    `silent_until`: until when nothing is fired, because the clock was set back. `hosts` None:
    callers are in this process.
    """

    store: Store
    clock: Clock
    installation: str
    version: str
    api_key: str | None
    wake_scheduler: Callable[[], None]
    wake_worker: Callable[[], None]
    health: Callable[[], Health]
    silent_until: Callable[[], Instant | None] = lambda: None
    tally: Tally = field(default_factory=Tally)
    hosts: AllowedHosts | None = None
    reading: Reading = field(default_factory=Reading)
