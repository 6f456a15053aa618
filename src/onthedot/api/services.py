"""What the API is given to work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from onthedot.clock import Clock
from onthedot.observe.health import Health
from onthedot.store.contract import Store


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


Given = NamedDependency[SkipValidation[Services]]
"""How a route asks for the services."""
