"""A runner process: imports the user's code, says what it has, and calls what it is told to.

Started by a worker as `python -m onthedot.runner module:app FD PARENT MEMORY`. Coroutines run
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
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

from onthedot.clock import SystemClock
from onthedot.core.instants import Instant
from onthedot.errors import Invalid, OnthedotError
from onthedot.event_loop import collect_rarely, fast_loop
from onthedot.runner.transaction import Asks, Transaction, judged
from onthedot.sdk.app import App, Function
from onthedot.sdk.calling import NOTHING, CallResult, call, in_words
from onthedot.sdk.context import Context
from onthedot.sdk.isolation import in_words as in_words_of
from onthedot.sdk.isolation import leave_with_parent, limit_memory
from onthedot.sdk.notes import CallNotes
from onthedot.sdk.printing import capture, capture_logging
from onthedot.wire.pipe import (
    CallEnded,
    CallOutput,
    CallReturned,
    Frames,
    FromRunner,
    LoadFailed,
    LoopBlocked,
    RetireRunner,
    RunnerAlive,
    RunnerHello,
    SqlReply,
    SqlRequest,
    StartCall,
    frame,
    frames,
    to_runner,
)

if TYPE_CHECKING:
    from onthedot.store.postgres.transacting import PostgresTransactions

THREADS = 10
WATCHER = "watcher"
COLLECT_EVERY = 20_000
"""Objects until cycles are looked for: functions may leave some, so sooner than in the server."""

CLOCK = SystemClock()
BLOCKED_S = 1.0
NEWS_S = 0.2
"""What a call says in so long is passed on together."""

GIVE_BACK_S = 0.05
"""What came just before the word that nothing more comes has had its first step by then."""

P = ParamSpec("P")
T = TypeVar("T")


def load(reference: str) -> App:
    """The app that `module:attribute` names. Raises Invalid if there is none."""
    module_name, _, attribute = reference.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), attribute or "app")
    except Exception as error:
        raise Invalid(
            f"cannot load {reference}: {type(error).__name__}: {error}{_where(error)}",
            hint="Name a module and the App in it: --app package.module:app.",
        ) from error
    if not isinstance(found, App):
        raise Invalid(f"{reference} is a {type(found).__name__}, not an App")
    return found


def _where(error: Exception) -> str:
    """The file and the line of the user's code at which loading it failed, if it came so far."""
    if isinstance(error, SyntaxError):
        return ""  # it says so itself
    ours = (__file__, importlib.__file__)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in ours and not frame.filename.startswith("<frozen")
    ]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


class _Under(NamedTuple):
    """A call that is under way."""

    function: Function[Any, Any]
    context: Context
    task: asyncio.Task[None]


class Threads(ThreadPoolExecutor):
    """For plain functions. Knows what each task has asked for last."""

    def __init__(self) -> None:
        super().__init__(THREADS, "function")
        self._asked: WeakKeyDictionary[asyncio.Task[Any], Future[Any]] = WeakKeyDictionary()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future = super().submit(fn, *args, **kwargs)
        task = asyncio.current_task()
        if task is not None:
            self._asked[task] = future
        return future

    def call_off(self, task: asyncio.Task[Any]) -> bool:
        """What it has asked for, if that has not begun; whether it has not."""
        future = self._asked.get(task)
        return future is not None and future.cancel()


class RunnerProcess(asyncio.Protocol):
    def __init__(self, app: App, memory_limit: int, threads: Threads) -> None:
        self.gone = asyncio.Event()
        self._threads = threads
        self._unbegun: set[int] = set()
        self._app = app
        self._memory_limit = memory_limit
        self._frames = Frames()
        self._under_way: dict[int, _Under] = {}
        self._loop = asyncio.get_running_loop()
        self._said: list[FromRunner] = []
        self._transport: asyncio.Transport | None = None
        self._database = _database()
        self._asks = Asks(self.say)
        self.beat = 0.0
        self.found: deque[LoopBlocked] = deque()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        jobs = [function.declaration() for function in self._app.functions.values()]
        isolated = {
            name: function.isolation.memory_bytes
            for name, function in self._app.functions.items()
            if function.isolation is not None
        }
        self.say(RunnerHello(sorted(self._app.functions), jobs, isolated))
        self.say(RunnerAlive())

    def data_received(self, data: bytes) -> None:
        now = CLOCK.now()
        for body in self._frames.feed(data):
            for message in to_runner(body):
                if isinstance(message, StartCall):
                    self._begin(message, now)
                elif isinstance(message, SqlReply):
                    self._asks.told(message)
                elif isinstance(message, RetireRunner):
                    self._loop.call_later(GIVE_BACK_S, self._give_back)
                elif message.number in self._under_way:
                    self._halt(message.number)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()

    def say(self, message: FromRunner) -> None:
        if not self._said:
            self._loop.call_soon(self._flush)
        self._said.append(message)

    # Inside

    def _flush(self) -> None:
        said, self._said = self._said, []
        if self._transport is not None:
            self._transport.write(frames(said, self._instead))

    def _instead(self, message: FromRunner, why: str) -> FromRunner | None:
        if isinstance(message, SqlRequest):
            self._asks.told(SqlReply(message.ask, why))
        elif isinstance(message, CallEnded):
            return CallEnded(message.number, why, retryable=False)
        return None

    def _halt(self, number: int) -> None:
        """A coroutine is cancelled. A thread cannot be: it is told, and ends when it likes; the
        worker does not wait for long. What has no thread yet does not get one.
        """
        under = self._under_way[number]
        under.context.halted = True
        self._threads.call_off(under.task)
        if under.function.is_coroutine:
            # One that has not taken its first step never will, and says nothing itself.
            under.task.add_done_callback(lambda task: self._ended(number, NOTHING))
            under.task.cancel()

    def _give_back(self) -> None:
        """Plain functions for which there was no thread: where nobody blocks it they can begin."""
        for number, under in self._under_way.items():
            if not under.function.is_coroutine and self._threads.call_off(under.task):
                self._unbegun.add(number)  # its task is about to be cancelled, and says so

    def _begin(self, begin: StartCall, now: Instant) -> None:
        function, number = self._app.functions[begin.function], begin.number
        context = Context(
            run_id=begin.run_id,
            job_id=begin.job_id,
            attempt=begin.attempt,
            scheduled_us=begin.scheduled_for,
            deadline_us=now + begin.timeout_us,
            notes=CallNotes(partial(self._has_news, number), checkpoint=begin.checkpoint),
            run_transaction=None if begin.fence is None else self._transaction_of(begin, now),
        )
        task = self._loop.create_task(self._run(number, function, begin.payload, context))
        self._under_way[number] = _Under(function, context, task)

    def _has_news(self, number: int) -> None:
        """From whichever thread."""
        self._loop.call_soon_threadsafe(self._loop.call_later, NEWS_S, self._tell, number)

    def _tell(self, number: int) -> None:
        """Pass on what a call has said since the last time."""
        under = self._under_way.get(number)
        news = None if under is None else under.context.notes.take()
        if news is not None:
            self.say(CallOutput(number, *news))

    def _transaction_of(self, begin: StartCall, now: Instant) -> Transaction:
        started = max(begin.scheduled_for, now)
        ask = self._asks.of(begin.number, started)
        return Transaction(begin, started, ask=ask, database=self._database)

    async def _run(
        self, number: int, function: Function[Any, Any], payload: str, context: Context
    ) -> None:
        try:
            answer = await call(function, payload, context)
        except asyncio.CancelledError:  # asked for by us, or by the function itself
            context.halted = True
            answer = NOTHING
        if context.run_transaction is not None:
            answer = judged(context.run_transaction, answer)
        self._ended(number, answer)

    def report(self) -> None:
        """Say what the watch has found: before the end of those whom it names."""
        while self.found:
            self.say(self.found.popleft())

    def _ended(self, number: int, answer: CallResult) -> None:
        self.report()
        self._tell(number)
        under = self._under_way.pop(number, None)
        if under is None:
            return
        if number in self._unbegun:
            self.say(CallReturned(number))
            return
        context = under.context
        is_committed = context.run_transaction is not None and context.run_transaction.committed
        if context.halted and not is_committed:
            self.say(CallEnded(number, stopped=True))
            return
        error, output, retryable, after_us = answer
        if error is not None and self._memory_limit and error.startswith("MemoryError"):
            error = f"out of memory: limit {in_words_of(self._memory_limit)}\n{error}"
        self.say(CallEnded(number, error, output, retryable, retry_after_us=after_us))

    def beats(self) -> None:
        """The loop goes round."""
        self.beat = CLOCK.monotonic()
        if self._under_way:
            self.say(RunnerAlive())

    def suspects(self, loop: asyncio.AbstractEventLoop) -> tuple[list[int], bool]:
        """From another thread: the calls of which one holds up the loop, and whether it does so in
        a coroutine. If none is being stepped, some function in a thread has the interpreter.
        """
        stepped = asyncio.current_task(loop)
        calls = list(self._under_way.items())
        if stepped is None:
            return [number for number, each in calls if not each.function.is_coroutine], False
        own = [number for number, each in calls if each.task is stepped]
        return own or [number for number, each in calls if each.function.is_coroutine], True


def _database() -> PostgresTransactions | None:
    """Where functions write themselves, if they do. Taken out of the environment, so that processes
    which they start do not see it.
    """
    url = os.environ.pop("ONTHEDOT_RUNNER_DATABASE", "")
    if not url:
        return None
    from onthedot.store.postgres.transacting import PostgresTransactions

    return PostgresTransactions(url)


def _watch(
    runner: RunnerProcess, loop: asyncio.AbstractEventLoop, main: int, over: threading.Event
) -> None:
    """From a thread: name whoever holds up the loop, or held the interpreter until just now. Not
    with time.sleep, which fails where the wall clock is false: by libfaketime, in tests.
    """
    said = 0.0
    while not over.wait(BLOCKED_S / 4):
        try:
            said = _look(runner, loop, main, said)
        except Exception:  # noqa: BLE001  (it names culprits: without it nobody would know of them)
            traceback.print_exc()


def _look(runner: RunnerProcess, loop: asyncio.AbstractEventLoop, main: int, said: float) -> float:
    """Name whoever holds up the loop now, once; since when it was held up that was said of."""
    silent = CLOCK.monotonic() - runner.beat
    if runner.beat and silent > BLOCKED_S and runner.beat != said:
        said = runner.beat
        numbers, in_coroutine = runner.suspects(loop)
        if numbers:
            where = _stands(main) if in_coroutine else "a thread that holds the interpreter"
            runner.found.append(LoopBlocked(numbers, silent, where))
            loop.call_soon_threadsafe(runner.report)
    return said


def _stands(thread: int) -> str:
    stack = traceback.extract_stack(sys._current_frames()[thread])
    return f"{stack[-1].filename}:{stack[-1].lineno} in {stack[-1].name}"


async def _serve(app: App, fd: int, memory_limit: int) -> None:
    loop = asyncio.get_running_loop()
    threads = Threads()
    loop.set_default_executor(threads)
    runner = RunnerProcess(app, memory_limit, threads)
    await loop.create_connection(lambda: runner, sock=socket.socket(fileno=fd))
    over = threading.Event()
    watching = (runner, loop, threading.get_ident(), over)
    threading.Thread(target=_watch, args=watching, name=WATCHER, daemon=True).start()
    while not runner.gone.is_set():
        runner.beats()
        try:
            async with asyncio.timeout(BLOCKED_S / 4):
                await runner.gone.wait()
        except TimeoutError:
            continue
    over.set()  # the loop that it would speak to is about to be closed


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
            pipe.sendall(frame([LoadFailed(words)]))
        sys.exit(1)
    capture_logging()
    collect_rarely(COLLECT_EVERY)
    with asyncio.Runner(loop_factory=fast_loop()) as loop:
        loop.run(_serve(app, fd, memory_limit))
    os._exit(0)  # threads that are still in a function are not waited for
