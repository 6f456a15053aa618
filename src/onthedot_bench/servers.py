"""Real servers under a bench: `onthedot serve` in processes of their own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator

from onthedot.config import Settings
from onthedot.errors import CannotStart

READY_S = 30.0
STOP_S = 30.0
LOOK_S = 0.05


class Server:
    def __init__(self, settings: Settings, *, roles: str = "api,scheduler,worker,janitor") -> None:
        self.port = _free_port()
        self._settings = settings
        self._roles = roles
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start, and wait until it listens: from then on calls wait for it."""
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "onthedot", "serve", "--roles", self._roles),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            env={**os.environ, "ONTHEDOT_DATABASE": self._settings.database},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        end = time.monotonic() + READY_S
        while not await self._listens():
            if process.returncode is not None or time.monotonic() > end:
                raise CannotStart(
                    "a server for the bench does not start", hint="See why: onthedot serve"
                )
            await asyncio.sleep(LOOK_S)

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True

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
            async with asyncio.timeout(STOP_S):
                await process.wait()


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
