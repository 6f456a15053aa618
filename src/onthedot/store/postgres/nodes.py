"""Nodes on PostgreSQL: heartbeats, burials, and who shares the shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias
from zlib import crc32

from onthedot.core.instants import Instant
from onthedot.core.sightings import DatabaseChange, Sighting, epoch_at, last_in_common
from onthedot.core.views import IDLE, Load, NodeFacts, NodeView
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.memory import sighting_of
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import node_dead
from onthedot.store.rows import beat_of, node_of
from onthedot.store.values import Heartbeat

Alive: TypeAlias = "Sequence[tuple[Any, ...]]"
"""The live nodes, as (number, roles, whether it claims)."""


class PostgresNodes:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._memory = database.memory
        self._chance = 0

    async def join(self, facts: NodeFacts, *, now: Instant) -> int:
        """A database that went back is told so by the first join after that was noticed."""
        self._chance = crc32(facts.boot_id.encode())
        seen, lost = self._memory.seen, self._memory.lost

        async def verb(db: Connection) -> tuple[int, Sighting, DatabaseChange]:
            verdict = DatabaseChange.SAME
            if lost is None:
                _, verdict = await self._looked_at(db, seen, now)
            else:
                await self._begin_epoch(db, lost, now)
                # Our earlier incarnations, as far as they are known here: nobody need wait for
                # their leases to run out.
                await db.execute(SQL["memory.declare_all_dead"], now, facts.boot_id)
            number = await db.fetchval(
                SQL["nodes.join"],
                *(facts.boot_id, facts.host, facts.pid, facts.process, ",".join(facts.roles)),
                *(facts.slots, facts.version, ",".join(facts.queues)),
                *(",".join(facts.functions), facts.runners, now),
            )
            sighting, _ = await self._sighting(db, None)
            return int(number), sighting, verdict

        number, sighting, verdict = await self._database.transaction(verb, lifeline=True)
        if lost is None:
            self._memory.keep(sighting, verdict)
        else:
            self._memory.begin_anew(sighting)
        return number

    async def beat(self, node: int, *, now: Instant, load: Load = IDLE) -> Heartbeat:
        said = (load.running, load.held, load.offset_us, load.claiming)
        seen, proof = self._memory.seen, self._memory.proof(node)

        async def verb(db: Connection) -> tuple[Heartbeat, Sighting, DatabaseChange]:
            done = await db.fetchval(SQL["nodes.beat"], node, now, *said, proof)
            (sighting, alive), verdict = await self._looked_at(db, seen, now)
            if done is None:
                raise node_dead(node)
            beat = replace(beat_of(alive), moved=verdict is not DatabaseChange.SAME)
            return beat, sighting, verdict

        beat, sighting, verdict = await self._database.transaction(verb, lifeline=True)
        # Nothing may come between this and whoever learns of a move from the answer: from here on
        # the proofs of this node are good again.
        self._memory.keep(sighting, verdict)
        return beat

    async def _looked_at(
        self, db: Connection, seen: Sighting | None, now: Instant
    ) -> tuple[tuple[Sighting, Alive], DatabaseChange]:
        """Raises StoreWentBack if the database is older than it was."""
        found = await self._sighting(db, seen)
        verdict = self._memory.check(seen, found[0])
        if verdict is DatabaseChange.FAILED_OVER:
            # The last numbers that were given out may be unknown here.
            await self._begin_epoch(db, None, now)
            found = await self._sighting(db, seen)
        return found, verdict

    async def _sighting(self, db: Connection, seen: Sighting | None) -> tuple[Sighting, Alive]:
        known = [] if seen is None else list(seen.pulses)
        nodes = await db.fetch(SQL["nodes.alive"], known)
        row = await db.fetchrow(SQL["memory.sighting"])
        sighting = sighting_of(row, [(each[0], each[3], each[4]) for each in nodes])
        return sighting, [tuple(each[:3]) for each in nodes if each[5]]

    async def _begin_epoch(self, db: Connection, why: str | None, now: Instant) -> None:
        """`why`: what was written last is lost, as far as is known."""
        seen, since, until = self._memory.seen, None, 0
        if seen is not None:
            found, _ = await self._sighting(db, seen)
            since = last_in_common(seen, found)
            until = max((pulse.beat_at for pulse in seen.pulses.values()), default=0)
        number = (self._memory.epoch, epoch_at(now), self._chance)
        await db.fetchval(SQL["memory.begin_epoch"], *number, now, since, until, why)

    async def declare_dead(
        self, *, silent_before: Instant, gone: Sequence[int] = (), now: Instant
    ) -> list[int]:
        rows = await self._database.rows(SQL["nodes.declare_dead"], silent_before, list(gone), now)
        return sorted(row[0] for row in rows)

    async def leave(self, node: int, *, now: Instant) -> None:
        await self._database.rows(SQL["nodes.leave"], node, now)

    async def time(self) -> Instant | None:
        async def verb(db: Connection) -> Instant:
            return int(await db.fetchval(SQL["nodes.time"]))

        return await self._database.transaction(verb, lifeline=True)

    async def all(self) -> list[NodeView]:
        return [node_of(row) for row in await self._database.rows(SQL["nodes.all"])]
