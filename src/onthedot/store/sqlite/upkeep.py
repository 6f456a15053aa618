"""Retention, identity and farewell on SQLite."""

from __future__ import annotations

import sqlite3

from onthedot.core.instants import Instant
from onthedot.store.sqlite.database import Database
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


class Upkeep:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def prune(self, *, before: Instant, keys_before: Instant, limit: int) -> int:
        return await self._database.write(lambda db: _prune(db, before, keys_before, limit))

    async def prepare(self, *, now: Instant) -> None:
        """Nothing to do: rows go wherever there is room."""

    async def installation(self) -> str:
        return await self._database.read(
            lambda db: str(db.execute(SQL["upkeep.installation"]).fetchone()[0])
        )

    async def costs(self) -> Costs | None:
        return None

    async def close(self) -> None:
        await self._database.close()


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
