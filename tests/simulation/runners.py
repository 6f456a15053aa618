"""Runner processes of a simulation: at the other end of the worker's real pipe, functions that
behave as their name says, and that may take their process with them.

A runner outlives a stall of its node, as a real one does, and goes when the node's end of the pipe
is closed.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING

from onthedot.errors import OnthedotError
from onthedot.roles.runners.child import RunnerChild
from onthedot.runner.transaction import Asks, Transaction, judged
from onthedot.sdk.calling import CallResult
from onthedot.wire.pipe import (
    CallEnded,
    CancelCall,
    Frames,
    FromRunner,
    RunnerHello,
    SqlReply,
    StartCall,
    frame,
    to_runner,
)
from tests.simulation.loop import Life

if TYPE_CHECKING:
    from tests.simulation.history import Effect
    from tests.simulation.process import Process
    from tests.simulation.receiver import Receiver

PIPE_S = 0.0004
DEADLY = ("deadly", "fragile")
STUCK = "stuck"
KINDS = ("ok", "failing", "second", "refusing", "flaky", "hanging", "stubborn", STUCK, *DEADLY)
SECONDS = (0.01, 0.1, 0.2, 0.5, 2.0, 6.0)
FUNCTIONS = sorted(f"{kind}/{seconds}" for kind in KINDS for seconds in SECONDS)
KEEP = "insert into kept (run_id, effect) values ($1, $2)"
STUBBORN = 3.0
"""So many times longer than a callback a function takes to stop: some are killed for it."""


class SimulatedChild(RunnerChild):
    """The worker's side, which is the real one but for how the process is started."""

    def __init__(
        self,
        receiver: Receiver,
        process: Process,
        on_message: Callable[[RunnerChild, FromRunner], None],
        on_death: Callable[[RunnerChild], None],
    ) -> None:
        super().__init__(on_message, on_death)
        self._receiver = receiver
        self._owner = process

    async def _launch(self, app: str, memory_limit: int) -> None:
        chance = self._receiver.chance
        await asyncio.sleep(chance.uniform(0.02, 0.3))
        program = Program(self._receiver, self._owner, self, copy_context())
        self._owner.programs.append(program)
        self._process, self._transport = program, Pipe(program)  # type: ignore[assignment]
        program.say(RunnerHello(FUNCTIONS, []))


class Pipe:
    """The node's end: what is written arrives a little later, whatever becomes of the node."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._closed = False

    def write(self, data: bytes) -> None:
        program = self._program
        program.world.loop.outside(PIPE_S, program.hear, data, program.is_told_on_threshold())

    def close(self) -> None:
        self._closed = True
        self._program.world.loop.outside(PIPE_S, self._program.die, 0)

    def is_closing(self) -> bool:
        return self._closed


class Program:
    """The process: it stands where that of asyncio would, and calls the functions."""

    def __init__(
        self, receiver: Receiver, process: Process, child: SimulatedChild, home: Context
    ) -> None:
        self.world = receiver.world
        self.pid = receiver.next_pid()
        self.name = f"{process.name}.{self.pid}"
        self.returncode: int | None = None
        self._receiver = receiver
        self._process = process
        self._child = child
        self._home = home
        self._life = Life(self.name)
        self._frames = Frames()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._effects: dict[int, Effect] = {}
        self._over = asyncio.Event()
        self._asks = Asks(self.say)

    # What asyncio's process has

    def kill(self) -> None:
        if self.returncode is None:
            self.world.history.runner_kills.add(self.name)
            self.die(-signal.SIGKILL)

    async def wait(self) -> int:
        await self._over.wait()
        assert self.returncode is not None
        return self.returncode

    # Life and death

    def die(self, code: int) -> None:
        """No function of it runs any further instruction."""
        if self.returncode is not None:
            return
        self.returncode = code
        loop = self.world.loop
        loop.halt(self._life)
        self.world.note(self.name, f"ends with {code}, {len(self._effects)} under way")
        self.world.history.runner_deaths[self.name] = loop.now_us
        for effect in self._effects.values():
            self._receiver.leave(effect, "stopped")
        self._over.set()
        loop.call_later(PIPE_S, self._child.connection_lost, None, context=self._home)

    def say(self, message: FromRunner) -> None:
        """It waits in the pipe while the node stands still."""
        heard = self._child.data_received
        self.world.loop.call_later(PIPE_S, heard, frame([message]), context=self._home)

    def is_told_on_threshold(self) -> bool:
        """Whether the node decided to write this before its last stall."""
        return self._process.has_just_woken()

    def hear(self, data: bytes, on_threshold: bool) -> None:
        if self.returncode is not None:
            return
        for body in self._frames.feed(data):
            for message in to_runner(body):
                if isinstance(message, StartCall):
                    self._begin(message, on_threshold)
                elif isinstance(message, SqlReply):
                    self._asks.told(message)
                elif isinstance(message, CancelCall) and message.number in self._tasks:
                    self._effects[message.number].asked_at = self.world.loop.now_us
                    self._tasks[message.number].cancel()

    # Functions

    def _begin(self, begin: StartCall, on_threshold: bool) -> None:
        effect = self._receiver.arrive(self._process, begin, runner=self.name)
        effect.on_threshold = on_threshold
        self._effects[begin.number] = effect
        work = self._call(begin, effect)
        self._tasks[begin.number] = self.world.loop.start(self._life, work, f"{self.name}/call")

    async def _call(self, begin: StartCall, effect: Effect) -> None:
        kind, _, amount = begin.function.partition("/")
        chance = self._receiver.chance
        deadly = kind == "deadly" or (kind == "fragile" and chance.random() < 0.5)
        as_if = f"ok/{amount}" if kind in DEADLY else begin.function
        end, seconds, stubborn_s = self._receiver.decide(f"http://handler/{as_if}", begin.attempt)
        answer = CallResult(None, effect.name)
        if end != "ok":
            answer = CallResult(f"HTTP 500 {effect.name}", retryable=end != "refused")
        try:
            await asyncio.sleep(seconds)
            if begin.fence is not None:
                if deadly and chance.random() < 0.5:  # it asks, and may not hear the answer
                    self.world.loop.call_later(chance.uniform(0, 0.01), self.die, -signal.SIGSEGV)
                    deadly = False
                answer = await self._keep(begin, effect, answer)
        except asyncio.CancelledError:
            if stubborn_s:
                await asyncio.sleep(stubborn_s * STUBBORN)
            self._end(begin, effect, "stopped", CallEnded(begin.number, stopped=True))
            return
        if deadly:
            self.die(-signal.SIGSEGV)
            return
        if end == "ok" and answer.error is not None:
            end = "undone"
        self._end(begin, effect, end, CallEnded(begin.number, *answer[:3]))

    async def _keep(self, begin: StartCall, effect: Effect, answer: CallResult) -> CallResult:
        """Write in the transaction of the run; what fails in there must leave nothing behind."""
        started = max(begin.scheduled_for, self._process.clock.now())
        ask = self._asks.of(begin.number, started)
        transaction = Transaction(begin, started, ask=ask, database=None)
        try:
            async with transaction as connection:
                await connection.execute(KEEP, begin.run_id, effect.name)
                if answer.error is not None:
                    raise InterruptedError
        except InterruptedError:
            pass
        except OnthedotError as error:
            answer = CallResult(f"{error}")
        return judged(transaction, answer)

    def _end(self, begin: StartCall, effect: Effect, how: str, said: CallEnded) -> None:
        if self.returncode is not None:  # it ended with its process; now the simulation ends, too
            return
        del self._tasks[begin.number], self._effects[begin.number]
        self._receiver.leave(effect, how)
        self.say(said)
