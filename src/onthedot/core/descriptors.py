"""How many file descriptors the engine keeps for itself, so that no client can take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BASE: Final = 80
"""The database file, logs, pipes, modules that are loaded late, connections that are closing."""

PER_RUNNER: Final = 6
CLIENTS_MIN: Final = 16
"""With fewer the API would be of little use: health checks, metrics and some callers."""

RAISE_TO: Final = 65_536
"""A limit that may be raised is raised so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a node has open at its busiest: `slots` callbacks, `pool` connections to the database,
    `runners` processes. `clients`: how many it would like to serve.
    """

    slots: int = 0
    pool: int = 0
    runners: int = 0
    clients: int = 0

    @property
    def reserve(self) -> int:
        """A quarter more than slots: connections are kept for a moment after a callback."""
        return BASE + self.slots + self.slots // 4 + self.pool + PER_RUNNER * self.runners

    @property
    def least(self) -> int:
        return self.reserve + min(CLIENTS_MIN, self.clients)


def raised(soft: int, hard: int) -> int:
    """The limit to ask for. A limit that is already higher stays."""
    return max(soft, min(hard, RAISE_TO))


def clients_allowed(needs: Needs, limit: int) -> int | None:
    """How many clients may be connected; None: the limit is too low even for the engine."""
    return None if limit < needs.least else min(needs.clients, limit - needs.reserve)
