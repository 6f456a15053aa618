"""What this process remembers of its database, to notice when that has gone back in time.

Every heartbeat takes a sighting. Whatever a node writes as the owner of runs carries a proof: that
the server is the one that was last looked at, and that the node's row is not older than it was. So
between a rollback and the heartbeat that notices it nothing is done from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onthedot.core.sightings import (
    DatabaseChange,
    Pulse,
    Sighting,
    compare,
    went_back,
)
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import store_went_back

if TYPE_CHECKING:
    from onthedot.store.postgres.database import Connection

TABLES = ("job", "rule", "node")


class DatabaseMemory:
    """`lost`: why the database is known to have gone back, until it was given a new epoch.
    `on_moved` are told when what they remember may not hold any more.
    """

    def __init__(self) -> None:
        self.seen: Sighting | None = None
        self.lost: str | None = None
        self.on_moved: list[Callable[[], None]] = []

    def proof(self, node: int) -> list[int] | None:
        """What the database has to know for the node to write; None if it was never seen here."""
        if self.seen is None or node not in self.seen.pulses:
            return None
        pulse = self.seen.pulses[node]
        return [pulse.joined_at, pulse.beat_at, self.seen.server]

    @property
    def server(self) -> int | None:
        return None if self.seen is None else self.seen.server

    @property
    def epoch(self) -> int:
        return 0 if self.seen is None else self.seen.epoch

    def check(self, seen: Sighting | None, now: Sighting) -> DatabaseChange:
        """Hold the database against what was `seen` before it was asked: answers cross each other.
        Raises StoreWentBack if it is older.
        """
        if self.lost is None and seen is not None:
            self.lost = went_back(seen, now)
        self.refuse_lost()
        return DatabaseChange.SAME if seen is None else compare(seen, now)

    def refuse_lost(self) -> None:
        """Nothing is read or written until there is a new epoch."""
        if self.lost is not None:
            raise store_went_back(self.lost)

    def keep(self, now: Sighting, verdict: DatabaseChange = DatabaseChange.SAME) -> None:
        """Remember it, once what was written with it has been committed."""
        self.seen = now if self.seen is None else now.since(self.seen)
        if verdict is not DatabaseChange.SAME:
            self._forget()

    def begin_anew(self, now: Sighting) -> None:
        """A new epoch has begun: nothing from before it counts."""
        self.seen, self.lost = now, None
        self._forget()

    def last(self, table: str) -> int:
        return 0 if self.seen is None else self.seen.numbers.get(table, 0)

    def given(self, table: str, numbers: Sequence[int], *, after: int, server: int) -> None:
        """Numbers that a server has just given out, when `after` was the last that was known."""
        if self.seen is None:
            return
        if min(numbers) <= after:
            self.lost = self.lost or f"it gives out the number {min(numbers)} in {table} again"
        self.refuse_lost()
        if server != self.seen.server:
            self._forget()
        highest = {**self.seen.numbers, table: max(self.last(table), *numbers)}
        self.seen = replace(self.seen, numbers=highest)

    def _forget(self) -> None:
        for forget in self.on_moved:
            forget()


async def next_numbers(db: Connection, memory: DatabaseMemory, count: int) -> list[int]:
    """So many numbers for jobs, which nobody ever had."""
    after = memory.last("job")
    numbers, server = await db.fetchrow(SQL["jobs.next_numbers"], count)
    memory.given("job", numbers, after=after, server=server)
    return list(numbers)


def sighting_of(row: Sequence[Any], nodes: Sequence[Sequence[Any]]) -> Sighting:
    server, timeline, position, epoch, pruned_before, *numbers = row
    return Sighting(
        server=server,
        timeline=timeline,
        position=position,
        epoch=epoch,
        pruned_before=pruned_before,
        numbers=dict(zip(TABLES, numbers, strict=True)),
        pulses={number: Pulse(joined_at, beat_at) for number, joined_at, beat_at in nodes},
    )
