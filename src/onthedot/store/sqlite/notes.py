"""What runs say while they are under way, on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from onthedot.store.notes import LogCursor, LogRow, RunNote
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.nodes import require_alive
from onthedot.store.sqlite.statements import SQL


class SqliteNotes:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def add(self, node: int, notes: Sequence[RunNote]) -> int:
        return await self._database.write(lambda db: _add(db, node, notes))

    async def checkpoints(self, runs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], str]:
        return await self._database.read(lambda db: _checkpoints(db, runs))

    async def lines(
        self, job: int, run: int, *, after: LogCursor | None, limit: int
    ) -> list[LogRow]:
        bounds = {"job": job, "run": run, **(after or LogCursor(0, 0))._asdict(), "limit": limit}
        return await self._database.read(
            lambda db: [LogRow._make(row) for row in db.execute(SQL["notes.lines"], bounds)]
        )


def _add(db: sqlite3.Connection, node: int, notes: Sequence[RunNote]) -> int:
    require_alive(db, node)
    held = [
        note
        for note in notes
        if db.execute(SQL["notes.is_held"], (note.job, note.run, node, note.fence)).fetchone()[0]
    ]
    said = [note[:7] for note in held if note.lines is not None]
    kept = [
        (note.job, note.run, note.attempt, note.at, note.progress, note.checkpoint)
        for note in held
        if note.progress is not None or note.checkpoint is not None
    ]
    db.executemany(SQL["notes.add_lines"], said)
    db.executemany(SQL["notes.remember"], kept)
    return len(held)


def _checkpoints(
    db: sqlite3.Connection, runs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], str]:
    found = {run: db.execute(SQL["notes.checkpoint"], run).fetchone() for run in runs}
    return {run: row[0] for run, row in found.items() if row is not None}
