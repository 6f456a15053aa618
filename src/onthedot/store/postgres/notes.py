"""What runs say while they are under way, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.store.notes import LogCursor, LogRow, RunNote
from onthedot.store.postgres.database import PostgresDatabase
from onthedot.store.postgres.statements import SQL


class PostgresNotes:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def add(self, node: int, notes: Sequence[RunNote]) -> int:
        proof = self._database.memory.proof(node)
        return int(await self._database.value(SQL["notes.add"], node, notes, proof))

    async def checkpoints(self, runs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], str]:
        jobs, numbers = [job for job, _ in runs], [run for _, run in runs]
        rows = await self._database.rows(SQL["notes.checkpoints"], jobs, numbers)
        return {(job, run): checkpoint for job, run, checkpoint in rows}

    async def lines(
        self, job: int, run: int, *, after: LogCursor | None, limit: int
    ) -> list[LogRow]:
        place = after or LogCursor(0, 0)
        rows = await self._database.rows(SQL["notes.lines"], job, run, *place, limit)
        return [LogRow(*row) for row in rows]
