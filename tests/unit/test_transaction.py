"""What a function's transaction asks the server for, and who hears the answer."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.errors import StatementFailed
from onthedot.sdk.transaction import Asks, Transaction
from onthedot.wire.pipe import Asked, Begin, Told

BEGIN = Begin(7, "bill", "{}", "r", "j", 1, 0, 60_000_000, None, 3)


class Call:
    """A function that writes one line, in a task of its own."""

    def __init__(self) -> None:
        self._said: asyncio.Queue[Asked] = asyncio.Queue()
        self.asks = Asks(self._said.put_nowait)
        self.transaction = Transaction(BEGIN, 5, ask=self.asks.of(7, 5), database=None)
        self.task = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        async with self.transaction as connection:
            await connection.execute("insert into note values ($1)", "x")

    async def has_asked(self) -> Asked:
        return await self._said.get()


async def test_the_end_of_the_block_asks_for_everything_at_once():
    call = Call()

    asked = await call.has_asked()
    call.asks.told(Told(asked.ask))
    await call.task

    assert asked == Asked(7, 1, True, [("insert into note values ($1)", [["x"]])], 5)
    assert call.transaction.committed


async def test_a_refusal_is_raised_where_the_block_ends():
    call = Call()

    call.asks.told(Told((await call.has_asked()).ask, "LeaseLost: too late"))

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

    call.asks.told(Told(asked.ask))

    assert not call.transaction.committed
