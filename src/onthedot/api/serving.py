"""The API on a socket: uvicorn inside our loop, where the signals, the order of ending and who may
connect are ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

import uvicorn

from onthedot.api.connection import HttpConnection
from onthedot.api.limits import Limits
from onthedot.api.registry import Registry
from onthedot.errors import CannotStart
from onthedot.observe.events import warn

Asgi = Callable[..., Awaitable[None]]
GRACE_S = 2
BACKLOG = 1_024
ACCEPT_MAX = 8
"""Connections that are taken in one turn of the loop: a crowd at the door delays no start."""

ACCEPT_PAUSE_S = 0.25
"""After a connection could not be taken, for want of a file descriptor or of memory."""

TICKS_PER_SWEEP = 10  # uvicorn ticks ten times a second


class Serving:
    """An application that answers on a socket, from now until `close`. `refused` counts what
    clients are refused, by reason.
    """

    def __init__(
        self,
        application: Asgi,
        listening: socket.socket,
        *,
        limits: Limits | None = None,
        refused: Counter[str] | None = None,
    ) -> None:
        config = uvicorn.Config(
            application,
            http=HttpConnection,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            # Nothing of ours asks who called, or for which scheme.
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
        )
        loop = asyncio.get_running_loop()
        registry = Registry(limits or Limits(), loop.time, loop.call_soon, refused)
        self._server = _ApiServer(config, registry, listening)
        self.on_failure: Callable[[], None] = lambda: None
        """Called if it ends before it is told to, by a fault of ours."""
        self._task = asyncio.create_task(self._server.serve(), name="api")
        self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        self._server.should_exit = True
        await asyncio.wait([self._task])

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not self._server.should_exit:
            warn("api.ended", error=repr(None if task.cancelled() else task.exception()))
            self.on_failure()


class _ApiServer(uvicorn.Server):
    """The signals are ours, since the drain comes before its end; and so is the door."""

    def __init__(
        self, config: uvicorn.Config, registry: Registry, listening: socket.socket
    ) -> None:
        super().__init__(config)
        self._registry = registry
        self._listening = listening
        self._joining: set[asyncio.Task[object]] = set()
        self._resuming: asyncio.TimerHandle | None = None
        self._short = False

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.servers = []
        self._listening.setblocking(False)
        self._open_door()
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_PER_SWEEP == 0:
            try:
                self._registry.sweep()
            except Exception as error:  # noqa: BLE001  (without the next one nobody would time out)
                warn("api.sweep_failed", error=repr(error))
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._close_door()
        self._listening.close()
        await super().shutdown()

    def _open_door(self) -> None:
        self._resuming = None
        asyncio.get_running_loop().add_reader(self._listening.fileno(), self._accept)

    def _close_door(self) -> None:
        if self._resuming is not None:
            self._resuming.cancel()
        elif self._listening.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._listening.fileno())

    def _accept(self) -> None:
        for _ in range(ACCEPT_MAX):
            try:
                client, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            self._short = False
            if self._registry.admit(str(address[0])):
                self._join(client)
            else:
                client.close()

    def _join(self, client: socket.socket) -> None:
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        connection = HttpConnection(self._registry, self.config, self.server_state)
        joining: asyncio.Task[object] = loop.create_task(
            loop.connect_accepted_socket(lambda: connection, client)
        )
        self._joining.add(joining)
        joining.add_done_callback(self._joined)

    def _joined(self, joining: asyncio.Task[object]) -> None:
        self._joining.discard(joining)
        if joining.cancelled() or joining.exception() is not None:
            self._registry.arriving -= 1  # it never became a connection

    def _pause(self, error: OSError) -> None:
        """The socket would stay readable and the loop would turn for nothing."""
        if not self._short:
            self._short = True
            warn("api.cannot_accept", error=error.strerror or error)
        self._registry.refused["cannot_accept"] += 1
        self._close_door()
        loop = asyncio.get_running_loop()
        self._resuming = loop.call_later(ACCEPT_PAUSE_S, self._open_door)


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
