"""A receiver of callbacks that does as little as can be: it reads a request and answers 200.

A process of its own (`python -m onthedot_bench.sink`). It prints its port, and ends with its input.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
import time
from typing import Protocol, cast

from onthedot.core.instants import SECOND, parse_instant
from onthedot_bench.app import NOTES

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok"
_LENGTH = b"content-length:"
_DUE = b"onthedot-scheduled-for:"
FLUSH_AT = 512


class SinkNotes(Protocol):
    def note(self, headers: bytes) -> None: ...


class Sink:
    """By how many seconds each request came after its instant, written down in groups."""

    def __init__(self) -> None:
        path = os.environ.get(NOTES)
        self._notes = os.open(path, os.O_WRONLY | os.O_APPEND) if path else None
        self._late: list[float] = []

    def note(self, headers: bytes) -> None:
        if self._notes is None:
            return
        self._late.append(time.time() - due_of(headers))
        if len(self._late) >= FLUSH_AT:
            self.flush()

    def flush(self) -> None:
        if self._notes is not None and self._late:
            os.write(self._notes, struct.pack(f"{len(self._late)}d", *self._late))
            self._late.clear()


class SinkConnection(asyncio.Protocol):
    def __init__(self, sink: SinkNotes) -> None:
        self._sink = sink
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none of asyncio's

    def data_received(self, data: bytes) -> None:
        self._read += data
        while True:  # as many requests as have come
            headers, found, rest = self._read.partition(b"\r\n\r\n")
            if not found:
                return
            headers = headers.lower()
            length = int(_value(headers, _LENGTH) or 0)
            if len(rest) < length:
                return
            self._read = rest[length:]
            self._sink.note(headers)
            self._transport.write(_ANSWER)


def due_of(headers: bytes) -> float:
    """In seconds since the epoch."""
    return parse_instant(_value(headers, _DUE).decode().upper(), field="scheduledFor") / SECOND


def _value(headers: bytes, name: bytes) -> bytes:
    _, found, rest = headers.partition(name)
    return rest.partition(b"\r\n")[0].strip() if found else b""


async def _serve() -> None:
    sink, loop = Sink(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: SinkConnection(sink), "127.0.0.1", 0, backlog=2_048)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    sink.flush()


if __name__ == "__main__":
    from onthedot.event_loop import run

    run(_serve())
