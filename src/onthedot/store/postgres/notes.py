"""What runs say while they are under way, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.store.notes import LogPlace, LogRow, RunNote
from onthedot.store.postgres.database import Database
from onthedot.store.postgres.statements import SQL


class Notes:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, node: int, notes: Sequence[RunNote]) -> int:
        return int(await self._database.value(SQL["notes.add"], node, notes))

    async def checkpoints(self, runs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], str]:
        jobs, numbers = [job for job, _ in runs], [run for _, run in runs]
        rows = await self._database.rows(SQL["notes.checkpoints"], jobs, numbers)
        return {(job, run): checkpoint for job, run, checkpoint in rows}

    async def lines(
        self, job: int, run: int, *, after: LogPlace | None, limit: int
    ) -> list[LogRow]:
        place = after or LogPlace(0, 0)
        rows = await self._database.rows(SQL["notes.lines"], job, run, *place, limit)
        return [LogRow(*row) for row in rows]
