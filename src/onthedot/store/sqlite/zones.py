"""The zones in use on SQLite, and the entries that move with them."""

from __future__ import annotations

import sqlite3

from onthedot.core.instants import Instant
from onthedot.core.model import SHARDS
from onthedot.core.zoning import ClockedJob, zone_in
from onthedot.store.shared.zones import SharedZones
from onthedot.store.sqlite.database import SqliteDatabase, as_json
from onthedot.store.sqlite.jobs import carry_out, get_job
from onthedot.store.sqlite.statements import SQL
from onthedot.store.sqlite.steps import SqliteSession
from onthedot.store.zones import (
    MOVES_KEPT,
    Move,
    Remade,
    offsets_from,
    remade,
)


class SqliteZones(SharedZones):
    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(SqliteSession(database))
        self._database = database

    async def remake(self, *, limit: int, now: Instant) -> Remade | None:
        # A look first: nearly always there is nothing to do, and that must not cost a commit.
        due = {"now": now}
        if not await self._database.read(
            lambda db: db.execute(SQL["zones.pending"], due).fetchone()
        ):
            return None
        return await self._database.write(lambda db: _remake(db, limit, now))


def _remake(db: sqlite3.Connection, limit: int, now: Instant) -> Remade | None:
    row = db.execute(SQL["zones.pending"], {"now": now}).fetchone()
    if row is None:
        return None
    zone, release, before, shard, after = row
    if shard is None:
        db.execute(SQL["zones.begin_again"], {"name": zone})
        shard, after = 0, 0
    bounds = {"zone": zone, "shard": shard, "job": after, "limit": limit}
    jobs = [number for (number,) in db.execute(SQL["zones.jobs_of"], bounds)]
    which = {"shard": shard, "jobs": as_json(jobs)}
    entries = {(job, version): due for job, version, due in db.execute(SQL["zones.entries"], which)}
    known = None if before is None else offsets_from(before)
    moves = []
    for number in jobs:
        job = get_job(db, number)
        due = entries.get((number, job.version))
        if due is None or zone_in(job.definition) != zone:
            continue
        (settled,) = db.execute(SQL["zones.settled"], {"job": number}).fetchone()
        change = remade(ClockedJob(job, due, settled), zone, known, now=now)
        if change is not None:
            carry_out(db, job, change, now)
            made = (number, job.definition.name, job.version + 1)
            moves.append(Move(now, zone, release, *made, due, change.entry))
    db.executemany(SQL["zones.insert_move"], moves)
    if moves:
        db.execute(SQL["zones.forget_moves"], (MOVES_KEPT,))
    _advance(db, zone, (shard, jobs[-1]) if len(jobs) == limit else (shard + 1, 0), now)
    return Remade(zone, len(jobs), moves)


def _advance(db: sqlite3.Connection, zone: str, place: tuple[int, int], now: Instant) -> None:
    shard, job = place
    if shard < SHARDS:
        db.execute(SQL["zones.advance"], {"name": zone, "shard": shard, "job": job})
    else:
        db.execute(SQL["zones.done"], {"name": zone, "now": now})
