"""What every store promises about its upkeep."""

from __future__ import annotations

from typing import Protocol

from onthedot.core.instants import Instant
from onthedot.core.sightings import Gap
from onthedot.store.values import Costs


class UpkeepVerbs(Protocol):
    """The janitor's verbs, and those of starting and stopping."""

    async def prune(self, *, before: Instant, keys_before: Instant, limit: int) -> int:
        """Forget up to `limit` old things: history finished, versions ended and nodes dead before
        `before`, logs and checkpoints of runs that are over, idempotency keys used before
        `keys_before`, one-off jobs whose run is over and forgotten, notices given up. Dead letters
        stay, and the one-off jobs that have some. Returns how many went; call until 0."""
        ...

    async def prepare(self, *, now: Instant) -> None:
        """Make ready for the coming days, so that no verb has to wait for it."""
        ...

    async def installation(self) -> str:
        """The random id of this installation, part of every public run id."""
        ...

    async def restored(self, *, now: Instant, chance: int) -> int:
        """A backup was restored while no node was running: begin a new epoch, so that no number
        given out since the backup was made is given out again, and declare every node dead.
        `chance`: 31 random bits. Returns the epoch."""
        ...

    async def gaps(self) -> list[Gap]:
        """The times from which nothing is known, since the database went back; oldest first."""
        ...

    async def renew_installation(self, installation: str) -> None:
        """This database is a copy: it gets an id of its own."""
        ...

    async def costs(self) -> Costs | None:
        """What was written so far; None if the store does not count."""
        ...

    async def close(self) -> None:
        """Finish what was asked for, then let go of every resource."""
        ...
