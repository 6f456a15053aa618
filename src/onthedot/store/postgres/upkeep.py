"""Retention, partitions and identity on PostgreSQL."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from onthedot.core.instants import DAY, SECOND, Instant
from onthedot.core.model import occurrence
from onthedot.core.sightings import RESTORED, Gap, epoch_at
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import SQL
from onthedot.store.values import Costs

DAYS_AHEAD = 3
FLUSH_S = 0.1
_ORIGINS = (
    *("upkeep.old_redrives", "upkeep.old_notices"),
    *("upkeep.old_backfills", "upkeep.old_items"),
)
_BY_AGE = ("upkeep.old_versions", "upkeep.old_nodes", "upkeep.old_logs", "upkeep.old_memos")


class PostgresUpkeep:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def prepare(self, *, now: Instant) -> None:
        """Make the partitions of the coming days, so that history never waits for one."""
        for day in range(now // DAY, now // DAY + DAYS_AHEAD):
            first, end = occurrence(day * DAY), occurrence((day + 1) * DAY)
            await self._database.value(SQL["upkeep.make_day"], _name(day), first, end)

    async def prune(self, *, before: Instant, keys_before: Instant, limit: int) -> int:
        # First of all and by itself: who reads the ledger meanwhile must know where it begins.
        await self._count(SQL["upkeep.raise_edge"], before)
        await self._drop_days(before)
        gone = await self._delete("upkeep.old_keys", keys_before, limit)
        for statement in _BY_AGE:
            gone += await self._delete(statement, before, limit - gone)
        if gone < limit:
            spent = SQL["upkeep.finished_one_offs"]
            gone += int(await self._database.value(spent, before, limit - gone))
        if gone < limit:
            rows = SQL["upkeep.old_history"]
            gone += await self._count(rows, before, limit - gone, occurrence(before + DAY))
        for statement in _ORIGINS:
            gone += await self._delete(statement, before, limit - gone)
        return gone

    async def installation(self) -> str:
        return str(await self._database.value(SQL["upkeep.installation"]))

    async def restored(self, *, now: Instant, chance: int) -> int:
        async def verb(db: Connection) -> int:
            seen = await db.fetchval(SQL["memory.epoch"])
            values = (seen, epoch_at(now), chance, now, None, now, RESTORED)
            epoch = await db.fetchval(SQL["memory.begin_epoch"], *values)
            await db.execute(SQL["memory.declare_all_dead"], now, None)
            return int(epoch)

        return await self._database.transaction(verb)

    async def gaps(self) -> list[Gap]:
        return [Gap(*row) for row in await self._database.rows(SQL["memory.gaps"])]

    async def renew_installation(self, installation: str) -> None:
        await self._count(SQL["upkeep.renew_installation"], installation)

    async def costs(self) -> Costs | None:
        await self._database.everywhere(SQL["upkeep.flush_costs"])
        await asyncio.sleep(FLUSH_S)
        return Costs(*await self._database.row(SQL["upkeep.costs"]))

    async def close(self) -> None:
        await self._database.close()

    async def _delete(self, statement: str, before: Instant, limit: int) -> int:
        return await self._count(SQL[statement], before, limit) if limit > 0 else 0

    async def _count(self, statement: str, *values: object) -> int:
        async def verb(db: Connection) -> int:
            tag = await db.execute(statement, *values)
            return int(tag.split()[-1])

        return await self._database.transaction(verb)

    async def _drop_days(self, before: Instant) -> None:
        """A day that lies wholly before the retention is dropped: nothing is left to vacuum."""
        for (name,) in await self._database.rows(SQL["upkeep.partitions"]):
            if name.startswith("history_2") and name < _name(before // DAY):
                await self._database.value(SQL["upkeep.drop_day"], name, before)


def _name(day: int) -> str:
    return datetime.fromtimestamp(day * DAY // SECOND, UTC).strftime("history_%Y%m%d")
