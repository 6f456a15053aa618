"""Shared verbs on SQLite: driven to their end in the thread of the connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from onthedot.store.shared.steps import Row, Steps
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.statements import SQL

T = TypeVar("T")


class SqliteSession:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def write(self, verb: Callable[[], Steps[T]]) -> T:
        return await self._database.write(_driven(verb))

    async def read(self, verb: Callable[[], Steps[T]]) -> T:
        return await self._database.read(_driven(verb))

    async def rows(self, statement: str, **values: object) -> list[Row]:
        def look(db: sqlite3.Connection) -> list[Row]:
            return db.execute(SQL[statement], values).fetchall()

        look.__qualname__ = statement
        return await self._database.read(look)


def drive(db: sqlite3.Connection, steps: Steps[T]) -> T:
    found: list[Row] = []
    try:
        ask = next(steps)
        while True:  # bounded by the verb, which ends
            found = db.execute(SQL[ask.statement], ask.values).fetchall()
            ask = steps.send(found)
    except StopIteration as end:
        result: T = end.value
        return result


def _driven(verb: Callable[[], Steps[T]]) -> Callable[[sqlite3.Connection], T]:
    def driven(db: sqlite3.Connection) -> T:
        return drive(db, verb())

    driven.__qualname__ = verb.__qualname__  # the simulation names calls by their verbs
    return driven
