"""The zones in use on PostgreSQL, and the entries that move with them."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.core.instants import Instant
from onthedot.core.model import SHARDS
from onthedot.core.zoning import ClockedJob, zone_in
from onthedot.store.postgres.clock import PostgresClock
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.jobs import carry_out
from onthedot.store.postgres.statements import SQL
from onthedot.store.postgres.steps import PostgresSession
from onthedot.store.rows import job_of
from onthedot.store.shared.zones import SharedZones
from onthedot.store.zones import (
    MOVES_KEPT,
    Move,
    Remade,
    offsets_from,
    remade,
)


class PostgresZones(SharedZones):
    def __init__(self, database: PostgresDatabase, clock: PostgresClock) -> None:
        super().__init__(PostgresSession(database))
        self._database = database
        self._clock = clock

    async def remake(self, *, limit: int, now: Instant) -> Remade | None:
        remade = await self._database.transaction(lambda db: _remake(db, limit, now))
        if remade is not None and remade.moves:
            self._clock.rescan()
        return remade


async def _remake(db: Connection, limit: int, now: Instant) -> Remade | None:
    row = await db.fetchrow(SQL["zones.pending"], now)
    if row is None:
        return None
    zone, release, before, shard, after = row
    if shard is None:
        await db.execute(SQL["zones.begin_again"], zone)
        shard, after = 0, 0
    jobs = [row[0] for row in await db.fetch(SQL["zones.jobs_of"], zone, shard, after, limit)]
    known = None if before is None else offsets_from(before)
    moves = []
    for coming in await _coming(db, zone, shard, jobs):
        change = remade(coming, zone, known, now=now)
        if change is not None:
            job = coming.job
            await carry_out(db, job, change, True, now)
            made = (job.id, job.definition.name, job.version + 1)
            moves.append(Move(now, zone, release, *made, coming.due, change.entry))
    if moves:
        await db.executemany(SQL["zones.insert_move"], moves)
        await db.execute(SQL["zones.forget_moves"], MOVES_KEPT)
    place = (shard, jobs[-1]) if len(jobs) == limit else (shard + 1, 0)
    if place[0] < SHARDS:
        await db.execute(SQL["zones.advance"], zone, *place)
    else:
        await db.execute(SQL["zones.done"], zone, now)
    return Remade(zone, len(jobs), moves)


async def _coming(db: Connection, zone: str, shard: int, jobs: Sequence[int]) -> list[ClockedJob]:
    """These jobs with their entries, as far as they still are in this zone. From here on no claim
    and no edit touches them.
    """
    if not jobs:
        return []
    await db.fetchval(SQL["jobs.lock_shard"], shard)
    # In the order of their numbers, so that two who want several wait for each other.
    rows = [await db.fetchrow(SQL["jobs.lock"], number) for number in jobs]
    listed = await db.fetch(SQL["zones.entries"], shard, jobs)
    entries = {(number, version): due for number, version, due in listed}
    settled = {row[0]: row[1] for row in await db.fetch(SQL["zones.settled"], jobs)}
    found = []
    for *columns, armed in filter(None, rows):
        job = job_of(columns)
        due = entries.get((job.id, job.version))
        if armed and due is not None and zone_in(job.definition) == zone:
            found.append(ClockedJob(job, due, settled[job.id]))
    return found
