"""What functions write together with the completion of their runs, on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from onthedot.errors import StatementFailed, StoreError
from onthedot.store.postgres.database import FOREIGN, Connection, translated
from onthedot.store.postgres.hosts import hosts_of
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import lease_lost
from onthedot.store.transactions import Claim, Statement, Table

SIZE = 10
CONNECT_S = 10.0
# Classes of SQLSTATE that are about what was written, and not about the way to the database.
_STATEMENT = ("0A", "21", "22", "23", "25", "2B", "3F", "42", "44", "P0")


_AS_IT_WAS = "; ".join(
    SQL[f"session.{what}"]
    for what in (
        *("close_cursors", "reset_user", "reset_role", "reset_settings", "drop_temporary"),
        "savepoint",
    )
)
_UNFIT = {
    "25P02": "a statement in the block failed, and its error was caught",
    "25006": "it was made read-only inside the block",
}


class PostgresTransactions:
    """For a runner process: connections of its own, made when they are needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._hosts = hosts_of(url)
        self._pool: asyncpg.Pool | None = None
        self._place: str | None = None

    @asynccontextmanager
    async def open(self, claim: Claim) -> AsyncIterator[Connection]:
        """A transaction that ends the attempt, too: its writes and the completion are committed
        together, or nothing is. Raises LeaseLost before and after the block.
        """
        async with self._acquired() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                beginning = await self._placed(connection, "runs.begin_completing")
                begun = await connection.fetchrow(beginning, *claim[:4])
                if not begun["is_held"]:
                    raise lease_lost()
                yield connection
                await self._complete(connection, claim, begun["transaction"])
            except BaseException:
                if not connection.is_closed():
                    await transaction.rollback()
                raise
            await transaction.commit()

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()

    async def _placed(self, connection: Connection, statement: str) -> str:
        """A statement with the schema of our tables in it: what functions make may hide them."""
        if self._place is None:
            self._place = await connection.fetchval(SQL["session.place"])
        if self._place is None:
            raise StoreError(
                "the tables of onthedot are not found in this database",
                hint="`functions_database` must name the same one; check its role's search_path.",
            )
        return SQL[statement].format(place=self._place)

    async def _complete(self, connection: Connection, claim: Claim, transaction: str) -> None:
        if not connection.is_in_transaction():
            raise _ended_inside()
        statement = await self._placed(connection, "runs.complete_in")
        try:
            await connection.execute(_AS_IT_WAS)
            try:
                completed = await connection.fetchrow(statement, *claim, transaction)
            except asyncpg.CheckViolationError:
                # It waited while the day of history that it belongs to was made.
                await connection.execute(SQL["session.back_to_savepoint"])
                completed = await connection.fetchrow(statement, *claim, transaction)
        except FOREIGN as error:
            raise _left_behind(error) or translated(error) from error
        if completed is None:
            raise _ended_inside()

    @asynccontextmanager
    async def _acquired(self) -> AsyncIterator[Connection]:
        if self._pool is None:
            self._pool = asyncpg.create_pool(
                self._url,
                connect=self._hosts.connect,
                min_size=0,
                max_size=SIZE,
                timeout=CONNECT_S,
                statement_cache_size=0,  # there may be a pooler in between
                server_settings={"application_name": "onthedot-runner"},
                reset=_forget,
            )
        await self._pool
        async with self._pool.acquire() as connection:
            yield connection


async def _forget(connection: asyncpg.Connection) -> None:
    """All that a function has left in the session: the next one must not find it. The driver's own
    way leaves temporary tables, the role and what was prepared.
    """
    await connection.execute(SQL["session.forget"])


def _ended_inside() -> StatementFailed:
    return StatementFailed(
        "the transaction was ended inside its block: what it wrote and the run go apart",
        hint="Leave commit and rollback to the block; to undo something use a savepoint.",
    )


def _left_behind(error: Exception) -> StatementFailed | None:
    """In which state the function has left the transaction, if it cannot be committed so."""
    why = _UNFIT.get(getattr(error, "sqlstate", None) or "")
    if why is None:
        return None
    hint = "Let the error out of the block, or undo the statement with a savepoint."
    return StatementFailed(f"the transaction cannot be committed: {why}", hint=hint)


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
