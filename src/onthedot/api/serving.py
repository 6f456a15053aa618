"""The API on a socket: uvicorn inside our loop, where the signals and the order of ending are
ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from litestar import Litestar

from onthedot.errors import CannotStart

Application = Litestar

GRACE_S = 2
BACKLOG = 1_024


class Serving:
    """An application that answers on a socket, from now until `close`."""

    def __init__(self, application: Litestar, listening: socket.socket) -> None:
        config = uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=GRACE_S,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]), name="api")

    async def close(self) -> None:
        self._server.should_exit = True
        await asyncio.wait([self._task])


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
