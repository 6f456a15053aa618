"""What goes out on a connection of the API."""

from __future__ import annotations

import asyncio

from onthedot.api.serving import Joining


class Wire:
    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.sent.append(data)

    def close(self) -> None:
        self.closed = True


async def test_what_is_written_in_one_turn_of_the_loop_leaves_in_one_piece():
    wire = Wire()
    transport = Joining(wire, asyncio.get_running_loop())

    transport.write(b"head ")
    transport.write(b"body")
    assert wire.sent == []
    await asyncio.sleep(0)
    transport.write(b"next")
    await asyncio.sleep(0)

    assert wire.sent == [b"head body", b"next"]


async def test_what_was_written_leaves_before_the_connection_is_closed():
    wire = Wire()
    transport = Joining(wire, asyncio.get_running_loop())

    transport.write(b"last words")
    transport.close()
    await asyncio.sleep(0)

    assert (wire.sent, wire.closed) == ([b"last words"], True)
    assert transport.closed
