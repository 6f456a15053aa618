"""Real servers under a bench: `onthedot serve` in processes of their own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator

from onthedot.config import Settings
from onthedot.errors import CannotStart

READY_S = 30.0
STOP_S = 30.0


class Server:
    def __init__(self, settings: Settings, *, roles: str = "api,scheduler,worker,janitor") -> None:
        self.port = _free_port()
        self._settings = settings
        self._roles = roles
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start, and wait until it says that it is ready."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "onthedot.cli.main", "serve", "--roles", self._roles),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            env={**os.environ, "ONTHEDOT_DATABASE": self._settings.database},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self._process = process
        assert process.stdout is not None
        try:
            async with asyncio.timeout(READY_S):
                line = await process.stdout.readline()
        except TimeoutError:
            line = b""
        if b"ready" not in line:
            raise CannotStart("a server for the bench does not start", hint="Try `onthedot serve`.")

    async def kill(self) -> None:
        """As a power cut does it."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(how)
            await asyncio.wait_for(process.wait(), STOP_S)


@contextlib.asynccontextmanager
async def running(*servers: Server) -> AsyncIterator[None]:
    try:
        for server in servers:
            await server.start()
        yield
    finally:
        await asyncio.gather(*(server.stop() for server in servers))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
