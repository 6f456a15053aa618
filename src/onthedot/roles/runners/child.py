"""One runner process, as the worker sees it: a pipe, what is under way in it, and how it died."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Callable

from onthedot.wire.pipe import (
    Begin,
    Frames,
    FromRunner,
    Halt,
    Hello,
    Refusal,
    frame,
    from_runner,
)

MAIN = "onthedot.sdk.runner"
HELLO_S = 60.0


class Child(asyncio.Protocol):
    """`on_message` gets what it says, `on_death` is called once, when it is gone."""

    def __init__(
        self, on_message: Callable[[Child, FromRunner], None], on_death: Callable[[Child], None]
    ) -> None:
        self.under_way: dict[int, Begin] = {}
        self.how_it_died = ""
        self._is_over = False
        self._on_message = on_message
        self._on_death = on_death
        self._frames = Frames()
        self._said: list[Begin | Halt] = []
        self._process: asyncio.subprocess.Process | None = None
        self._transport: asyncio.Transport | None = None
        self._hello: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()

    async def start(self, app: str) -> Hello:
        """Start the process and wait for its first word; raises CannotLoad if it cannot begin."""
        await self._launch(app)
        try:
            async with asyncio.timeout(HELLO_S):
                return await self._hello
        except BaseException:
            await self.end()
            raise

    async def _launch(self, app: str) -> None:
        """The process, and our end of its pipe."""
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", MAIN, app, str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
            )
        self._transport, _ = await loop.create_connection(lambda: self, sock=ours)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def say(self, message: Begin | Halt) -> None:
        """With everything else that is to be said at this moment."""
        if not self._said:
            asyncio.get_running_loop().call_soon(self._flush)
        self._said.append(message)

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def end(self) -> None:
        """Close the pipe, which ends a well-behaved runner; the others are killed. Nobody is told
        of such a death.
        """
        self._is_over = True
        if self._transport is not None:
            self._transport.close()
        if self._process is None:
            return
        try:
            async with asyncio.timeout(1.0):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()

    # What asyncio calls

    def data_received(self, data: bytes) -> None:
        for body in self._frames.feed(data):
            for message in from_runner(body):
                self._heard(message)

    def connection_lost(self, exc: Exception | None) -> None:
        asyncio.get_running_loop().create_task(self._bury())

    # Inside

    def _heard(self, message: FromRunner) -> None:
        if isinstance(message, Hello):
            if not self._hello.done():
                self._hello.set_result(message)
        elif isinstance(message, Refusal):
            if not self._hello.done():
                self._hello.set_exception(CannotLoad(message.error))
        else:
            self._on_message(self, message)

    def _flush(self) -> None:
        said, self._said = self._said, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame(list(said)))

    async def _bury(self) -> None:
        self.kill()
        code = 0 if self._process is None else await self._process.wait()
        self.how_it_died = _in_words(code)
        if not self._hello.done():
            self._hello.set_exception(CannotLoad(f"the runner process {self.how_it_died}"))
        if not self._is_over:
            self._is_over = True
            self._on_death(self)


class CannotLoad(Exception):
    """The code cannot be loaded in a runner process."""


def _in_words(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"
