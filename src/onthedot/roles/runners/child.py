"""One runner process, as the worker sees it: a pipe, what is under way in it, and how it died."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from onthedot.wire.pipe import (
    CallEnded,
    Frames,
    FromRunner,
    LoadFailed,
    RunnerAlive,
    RunnerHello,
    SqlReply,
    StartCall,
    ToRunner,
    frames,
    from_runner,
)

MAIN = "onthedot.runner"
HELLO_S = 60.0
DYING_S = 1.0
"""So long a runner that has closed its pipe may take to be gone."""
LAST_WORDS_S = 0.5
"""So long what a dead runner had said before may take to be read."""
DATABASE = "ONTHEDOT_RUNNER_DATABASE"
"""Not an argument: everybody on the machine could read that."""
SERVERS = "ONTHEDOT_DATABASE"


class RunnerChild(asyncio.Protocol):
    """`on_message` gets what it says, `on_death` is called once, when it is gone. `database`: where
    exactly-once functions write themselves; empty: through us.
    """

    def __init__(
        self,
        on_message: Callable[[RunnerChild, FromRunner], None],
        on_death: Callable[[RunnerChild], None],
        *,
        database: str = "",
    ) -> None:
        self._database = database
        self.under_way: dict[int, StartCall] = {}
        self.asked = 0
        """So many calls in it were asked to end and have not."""
        self.how_it_died = ""
        self.was_killed = False
        """It died because the worker killed it."""
        self.heard_at = 0.0
        self.silent = False
        self.beats = False
        self._group: int | None = None
        self._killed = False
        self._oom_kills = 0
        self._is_over = False
        self._on_message = on_message
        self._on_death = on_death
        self._frames = Frames()
        self._said: list[ToRunner] = []
        self._process: asyncio.subprocess.Process | None = None
        self._outliving: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._hello: asyncio.Future[RunnerHello] = asyncio.get_running_loop().create_future()

    async def start(self, app: str, memory_limit: int = 0) -> RunnerHello:
        """Start the process and wait for its first word; raises CannotLoad if it cannot begin."""
        self._oom_kills = _oom_kills()
        await self._launch(app, memory_limit)
        try:
            async with asyncio.timeout(HELLO_S):
                return await self._hello
        except BaseException:
            await self.end()
            raise

    async def _launch(self, app: str, memory_limit: int) -> None:
        """The process, and our end of its pipe. It leads a group of its own, so that whatever it
        starts can be killed with it.
        """
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", MAIN, app, str(theirs.fileno())),
                *(str(os.getpid()), str(memory_limit)),
                pass_fds=(theirs.fileno(),),
                env=self._environment(),
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        self._group = self._process.pid
        self._transport, _ = await loop.create_connection(lambda: self, sock=ours)
        self._outliving = loop.create_task(self._outlive(self._process, self._transport))

    async def _outlive(
        self, process: asyncio.subprocess.Process, transport: asyncio.Transport
    ) -> None:
        """A process that a function has forked holds the pipe, too, and may live longer than the
        runner: then only this tells that the runner is gone.
        """
        await process.wait()
        await asyncio.sleep(LAST_WORDS_S)
        transport.abort()

    def _environment(self) -> dict[str, str]:
        """Ours; but functions that have a way to the database of their own are not given ours."""
        ours = dict(os.environ)
        if self._database and ours.get(SERVERS) != self._database:
            ours.pop(SERVERS, None)
        return ours | {DATABASE: self._database}

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def say(self, message: ToRunner) -> None:
        """With everything else that is to be said at this moment."""
        if not self._said:
            asyncio.get_running_loop().call_soon(self._flush)
        self._said.append(message)

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._killed = True
            self._kill_group()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                self._process.kill()

    def _kill_group(self) -> None:
        """With what its functions have started, which would go on with a run that is tried again.
        Once: when nobody is left, another group may get its number.
        """
        group, self._group = self._group, None
        if group is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

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
        self.heard_at = asyncio.get_running_loop().time()
        self.silent = False

    def connection_lost(self, exc: Exception | None) -> None:
        asyncio.get_running_loop().create_task(self._report_death())

    # Inside

    def _heard(self, message: FromRunner) -> None:
        if isinstance(message, CallEnded):  # nearly all that is ever said
            self._on_message(self, message)
        elif isinstance(message, RunnerHello):
            if not self._hello.done():
                self._hello.set_result(message)
        elif isinstance(message, LoadFailed):
            if not self._hello.done():
                self._hello.set_exception(CannotLoad(message.error))
        elif isinstance(message, RunnerAlive):
            self.beats = True
        else:
            self._on_message(self, message)

    def _flush(self) -> None:
        said, self._said = self._said, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frames(said, _instead))

    async def _report_death(self) -> None:
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DYING_S):
                    await self._process.wait()
        self.was_killed = self._killed
        self.kill()
        if not self._is_over:
            self._kill_group()
        code = 0 if self._process is None else await self._process.wait()
        self.how_it_died = _in_words(code)
        if code == -signal.SIGKILL and not self.was_killed and _oom_kills() > self._oom_kills:
            self.how_it_died = "ran out of memory: the kernel killed it (SIGKILL)"
        if not self._hello.done():
            self._hello.set_exception(CannotLoad(f"the runner process {self.how_it_died}"))
        if not self._is_over:
            self._is_over = True
            self._on_death(self)


def _instead(message: ToRunner, why: str) -> ToRunner | None:
    return SqlReply(message.ask, why) if isinstance(message, SqlReply) else None


class CannotLoad(Exception):
    """The code cannot be loaded in a runner process."""


def _oom_kills() -> int:
    """How often the kernel has killed for want of memory; 0 where it does not tell."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return 0


def _in_words(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


MakeChild = Callable[
    [Callable[[RunnerChild, FromRunner], None], Callable[[RunnerChild], None]], RunnerChild
]
"""A runner process to be started, given who hears what it says and who is told of its death."""
