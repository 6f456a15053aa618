"""How a call reaches a server: over HTTP, or straight into an application in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode

import aiohttp

from onthedot.errors import OnthedotError

TIMEOUT_S = 30.0

Message = MutableMapping[str, Any]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class TransportRequest(NamedTuple):
    """One request. `body` is JSON, None if there is none."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None = None
    headers: Mapping[str, str] = {}


class TransportResponse(NamedTuple):
    status: int
    body: bytes


class Transport(Protocol):
    @property
    def server(self) -> str:
        """Who answers, for messages."""
        ...

    async def send(self, asked: TransportRequest) -> TransportResponse: ...
    async def close(self) -> None: ...


class HttpTransport:
    """A connection for each call, or, between `keep` and `close`, one that is kept."""

    def __init__(self, server: str, api_key: str | None) -> None:
        self.server = server
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._session: aiohttp.ClientSession | None = None

    def keep(self) -> None:
        self._session = self._open()

    async def send(self, asked: TransportRequest) -> TransportResponse:
        if self._session is not None:
            return await self._exchange(self._session, asked)
        async with self._open() as session:
            return await self._exchange(session, asked)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        return aiohttp.ClientSession(timeout=timeout, headers=self._headers)

    async def _exchange(
        self, session: aiohttp.ClientSession, asked: TransportRequest
    ) -> TransportResponse:
        headers = dict(asked.headers)
        if asked.body is not None:
            headers["Content-Type"] = "application/json"
        url = self.server + asked.path
        try:
            # Redirects would carry the key to wherever they lead.
            async with session.request(
                asked.method,
                url,
                params=asked.query,
                data=asked.body,
                headers=headers,
                allow_redirects=False,
            ) as response:
                return TransportResponse(response.status, await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise OnthedotError(
                f"{self.server} does not answer: {type(error).__name__}: {error}",
                hint="Start a server with `onthedot serve`, or set ONTHEDOT_SERVER.",
            ) from error


class LocalTransport:
    """Into the API of a node in this process: the same checks and answers, without a socket.
    `loop`: that of the node, to which calls from other threads are brought; None: they act at once.
    """

    server = "this process"

    def __init__(self, application: Asgi, loop: asyncio.AbstractEventLoop | None) -> None:
        self._application = application
        self._loop = loop

    async def send(self, asked: TransportRequest) -> TransportResponse:
        work = call_asgi(self._application, asked)
        if self._loop is None or self._loop is asyncio.get_running_loop():
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def close(self) -> None:
        return


async def call_asgi(application: Asgi, asked: TransportRequest) -> TransportResponse:
    """One request of an ASGI application, on this loop."""
    headers = {"host": "localhost", **asked.headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": asked.method,
        "scheme": "http",
        "path": asked.path,
        "raw_path": asked.path.encode(),
        "query_string": urlencode(asked.query).encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "server": ("localhost", 80),
        "client": ("localhost", 1),
        "state": {},
    }
    status, parts = 0, []

    async def receive() -> Message:
        return {"type": "http.request", "body": asked.body or b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await application(scope, receive, send)
    return TransportResponse(status, b"".join(parts))
