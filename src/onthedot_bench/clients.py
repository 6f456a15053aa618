"""Clients of the API that cost next to nothing, so that what is measured is the server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

HEADERS_END = b"\r\n\r\n"


class BareClient(asyncio.Protocol):
    """One connection that sends one request after the other, each after the answer to the last."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._read = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", self._port)

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(
            b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (path.encode(), len(body), body)
        )
        return await self._answer

    def data_received(self, data: bytes) -> None:
        self._read += data
        headers, found, rest = self._read.partition(HEADERS_END)
        if not found or self._answer is None:
            return
        _, _, length = headers.lower().partition(b"content-length:")
        size = int(length.partition(b"\r\n")[0] or 0)
        if len(rest) >= size:
            self._read = rest[size:]
            self._answer.set_result((int(headers[9:12]), rest[:size]))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server hung up"))

    def close(self) -> None:
        self._transport.close()


async def posting(
    port: int, path: str, body: Callable[[int], bytes], *, clients: int, seconds: float
) -> tuple[int, int, float]:
    """How many were answered 2xx, how many otherwise, and in how long."""
    began = time.perf_counter()
    made = failed = 0

    async def one() -> None:
        nonlocal made, failed
        client = BareClient(port)
        await client.connect()
        while time.perf_counter() < began + seconds:
            status, _ = await client.post(path, body(made + failed))
            made += status < 300
            failed += status >= 300
        client.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return made, failed, time.perf_counter() - began
