"""Python functions, in processes of their own: the process that holds leases runs no user code.

A function that holds the interpreter, leaks or crashes costs its neighbours in that runner a second
start, and nobody a lease. When a runner dies, whoever was in it is a suspect: suspects are called
again one at a time, each alone in a runner, within the same attempt. One that kills three runners
in which it is alone is quarantined. What may be started at most once is not called again.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from onthedot.core.outcomes import Result
from onthedot.observe.events import log, warn
from onthedot.roles.runners import Call, Done, Stop
from onthedot.roles.runners.child import CannotLoad, Child
from onthedot.wire.pipe import Begin, Blocked, End, FromRunner, Halt, Said

DEATHS_MAX = 3
HALT_S = 5.0
"""So long a call may take to end after it was asked to; then its runner is killed."""

RESTART_S = 0.5


MakeChild = Callable[[Callable[[Child, FromRunner], None], Callable[[Child], None]], Child]
"""A runner process to be started, given who hears what it says and who is told of its death."""


@dataclass(slots=True)
class _Under:
    """A call that is under way, or waits for a runner of its own."""

    call: Call
    begin: Begin
    done: Done
    at_most_once: bool
    child: Child | None = None
    deaths: int = 0
    halted: bool = False
    timer: asyncio.TimerHandle | None = field(default=None)


class FunctionRunner:
    """Made by `open`. `functions` can be called; `jobs` are what the code declares."""

    def __init__(self, app: str, count: int, make_child: MakeChild) -> None:
        self.functions: frozenset[str] = frozenset()
        self.jobs: Sequence[dict[str, Any]] = ()
        self.app = app
        self._count = count
        self._make_child = make_child
        self._children: list[Child] = []
        self._calls: dict[int, _Under] = {}
        self._unassigned: deque[_Under] = deque()
        self._suspects: deque[_Under] = deque()
        self._accused: _Under | None = None
        self._last = 0
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order in which they began
        self._closing = False

    @classmethod
    async def open(
        cls, app: str, count: int | None = None, *, make_child: MakeChild = Child
    ) -> FunctionRunner:
        """Start the runners; raises CannotLoad if the code cannot be loaded."""
        runner = cls(app, count or default_count(), make_child)
        first = make_child(runner._heard, runner._died)
        hello = await first.start(app)
        runner.functions, runner.jobs = frozenset(hello.functions), hello.jobs
        runner._children.append(first)
        for _ in range(runner._count - 1):
            runner._spawn(runner._start_child())
        return runner

    def start(self, call: Call, done: Done) -> Stop:
        self._last += 1
        number = self._last
        handling, run = call.handling, call.run
        begin = Begin(
            *(number, handling.handler, call.payload, call.run_id, call.job_id),
            *(run.attempt, run.due, handling.timeout_us, call.checkpoint),
        )
        under = _Under(call, begin, done, run.at_most_once)
        self._calls[number] = under
        self._assign(under)
        return lambda: self._halt(under)

    @property
    def pids(self) -> list[int]:
        return [child.pid for child in self._children if child.pid is not None]

    async def close(self) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()
        children, self._children = self._children, []
        await asyncio.gather(*(child.end() for child in children))

    # Who calls what

    def _assign(self, under: _Under) -> None:
        """To the runner with the least to do; if there is none, it waits for the next."""
        child = min(self._children, key=lambda each: len(each.under_way), default=None)
        if child is None:
            self._unassigned.append(under)
        else:
            self._give(under, child)

    def _give(self, under: _Under, child: Child) -> None:
        under.child = child
        child.under_way[under.begin.number] = under.begin
        child.say(under.begin)

    def _halt(self, under: _Under) -> None:
        if under.halted or under.begin.number not in self._calls:
            return
        under.halted = True
        child = under.child
        if child is None:
            self._end(under, None)
            return
        child.say(Halt(under.begin.number))
        under.timer = asyncio.get_running_loop().call_later(HALT_S, child.kill)

    def _end(self, under: _Under, result: Result | None) -> None:
        del self._calls[under.begin.number]
        if under.timer is not None:
            under.timer.cancel()
        if under.child is not None:
            under.child.under_way.pop(under.begin.number, None)
        if self._accused is under:
            self._accused = None
            self._retire(under.child)
        under.done(result)

    # What the runners say

    def _heard(self, child: Child, message: FromRunner) -> None:
        if isinstance(message, Blocked):
            warn(
                "runner.blocked",
                function=message.function,
                seconds=round(message.seconds, 1),
                where=message.where,
            )
            return
        if not isinstance(message, End | Said):
            return
        under = self._calls.get(message.number)
        if under is None or under.child is not child:
            return
        if isinstance(message, End):
            self._end(under, None if message.stopped else _result(message))
            return
        if message.checkpoint is not None:  # should it be called again, after a runner's death
            under.begin = msgspec.structs.replace(under.begin, checkpoint=message.checkpoint)
        under.call.noted(under.call.run, message)

    def _died(self, child: Child) -> None:
        """Whoever was in it is a suspect, and is called again alone."""
        if self._closing:
            return
        alone = self._accused is not None and self._accused.child is child
        if alone:  # before anybody is told of an end, which may bring the next one up
            self._accused = None
        if child in self._children:
            self._children.remove(child)
            self._spawn(self._start_child())
        functions = sorted({begin.function for begin in child.under_way.values()})
        warn("runner.died", how=child.how_it_died, functions=",".join(functions), alone=alone)
        for number in list(child.under_way):
            self._suspect(self._calls[number], child, alone)
        child.under_way.clear()
        self._try_next()

    def _suspect(self, under: _Under, child: Child, alone: bool) -> None:
        under.child = None
        if under.halted:
            self._end(under, None)
            return
        if under.at_most_once:
            self._end(under, Result(error=f"its runner process {child.how_it_died}", unknown=True))
            return
        under.deaths += alone
        if under.deaths >= DEATHS_MAX:
            error = f"quarantined: its runner process {child.how_it_died}, {DEATHS_MAX} times"
            self._end(under, Result(error=error, retryable=False))
            return
        self._suspects.append(under)

    # Suspects

    def _try_next(self) -> None:
        if self._accused is None and self._suspects and not self._closing:
            self._accused = self._suspects.popleft()
            self._spawn(self._try(self._accused))

    async def _try(self, under: _Under) -> None:
        """Call it alone, in a runner of its own."""
        child = self._make_child(self._heard, self._died)
        try:
            await child.start(self.app)
        except (CannotLoad, OSError, TimeoutError) as error:
            warn("runner.cannot_start", error=error)
            await asyncio.sleep(RESTART_S)
            self._accused = None
            self._suspects.append(under)
            self._try_next()
            return
        if under.begin.number in self._calls:
            self._give(under, child)
        else:  # it was stopped meanwhile
            self._accused = None
            self._retire(child)

    def _retire(self, child: Child | None) -> None:
        if child is not None:
            self._spawn(child.end())
        self._try_next()

    async def _start_child(self) -> None:
        """One more runner, as long as it takes."""
        while not self._closing:  # bounded by the life of the worker
            child = self._make_child(self._heard, self._died)
            try:
                await child.start(self.app)
            except (CannotLoad, OSError, TimeoutError) as error:
                warn("runner.cannot_start", error=error)
                await asyncio.sleep(RESTART_S)
                continue
            log("runner.started", pid=child.pid)
            self._children.append(child)
            waiting, self._unassigned = self._unassigned, deque()
            for under in waiting:
                if under.begin.number in self._calls:
                    self._assign(under)
            return

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)


def default_count() -> int:
    """One core is left to the worker."""
    return max(1, (os.cpu_count() or 2) - 1)


def _result(message: End) -> Result:
    return Result(message.error, message.output, message.retryable, message.retry_after_us)
