"""Nodes on PostgreSQL: heartbeats, burials, and who shares the shards."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.core.instants import Instant
from onthedot.store.postgres.database import Connection, Database
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import node_dead
from onthedot.store.rows import beat_of, node_of
from onthedot.store.values import IDLE, Beat, Load, NodeFacts, NodeView


class Nodes:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def join(self, facts: NodeFacts, *, now: Instant) -> int:
        return int(
            await self._database.value(
                SQL["nodes.join"],
                *(facts.boot_id, facts.host, facts.pid, facts.process, ",".join(facts.roles)),
                *(facts.slots, facts.version, ",".join(facts.queues)),
                *(",".join(facts.functions), facts.runners, now),
            )
        )

    async def beat(self, node: int, *, now: Instant, load: Load = IDLE) -> Beat:
        said = (load.running, load.held, load.offset_us, load.claiming)

        async def verb(db: Connection) -> Beat:
            if await db.fetchval(SQL["nodes.beat"], node, now, *said) is None:
                raise node_dead(node)
            return beat_of(await db.fetch(SQL["nodes.alive"]))

        return await self._database.transaction(verb, lifeline=True)

    async def bury(
        self, *, silent_before: Instant, gone: Sequence[int] = (), now: Instant
    ) -> list[int]:
        rows = await self._database.rows(SQL["nodes.bury"], silent_before, list(gone), now)
        return sorted(row[0] for row in rows)

    async def leave(self, node: int, *, now: Instant) -> None:
        await self._database.rows(SQL["nodes.leave"], node, now)

    async def time(self) -> Instant | None:
        async def verb(db: Connection) -> Instant:
            return int(await db.fetchval(SQL["nodes.time"]))

        return await self._database.transaction(verb, lifeline=True)

    async def all(self) -> list[NodeView]:
        return [node_of(row) for row in await self._database.rows(SQL["nodes.all"])]
