"""`ctx.transaction()`: what a function writes in it and the completion of its run are committed
together, once. On PostgreSQL it is a connection of the runner's own; on SQLite, which only the
server opens, statements are collected and carried out by it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from onthedot.errors import Invalid, StatementFailed
from onthedot.ids import parse_run_id
from onthedot.sdk.calling import CallResult, storable
from onthedot.sdk.context import RunTransaction
from onthedot.store.transactions import Claim
from onthedot.wire.pipe import SqlReply, SqlRequest, StartCall

if TYPE_CHECKING:
    from onthedot.store.postgres.transacting import PostgresTransactions

Statements = list[tuple[str, list[list[Any]]]]
Ask = Callable[[bool, Statements], Awaitable[SqlReply]]
"""Asks the server: to complete the run with these statements, or to read by one."""

_ENDING = re.compile(
    r"\s*(begin|commit|end|rollback|savepoint|release|attach|detach|pragma|vacuum)\b", re.IGNORECASE
)
_INTEGERS = range(-(2**63), 2**63)
_UNUSED = (
    "the function returned without having used ctx.transaction(), which its guarantee exactly_once"
    " needs: nothing ties what it did to the completion of the run"
)


class Asks:
    """What the calls of a runner have asked the server for and wait for, on SQLite."""

    def __init__(self, say: Callable[[SqlRequest], None]) -> None:
        self._say = say
        self._waiting: dict[int, asyncio.Future[SqlReply]] = {}
        self._last = 0

    def of(self, number: int, started: int) -> Ask:
        """For the transaction of this call, which began then."""

        def ask(completes: bool, statements: Statements) -> asyncio.Future[SqlReply]:
            self._last += 1
            answer = self._waiting[self._last] = asyncio.get_running_loop().create_future()
            self._say(SqlRequest(number, self._last, completes, statements, started))
            return answer

        return ask

    def told(self, message: SqlReply) -> None:
        """A call that was stopped meanwhile does not wait any more."""
        answer = self._waiting.pop(message.ask)
        if not answer.done():
            answer.set_result(message)


class Transaction:
    """One for each attempt. `committed`: the run is completed, whatever the function does next."""

    def __init__(
        self, begin: StartCall, started: int, *, ask: Ask, database: PostgresTransactions | None
    ) -> None:
        self.committed = False
        self._used = False
        self._begin = begin
        self._started = started
        self._ask = ask
        self._database = database
        self._block: AbstractAsyncContextManager[Any] | None = None

    async def __aenter__(self) -> Any:
        if self._used:
            raise Invalid(
                "ctx.transaction() was used a second time in one attempt",
                hint="Write everything in one block: its end completes the run.",
            )
        self._used = True
        self._block = self._opened()
        return await self._block.__aenter__()

    async def __aexit__(self, *raised: Any) -> None:
        assert self._block is not None
        await self._block.__aexit__(*raised)
        self.committed = raised[0] is None

    def __enter__(self) -> NoReturn:
        raise Invalid(
            "ctx.transaction() needs an event loop",
            hint="Make it `async def`, and write `async with ctx.transaction() as connection`.",
        )

    def __exit__(self, *raised: object) -> None: ...

    def _opened(self) -> AbstractAsyncContextManager[Any]:
        if self._database is None:
            return Collected(self._ask)
        begin, fence = self._begin, self._begin.fence
        assert fence is not None, "only exactly-once runs have a transaction"
        job, run = parse_run_id(begin.run_id, begin.run_id.partition("-")[0])
        return self._database.open(Claim(job, run, begin.attempt, fence, self._started))


def judged(transaction: RunTransaction, answer: CallResult) -> CallResult:
    """After the commit the run has succeeded; without one it has not."""
    if transaction.committed:
        return CallResult()
    if answer.error is None:
        return CallResult(error=_UNUSED, retryable=False)
    return answer


class Collected:
    """In the place of a connection, on SQLite. What is read is as it was before the block."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._statements: Statements = []

    async def __aenter__(self) -> Collected:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is None:
            await self._told(completes=True, statements=self._statements)

    async def execute(self, sql: str, *values: Any) -> None:
        """Carry it out when the block ends. `$1` and `?1` stand for the first value."""
        self._statements.append(_statement(sql, [values]))

    async def executemany(self, sql: str, many: Iterable[Iterable[Any]]) -> None:
        self._statements.append(_statement(sql, many))

    async def fetch(self, sql: str, *values: Any) -> list[Row]:
        told = await self._told(completes=False, statements=[_statement(sql, [values])])
        return [Row(told.columns, row) for row in told.rows]

    async def fetchrow(self, sql: str, *values: Any) -> Row | None:
        rows = await self.fetch(sql, *values)
        return rows[0] if rows else None

    async def fetchval(self, sql: str, *values: Any) -> Any:
        row = await self.fetchrow(sql, *values)
        return None if row is None else row[0]

    async def _told(self, *, completes: bool, statements: Statements) -> SqlReply:
        told = await self._ask(completes, statements)
        if told.error is not None:
            raise StatementFailed(told.error)
        return told


class Row(tuple[Any, ...]):
    """A row, by place or by name: `row[0]`, `row["cents"]`."""

    _columns: list[str]

    def __new__(cls, columns: list[str], values: Iterable[Any]) -> Row:
        row = super().__new__(cls, values)
        row._columns = columns
        return row

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._columns.index(key) if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        return self._columns


def _statement(sql: str, many: Iterable[Iterable[Any]]) -> tuple[str, list[list[Any]]]:
    if ending := _ENDING.match(sql):
        raise StatementFailed(
            f"'{ending[1]}' is not for a function to say inside ctx.transaction()",
            hint="The block begins and ends the transaction; an exception rolls it back.",
        )
    return _encodable(sql), [[_plain(value) for value in values] for values in many]


def _plain(value: Any) -> Any:
    """As SQLite keeps it: of an enumeration's member, the value."""
    if value is None:
        return None
    if isinstance(value, str):
        return _encodable(str.__str__(value))
    if isinstance(value, int):
        number = int.__int__(value)
        if number in _INTEGERS:
            return number
        raise StatementFailed(
            f"SQLite cannot keep an integer of {number.bit_length()} bits",
            hint="It has 64 bits for one, with the sign: give it as text.",
        )
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes):
        return bytes(value)
    raise StatementFailed(
        f"SQLite cannot keep a {type(value).__name__}: {value!r}",
        hint="Give text, a number, bytes or None; an instant as text or as microseconds.",
    )


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise StatementFailed(
            f"SQLite cannot keep the text {storable(text[:100])!r}: {error.reason}",
            hint="Text has to be Unicode without lone surrogates: give others as bytes.",
        ) from None
    return text
