"""Retention, identity and farewell on SQLite."""

from __future__ import annotations

import sqlite3

from onthedot.core.instants import Instant
from onthedot.core.sightings import RESTORED, Gap, epoch_at
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.statements import SQL
from onthedot.store.values import Costs

_BY_AGE = (
    "upkeep.old_history",
    "upkeep.old_versions",
    "upkeep.old_nodes",
    "upkeep.old_redrives",
    "upkeep.old_backfills",
    "upkeep.old_items",
    "upkeep.old_notices",
    "upkeep.old_logs",
    "upkeep.old_memos",
)

NUMBERED = {"job": 32, "node": 20, "backfill": 20, "zone_move": 20}
"""The tables whose numbers people and programs remember, and how many bits of these count up; the
epoch is above them. Those that JSON shows as numbers have fewer, so that all fits into 53."""


class SqliteUpkeep:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def prune(self, *, before: Instant, keys_before: Instant, limit: int) -> int:
        return await self._database.write(lambda db: _prune(db, before, keys_before, limit))

    async def prepare(self, *, now: Instant) -> None:
        """Nothing to do: rows go wherever there is room."""

    async def installation(self) -> str:
        return await self._database.read(
            lambda db: str(db.execute(SQL["upkeep.installation"]).fetchone()[0])
        )

    async def restored(self, *, now: Instant, chance: int) -> int:
        return await self._database.write(lambda db: begin_epoch(db, now, chance, RESTORED))

    async def gaps(self) -> list[Gap]:
        return await self._database.read(
            lambda db: [Gap(*row) for row in db.execute(SQL["upkeep.gaps"])]
        )

    async def renew_installation(self, installation: str) -> None:
        values = (installation,)
        await self._database.write(
            lambda db: db.execute(SQL["upkeep.renew_installation"], values).rowcount
        )

    async def costs(self) -> Costs | None:
        return None

    async def close(self) -> None:
        await self._database.close()


def begin_epoch(db: sqlite3.Connection, now: Instant, chance: int, why: str) -> int:
    """No number given out before is given out again, and no node of before lives."""
    (known,) = db.execute(SQL["upkeep.epoch"]).fetchone()
    epoch = max(epoch_at(now), int(known) + 1)
    for table, bits in NUMBERED.items():
        number = (epoch << bits) + chance % (1 << (bits - 1))
        db.execute(SQL["upkeep.forget_number"], {"table": table})
        db.execute(SQL["upkeep.number_from"], {"table": table, "number": number})
    values = {"epoch": epoch, "now": now, "reason": why}
    db.execute(SQL["upkeep.went_back"], values)
    db.execute(SQL["upkeep.begin_epoch"], {"epoch": epoch})
    db.execute(SQL["upkeep.declare_all_dead"], {"now": now})
    return epoch


def _prune(db: sqlite3.Connection, before: Instant, keys_before: Instant, limit: int) -> int:
    db.execute(SQL["upkeep.raise_edge"], {"before": before})
    gone = db.execute(SQL["upkeep.old_keys"], {"before": keys_before, "limit": limit}).rowcount
    for statement in _BY_AGE:
        if gone < limit:
            bounds = {"before": before, "limit": limit - gone}
            gone += db.execute(SQL[statement], bounds).rowcount
    if gone < limit:
        bounds = {"before": before, "limit": limit - gone}
        over = db.execute(SQL["upkeep.finished_one_offs"], bounds).fetchall()
        gone += db.executemany(SQL["jobs.delete"], over).rowcount if over else 0
    return gone
