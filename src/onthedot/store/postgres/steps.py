"""Shared verbs on PostgreSQL: each statement is awaited."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import PARAMETERS, SQL
from onthedot.store.shared.steps import Ask, Row, Steps

T = TypeVar("T")


class PostgresSession:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def write(self, verb: Callable[[], Steps[T]]) -> T:
        return await self._database.transaction(lambda db: drive(db, verb()))

    async def read(self, verb: Callable[[], Steps[T]]) -> T:
        return await self._database.snapshot(lambda db: drive(db, verb()))

    async def rows(self, statement: str, **values: object) -> list[Row]:
        return await self._database.rows(SQL[statement], *_ordered(Ask(statement, values)))


async def drive(db: Connection, steps: Steps[T]) -> T:
    try:
        ask = next(steps)
        while True:  # bounded by the verb, which ends
            found = await db.fetch(SQL[ask.statement], *_ordered(ask))
            ask = steps.send(list(found))
    except StopIteration as end:
        result: T = end.value
        return result


def _ordered(ask: Ask) -> list[object]:
    return [ask.values[name] for name in PARAMETERS[ask.statement]]
