"""The API on a socket: uvicorn inside our loop, where the signals and the order of ending are
ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from onthedot.api.app import Application
from onthedot.errors import CannotStart

GRACE_S = 2
BACKLOG = 1_024


class Serving:
    """An application that answers on a socket, from now until `close`."""

    def __init__(self, application: Application, listening: socket.socket) -> None:
        config = uvicorn.Config(
            application,
            http=_Protocol,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            # Nothing of ours asks who called, or for which scheme.
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]), name="api")

    async def close(self) -> None:
        self._server.should_exit = True
        await asyncio.wait([self._task])


class _Protocol(HttpToolsProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(Joining(transport, self.loop))  # type: ignore[arg-type]


class Joining:
    """A transport that sends in one piece what is written in one turn of the loop. The server
    writes the head of an answer and its body apart: each would be a call of the system of its own,
    and wake the caller.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            whole = b"".join(self._parts)
            self._parts.clear()
            self._transport.write(whole)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Server(uvicorn.Server):
    """The signals are ours, since the drain comes before its end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)  # from now on calls wait for us instead of being refused
    except OSError as error:
        listening.close()
        raise CannotStart(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="Is a server running there already? Choose another port with --port.",
            field="port",
        ) from None
    return listening


def url_of(listening: socket.socket) -> str:
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
