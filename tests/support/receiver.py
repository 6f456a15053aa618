"""A callback receiver for tests: answers as the path says, and keeps a ledger of its own.

    /ok  /echo  /status/503  /fail-times/2 (503 to the first two attempts of a run)  /slow/3
    /slow-once/10 (slow to the first request of a run, then quick)  /hang
    /drop (closes without an answer)  /redirect  /big/200000 (bytes)

It lives in a thread of the test process, so it outlasts every kill of the server.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tests.support.rest import eventually, instant_us

BACKLOG = 1_000
HEAD_BYTES_MAX = 64 * 1024
REASONS = {200: "OK", 302: "Found", 404: "Not Found", 503: "Service Unavailable"}


@dataclass(slots=True)
class Call:
    """One request as it arrived. `answered_ns` and `abandoned_ns` (the caller left first) are
    filled in when it ends.
    """

    at_ns: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    answered_ns: int | None = None
    abandoned_ns: int | None = None

    @property
    def run_id(self) -> str:
        return self.headers["onthedot-run"]

    @property
    def job_id(self) -> str:
        return self.headers["onthedot-job"]

    @property
    def attempt(self) -> int:
        return int(self.headers["onthedot-attempt"])

    @property
    def scheduled_for_us(self) -> int:
        return instant_us(self.headers["onthedot-scheduled-for"])

    @property
    def idempotency_key(self) -> str:
        return self.headers["idempotency-key"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = b'{"ok":true}'
    location: str | None = None

    def encode(self) -> bytes:
        head = f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Scripted')}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(self.body)}\r\n"
        if self.location is not None:
            head += f"Location: {self.location}\r\n"
        return head.encode() + b"\r\n" + self.body


class Receiver:
    """Use it as a context manager: `with Receiver() as receiver: ... receiver.url + "/ok"`."""

    def __init__(self, port: int = 0) -> None:
        self.url = ""
        self._port = port
        self._calls: list[Call] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="receiver", daemon=True)
        self._over = asyncio.Event()

    def __enter__(self) -> Receiver:
        self._thread.start()
        assert self._ready.wait(10), "the receiver did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the receiver did not stop"

    def calls(self, path: str | None = None) -> list[Call]:
        """What has arrived so far, in order of arrival: everything, or on one path only."""
        return [call for call in list(self._calls) if path is None or call.path == path]

    def calls_of(self, run_id: str) -> list[Call]:
        return [call for call in list(self._calls) if call.headers.get("onthedot-run") == run_id]

    def wait_for(
        self, count: int, *, path: str | None = None, within_s: float = 10.0
    ) -> list[Call]:
        """The calls, as soon as there are at least so many."""

        def enough() -> list[Call] | None:
            calls = self.calls(path)
            return calls if len(calls) >= count else None

        found = eventually(enough, f"{count} calls of {path or 'any path'}", within_s=within_s)
        assert found is not None
        return found

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(
            self._converse, "127.0.0.1", self._port, backlog=BACKLOG, limit=HEAD_BYTES_MAX
        )
        host, port = server.sockets[0].getsockname()
        self.url = f"http://{host}:{port}"
        self._ready.set()
        await self._over.wait()
        server.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, request after request, until either side leaves."""
        try:
            while (call := await self._read(reader)) is not None:
                answer = await self._behave(call, reader)
                if answer is None:
                    return
                writer.write(answer.encode())
                await writer.drain()
                call.answered_ns = time.time_ns()
        except (OSError, asyncio.IncompleteReadError):
            return  # the server was killed: what had arrived is in the ledger already
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Call | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        at_ns = time.time_ns()
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers: dict[str, str] = {}
        for line in filter(None, lines):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        call = Call(at_ns, method, path, headers, body)
        self._calls.append(call)
        return call

    async def _behave(self, call: Call, reader: asyncio.StreamReader) -> Answer | None:
        """What the path asks for. None: close without an answer."""
        match call.path.partition("?")[0].strip("/").split("/"):
            case ["ok"]:
                return Answer(200)
            case ["echo"]:
                return Answer(200, call.body)
            case ["status", number]:
                return Answer(int(number), b"as scripted")
            case ["fail-times", times]:
                return Answer(503, b"not yet") if call.attempt <= int(times) else Answer(200)
            case ["slow", seconds]:
                return Answer(200) if await _stays(call, reader, float(seconds)) else None
            case ["slow-once", seconds]:
                wait_s = float(seconds) if len(self.calls_of(call.run_id)) == 1 else 0.0
                return Answer(200) if await _stays(call, reader, wait_s) else None
            case ["hang"]:
                await _stays(call, reader, None)
                return None
            case ["drop"]:
                return None
            case ["redirect"]:
                return Answer(302, b"", location=f"{self.url}/landed")
            case ["big", size]:
                return Answer(200, b"x" * int(size))
            case _:
                return Answer(404, b"no such behaviour")


async def _stays(call: Call, reader: asyncio.StreamReader, seconds: float | None) -> bool:
    """Whether the caller is still there after so long (None: wait until it leaves)."""
    try:
        async with asyncio.timeout(seconds):
            await reader.read(1)
    except TimeoutError:
        return True
    call.abandoned_ns = time.time_ns()
    return False
