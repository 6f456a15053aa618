"""What a function's transaction asks the server for, and who hears the answer."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from http import HTTPStatus

import pytest

from onthedot.errors import StatementFailed
from onthedot.runner.transaction import Asks, Transaction
from onthedot.wire.pipe import SqlReply, SqlRequest, StartCall

BEGIN = StartCall(7, "bill", "{}", "r", "j", 1, 0, 60_000_000, None, 3)


class Call:
    """A function that writes one line, in a task of its own."""

    def __init__(self) -> None:
        self._said: asyncio.Queue[SqlRequest] = asyncio.Queue()
        self.asks = Asks(self._said.put_nowait)
        self.transaction = Transaction(BEGIN, 5, ask=self.asks.of(7, 5), database=None)
        self.task = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        async with self.transaction as connection:
            await connection.execute("insert into note values ($1)", "x")

    async def has_asked(self) -> SqlRequest:
        return await self._said.get()


async def test_the_end_of_the_block_asks_for_everything_at_once():
    call = Call()

    asked = await call.has_asked()
    call.asks.told(SqlReply(asked.ask))
    await call.task

    assert asked == SqlRequest(7, 1, True, [("insert into note values ($1)", [["x"]])], 5)
    assert call.transaction.committed


async def test_a_refusal_is_raised_where_the_block_ends():
    call = Call()

    call.asks.told(SqlReply((await call.has_asked()).ask, "LeaseLost: too late"))

    with pytest.raises(StatementFailed, match="too late"):
        await call.task
    assert not call.transaction.committed


async def test_the_answer_to_a_call_that_was_stopped_meanwhile_does_no_harm():
    """It would have ended the runner, with everybody in it."""
    call = Call()
    asked = await call.has_asked()
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.task

    call.asks.told(SqlReply(asked.ask))

    assert not call.transaction.committed


class Level(StrEnum):
    HIGH = "high"


class Ratio(float):
    pass


async def _asked_for(*values: object) -> list[list[object]]:
    said: asyncio.Queue[SqlRequest] = asyncio.Queue()
    transaction = Transaction(BEGIN, 5, ask=Asks(said.put_nowait).of(7, 5), database=None)
    connection = await transaction.__aenter__()
    await connection.execute("insert into note values ($1)", *values)
    ending = asyncio.ensure_future(transaction.__aexit__(None, None, None))
    asked = await said.get()
    ending.cancel()
    return asked.statements[0][1]


async def test_values_of_derived_types_are_sent_as_what_they_are_derived_from():
    sent = (await _asked_for(Level.HIGH, HTTPStatus.OK, Ratio(0.5), True, None, b"x"))[0]

    assert sent == ["high", 200, 0.5, 1, None, b"x"]
    assert [type(value) for value in sent] == [str, int, float, int, type(None), bytes]


@pytest.mark.parametrize(
    ("value", "words"),
    [(2**63, "64 bits"), (-(2**70), "71 bits"), ("caf\udce9", "surrogates"), ([1], "a list")],
)
async def test_a_value_that_sqlite_cannot_keep_is_refused_by_name(value, words):
    with pytest.raises(StatementFailed, match=words):
        await _asked_for(value)
