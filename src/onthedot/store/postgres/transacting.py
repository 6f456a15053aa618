"""What functions write together with the completion of their runs, on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from onthedot.errors import StatementFailed
from onthedot.store.postgres.database import FOREIGN, Connection, translated
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import lease_lost
from onthedot.store.transactions import Claim, Statement, Table

SIZE = 10
CONNECT_S = 10.0
# Classes of SQLSTATE that are about what was written, and not about the way to the database.
_STATEMENT = ("0A", "21", "22", "23", "25", "2B", "3F", "42", "44", "P0")


class Transactions:
    """For a runner process: connections of its own, made when they are needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: asyncpg.Pool | None = None

    @asynccontextmanager
    async def open(self, claim: Claim) -> AsyncIterator[Connection]:
        """A transaction that ends the attempt, too: its writes and the completion are committed
        together, or nothing is. Raises LeaseLost before and after the block.
        """
        async with self._acquired() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                if not await connection.fetchval(SQL["runs.is_held"], *claim[:4]):
                    raise lease_lost()
                yield connection
                await self._complete(connection, claim)
            except BaseException:
                if not connection.is_closed():
                    await transaction.rollback()
                raise
            await transaction.commit()

    async def _complete(self, connection: Connection, claim: Claim) -> None:
        if not connection.is_in_transaction():
            raise StatementFailed(
                "the transaction was ended inside its block: what it wrote and the run go apart",
                hint="Leave commit and rollback to the block; to undo something use a savepoint.",
            )
        try:
            finished = await connection.fetchval(SQL["nodes.time"])
            await connection.execute(SQL["runs.complete"], *claim, finished)
        except FOREIGN as error:
            raise translated(error) from error

    @asynccontextmanager
    async def _acquired(self) -> AsyncIterator[Connection]:
        if self._pool is None:
            self._pool = asyncpg.create_pool(
                self._url,
                min_size=0,
                max_size=SIZE,
                timeout=CONNECT_S,
                statement_cache_size=0,  # there may be a pooler in between
                server_settings={"application_name": "onthedot-runner"},
            )
        await self._pool
        async with self._pool.acquire() as connection:
            yield connection


async def carry_out(db: Connection, statements: Sequence[Statement]) -> None:
    try:
        for statement in statements:
            for values in statement.many:
                await db.execute(statement.sql, *values)
    except asyncpg.PostgresError as error:
        raise _refused(error) from error


async def read(db: Connection, statement: Statement) -> Table:
    try:
        rows: list[Any] = await db.fetch(statement.sql, *statement.many[0])
    except asyncpg.PostgresError as error:
        raise _refused(error) from error
    return Table(list(rows[0].keys()) if rows else [], [list(row) for row in rows])


def _refused(error: Exception) -> Exception:
    if getattr(error, "sqlstate", "").startswith(_STATEMENT):
        return StatementFailed(f"the database does not take a statement: {error}")
    return error
