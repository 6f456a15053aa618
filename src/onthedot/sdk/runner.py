"""A runner process: imports the user's code, says what it has, and calls what it is told to.

Started by a worker as `python -m onthedot.sdk.runner module:app FD PARENT MEMORY`. Coroutines run
on its loop, functions in its threads. It ends when the pipe does, or the worker.
"""

from __future__ import annotations

import asyncio
import faulthandler
import importlib
import os
import signal
import socket
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onthedot.clock import SystemClock
from onthedot.errors import Invalid, OnthedotError
from onthedot.roles.running import collect_rarely
from onthedot.sdk.app import App, Function
from onthedot.sdk.calling import call, in_words
from onthedot.sdk.context import Context
from onthedot.sdk.isolation import in_words as in_words_of
from onthedot.sdk.isolation import leave_with_parent, limit_memory
from onthedot.sdk.notes import Notes
from onthedot.sdk.printing import capture, capture_logging
from onthedot.sdk.transaction import Asks, Transaction
from onthedot.wire.pipe import (
    Alive,
    Begin,
    Blocked,
    End,
    Frames,
    FromRunner,
    Hello,
    Refusal,
    Said,
    Told,
    frame,
    to_runner,
)

if TYPE_CHECKING:
    from onthedot.store.postgres.transacting import Transactions

THREADS = 10
COLLECT_EVERY = 20_000
"""Objects until cycles are looked for: functions may leave some, so sooner than in the server."""

CLOCK = SystemClock()
BLOCKED_S = 1.0
NEWS_S = 0.2
"""What a call says in so long is passed on together."""


def load(reference: str) -> App:
    """The app that `module:attribute` names. Raises Invalid if there is none."""
    module_name, _, attribute = reference.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), attribute or "app")
    except (ImportError, AttributeError) as error:
        raise Invalid(
            f"cannot load {reference}: {error}",
            hint="Name a module and the App in it: --app package.module:app.",
        ) from error
    if not isinstance(found, App):
        raise Invalid(f"{reference} is a {type(found).__name__}, not an App")
    return found


class Runner(asyncio.Protocol):
    def __init__(self, app: App, memory_limit: int) -> None:
        self.gone = asyncio.Event()
        self._app = app
        self._memory_limit = memory_limit
        self._frames = Frames()
        self._tasks: dict[int, asyncio.Task[End]] = {}
        self._under_way: dict[int, tuple[Function[Any, Any], Context]] = {}
        self._said: list[FromRunner] = []
        self._transport: asyncio.Transport | None = None
        self._database = _database()
        self._asks = Asks(self.say)
        self.beat = 0.0

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        jobs = [function.declaration() for function in self._app.functions.values()]
        isolated = {
            name: function.isolation.memory_bytes
            for name, function in self._app.functions.items()
            if function.isolation is not None
        }
        self.say(Hello(sorted(self._app.functions), jobs, isolated))
        self.say(Alive())

    def data_received(self, data: bytes) -> None:
        for body in self._frames.feed(data):
            for message in to_runner(body):
                if isinstance(message, Begin):
                    self._begin(message)
                elif isinstance(message, Told):
                    self._asks.told(message)
                elif message.number in self._tasks:
                    self._halt(message.number)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()

    def say(self, message: FromRunner) -> None:
        if not self._said:
            asyncio.get_running_loop().call_soon(self._flush)
        self._said.append(message)

    # Inside

    def _flush(self) -> None:
        said, self._said = self._said, []
        if self._transport is not None:
            self._transport.write(frame(list(said)))

    def _halt(self, number: int) -> None:
        """A coroutine is cancelled. A thread cannot be: it is told, and ends when it likes; the
        worker does not wait for long.
        """
        function, context = self._under_way[number]
        context.halt.set()
        if function.is_coroutine:
            self._tasks[number].cancel()

    def _begin(self, begin: Begin) -> None:
        function = self._app.functions[begin.function]
        number, loop = begin.number, asyncio.get_running_loop()
        notes = Notes(
            lambda: loop.call_soon_threadsafe(loop.call_later, NEWS_S, self._tell, number),
            checkpoint=begin.checkpoint,
        )
        stake = None if begin.fence is None else self._stake(begin)
        context = Context(
            run_id=begin.run_id,
            job_id=begin.job_id,
            attempt=begin.attempt,
            scheduled_us=begin.scheduled_for,
            deadline_us=CLOCK.now() + begin.timeout_us,
            notes=notes,
            stake=stake,
        )
        self._under_way[begin.number] = function, context
        task = asyncio.get_running_loop().create_task(self._run(begin, function, context))
        self._tasks[begin.number] = task
        task.add_done_callback(lambda ended: self._ended(begin.number, ended))

    def _tell(self, number: int) -> None:
        """Pass on what a call has said since the last time."""
        if number in self._under_way:
            news = self._under_way[number][1].notes.take()
            if news is not None:
                self.say(Said(number, *news))

    def _stake(self, begin: Begin) -> Transaction:
        started = max(begin.scheduled_for, CLOCK.now())
        ask = self._asks.of(begin.number, started)
        return Transaction(begin, started, ask=ask, database=self._database)

    def _ended(self, number: int, task: asyncio.Task[End]) -> None:
        self._tell(number)
        del self._tasks[number]
        _, context = self._under_way.pop(number)
        if context.stake is not None and context.stake.committed:
            self.say(End(number))
            return
        stopped = task.cancelled() or context.cancelled
        self.say(End(number, stopped=True) if stopped else task.result())

    async def _run(self, begin: Begin, function: Function[Any, Any], context: Context) -> End:
        answer = await call(function, begin.payload, context)
        if context.stake is not None:
            answer = context.stake.judged(answer)
        error, output, retryable, after_us = answer
        if error is not None and self._memory_limit and error.startswith("MemoryError"):
            error = f"out of memory: limit {in_words_of(self._memory_limit)}\n{error}"
        return End(begin.number, error, output, retryable, retry_after_us=after_us)

    def beats(self) -> None:
        """The loop goes round."""
        self.beat = CLOCK.monotonic()
        if self._tasks:
            self.say(Alive())

    def suspects(self, loop: asyncio.AbstractEventLoop) -> tuple[list[int], bool]:
        """From another thread: the calls of which one holds up the loop, and whether it does so in
        a coroutine. If none is being stepped, some function in a thread has the interpreter.
        """
        stepped = asyncio.current_task(loop)
        calls = [(number, task) for number, task in list(self._tasks.items())]
        if stepped is None:
            plain = [number for number, _ in calls if not self._is_coroutine(number)]
            return plain, False
        own = [number for number, task in calls if task is stepped]
        return own or [number for number, _ in calls if self._is_coroutine(number)], True

    def _is_coroutine(self, number: int) -> bool:
        known = self._under_way.get(number)
        return known is not None and known[0].is_coroutine


def _database() -> Transactions | None:
    """Where functions write themselves, if they do. Taken out of the environment, so that processes
    which they start do not see it.
    """
    url = os.environ.pop("ONTHEDOT_RUNNER_DATABASE", "")
    if not url:
        return None
    from onthedot.store.postgres.transacting import Transactions

    return Transactions(url)


def _watch(runner: Runner, loop: asyncio.AbstractEventLoop, main: int) -> None:
    """From a thread: name whoever holds up the loop, or held the interpreter until just now."""
    said = 0.0
    while True:
        time.sleep(BLOCKED_S / 4)
        silent = CLOCK.monotonic() - runner.beat
        if runner.beat and silent > BLOCKED_S and runner.beat != said:
            said = runner.beat
            numbers, in_coroutine = runner.suspects(loop)
            if numbers:
                where = _stands(main) if in_coroutine else "a thread that holds the interpreter"
                loop.call_soon_threadsafe(runner.say, Blocked(numbers, silent, where))


def _stands(thread: int) -> str:
    stack = traceback.extract_stack(sys._current_frames()[thread])
    return f"{stack[-1].filename}:{stack[-1].lineno} in {stack[-1].name}"


async def _serve(app: App, fd: int, memory_limit: int) -> None:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS, "function"))
    runner = Runner(app, memory_limit)
    await loop.create_connection(lambda: runner, sock=socket.socket(fileno=fd))
    watching = (runner, loop, threading.get_ident())
    threading.Thread(target=_watch, args=watching, daemon=True).start()
    while not runner.gone.is_set():
        runner.beats()
        try:
            async with asyncio.timeout(BLOCKED_S / 4):
                await runner.gone.wait()
        except TimeoutError:
            continue


def main(reference: str, fd: int, parent: int, memory_limit: int) -> None:
    leave_with_parent(parent)
    # The worker decides when a runner ends: a Ctrl-C in the terminal goes to all of them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.dup2(2, 1)  # the server's standard output is for what it says, not for what functions say
    faulthandler.enable(sys.stderr)  # of a crash, the line where it happened
    capture()
    if memory_limit:
        limit_memory(memory_limit)
    try:
        app = load(reference)
    except Exception as error:  # noqa: BLE001  (code that cannot be imported may raise anything)
        words = f"{error}" if isinstance(error, OnthedotError) else in_words(error)
        with socket.socket(fileno=fd) as pipe:
            pipe.sendall(frame([Refusal(words)]))
        sys.exit(1)
    capture_logging()
    collect_rarely(COLLECT_EVERY)
    asyncio.run(_serve(app, fd, memory_limit))
    os._exit(0)  # threads that are still in a function are not waited for


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
