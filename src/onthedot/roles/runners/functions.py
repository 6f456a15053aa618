"""Python functions, in processes of their own: the process that holds leases runs no user code.

A function that holds the interpreter, leaks or crashes costs its neighbours in that runner a second
start, and nobody a lease. When a runner dies, whoever was in it is a suspect: suspects are called
again one at a time, each alone in a runner, within the same attempt. One that kills three runners
in which it is alone is quarantined. A function that does so is called nowhere else until a call of
it has ended by itself. What may be started at most once is not called again.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from onthedot.core.instants import SECOND
from onthedot.core.outcomes import Result
from onthedot.observe.events import log, warn
from onthedot.roles.runners import Call, Done, Stop
from onthedot.roles.runners.child import CannotLoad, Child
from onthedot.roles.runners.transactions import Transactions
from onthedot.roles.runners.watching import Under, Watch
from onthedot.wire.pipe import Asked, Begin, Blocked, End, FromRunner, Halt, Said, Told

DEATHS_MAX = 3
HALT_S = 5.0
"""So long a call may take to end after it was asked to; then its runner is killed."""

RESTART_S = 0.5
APART_MAX = 10
"""Calls with a process of their own at the same time; more of them wait for their turn."""

SLACK_S = 0.05

MakeChild = Callable[[Callable[[Child, FromRunner], None], Callable[[Child], None]], Child]
"""A runner process to be started, given who hears what it says and who is told of its death."""


class FunctionRunner:
    """Made by `open`. `functions` can be called; `jobs` are what the code declares."""

    def __init__(
        self, app: str, count: int, make_child: MakeChild, transactions: Transactions | None = None
    ) -> None:
        self._transactions = transactions
        self.functions: frozenset[str] = frozenset()
        self.jobs: Sequence[dict[str, Any]] = ()
        self.app = app
        self.count = count
        self._make_child = make_child
        self._children: list[Child] = []
        self._calls: dict[int, Under] = {}
        self._unassigned: deque[Under] = deque()
        self._suspects: deque[Under] = deque()
        self._accused: Under | None = None
        self._isolated: dict[str, int] = {}
        self._apart: set[int] = set()
        self._outside: deque[Under] = deque()
        self._last = 0
        self._watch = Watch(self._calls)
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order in which they began
        self._closing = False

    @classmethod
    async def open(
        cls,
        app: str,
        count: int | None = None,
        *,
        make_child: MakeChild = Child,
        transactions: Transactions | None = None,
    ) -> FunctionRunner:
        """Start the runners; raises CannotLoad if the code cannot be loaded. Exactly-once functions
        write through `transactions`, unless their runners have a database of their own.
        """
        runner = cls(app, count or default_count(), make_child, transactions)
        first = make_child(runner._heard, runner._died)
        hello = await first.start(app)
        runner.functions, runner.jobs = frozenset(hello.functions), hello.jobs
        runner._isolated = hello.isolated
        runner._children.append(first)
        runner._spawn(runner._watch.listen())
        for _ in range(runner.count - 1):
            runner._spawn(runner._start_child())
        return runner

    def start(self, call: Call, done: Done) -> Stop:
        self._last += 1
        number = self._last
        handling, run = call.handling, call.run
        begin = Begin(
            number,
            handling.handler,
            call.payload,
            call.run_id,
            call.job_id,
            run.attempt,
            run.due,
            handling.timeout_us,
            call.checkpoint,
            run.fence if handling.guarantee == "exactly_once" else None,
        )
        under = Under(call, begin, done)
        self._calls[number] = under
        if handling.handler in self._isolated:
            under.ends_at = math.inf
            call.turns.waits(run)
            self._outside.append(under)
            self._let_in()
        else:
            self._assign(under)
        return lambda: self._halt(under)

    @property
    def pids(self) -> list[int]:
        return [child.pid for child in self._children if child.pid is not None]

    async def close(self) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()
        apart = [under.child for under in self._calls.values() if under.child is not None]
        children, self._children = dict.fromkeys([*self._children, *apart]), []
        await asyncio.gather(*(child.end() for child in children))

    # Who calls what

    def _assign(self, under: Under) -> None:
        """To the runner with the least to do, one that answers if there is such; if there is none,
        it waits for the next. What kills its runners goes to none that others are in.
        """
        children, turns = self._children, under.call.turns
        if turns.deadly and under.begin.function in turns.deadly:
            turns.suspected(under.call.run, killed=False)
            self._suspects.append(under)
            self._try_next()
        elif not children:
            turns.waits(under.call.run)
            self._unassigned.append(under)
        else:
            self._give(under, children[0] if len(children) == 1 else min(children, key=_load))

    def _give(self, under: Under, child: Child) -> None:
        under.child = child
        if not child.under_way:
            child.heard_at = asyncio.get_running_loop().time()
        child.under_way[under.begin.number] = under.begin
        child.say(under.begin)

    def _halt(self, under: Under) -> None:
        if under.halted or under.begin.number not in self._calls:
            return
        under.halted = True
        child = under.child
        if child is None:
            self._end(under, None)
            return
        loop = asyncio.get_running_loop()
        if under.ends_at is not None and loop.time() >= under.ends_at - SLACK_S:
            child.kill()  # its time is over, and nobody else is in there
            return
        child.say(Halt(under.begin.number))
        under.timer = loop.call_later(HALT_S, self._kill, under, child)

    def _kill(self, under: Under, child: Child) -> None:
        warn("run.killed", run=under.begin.run_id, function=under.begin.function, waited_s=HALT_S)
        child.kill()

    def _end(self, under: Under, result: Result | None) -> None:
        del self._calls[under.begin.number]
        if under.timer is not None:
            under.timer.cancel()
        if under.child is not None:
            under.child.under_way.pop(under.begin.number, None)
        if self._accused is under:
            self._accused = None
            self._retire(under.child)
        if under.begin.number in self._apart:
            self._apart.remove(under.begin.number)
            self._retire(under.child)
            self._let_in()
        under.done(result)

    # What the runners say

    def _heard(self, child: Child, message: FromRunner) -> None:
        if isinstance(message, Blocked):
            self._watch.name(message)
        elif isinstance(message, Asked):
            self._spawn(self._answer(child, message))
        elif isinstance(message, End):
            under = self._calls.get(message.number)
            if under is not None and under.child is child:
                self._end(under, None if message.stopped else _result(message))
        elif isinstance(message, Said):
            self._said(child, message)

    def _said(self, child: Child, message: Said) -> None:
        under = self._calls.get(message.number)
        if under is None or under.child is not child:
            return
        if message.checkpoint is not None:  # should it be called again, after a runner's death
            under.begin = msgspec.structs.replace(under.begin, checkpoint=message.checkpoint)
        under.call.noted(under.call.run, message)

    async def _answer(self, child: Child, asked: Asked) -> None:
        under = self._calls.get(asked.number)
        if under is None or under.child is not child or self._transactions is None:
            return
        if asked.completes:
            under.completing = True
        told: Told | None = None
        try:
            told = await self._transactions.answer(under.call.run, asked)
            child.say(told)
        finally:  # also without an answer: whoever waits for it would wait for ever
            if asked.completes:
                under.completing, under.completed = False, told is not None and told.error is None
            if under.bereft is not None and asked.number in self._calls:
                self._suspect(under, *under.bereft)
                self._try_next()

    def _died(self, child: Child) -> None:
        """Whoever was in it is a suspect, and is called again alone. One that has a process of its
        own was alone already: its attempt has failed.
        """
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

    def _suspect(self, under: Under, child: Child, alone: bool) -> None:
        under.child = None
        if under.completing:  # whether it was its last word is known in a moment
            under.bereft = child, alone
            return
        under.bereft = None
        if under.completed:
            self._end(under, Result())
            return
        if under.halted:
            self._end(under, None)
            return
        if under.call.run.at_most_once:
            self._end(under, Result(error=f"its runner process {child.how_it_died}", unknown=True))
            return
        if under.ends_at is not None:
            self._end(under, Result(error=f"its process {child.how_it_died}"))
            return
        under.deaths += alone
        under.call.turns.suspected(under.call.run, killed=alone)
        if under.deaths >= DEATHS_MAX:
            error = f"quarantined: its runner process {child.how_it_died}, {DEATHS_MAX} times"
            self._end(under, Result(error=error, retryable=False))
            return
        self._suspects.append(under)

    async def _has_its_turn(self, under: Under) -> bool:
        """Whether a call that had to wait may be made now. If not, it has ended."""
        begins = await under.call.turns.may_begin(under.call.run)
        if under.begin.number not in self._calls:  # it was stopped meanwhile
            return False
        if not begins:
            self._end(under, None)
        return begins

    # Processes of their own

    def _let_in(self) -> None:
        while self._outside and len(self._apart) < APART_MAX:
            under = self._outside.popleft()
            if under.begin.number in self._calls:
                self._apart.add(under.begin.number)
                self._spawn(self._call_apart(under))

    async def _call_apart(self, under: Under) -> None:
        child = self._make_child(self._heard, self._died)
        number = under.begin.number
        try:
            await child.start(self.app, self._isolated[under.begin.function])
        except (CannotLoad, OSError, TimeoutError) as error:
            warn("runner.cannot_start", error=error)
            if number in self._calls:
                self._end(under, Result(error=f"its process could not be started: {error}"))
            return
        if await self._has_its_turn(under):
            timeout_s = under.begin.timeout_us / SECOND
            under.ends_at = asyncio.get_running_loop().time() + timeout_s
            self._give(under, child)
        else:
            await child.end()

    # Suspects

    def _try_next(self) -> None:
        while self._accused is None and self._suspects and not self._closing:
            under = self._suspects.popleft()
            if under.begin.number in self._calls:  # else it was stopped while it waited
                self._accused = under
                self._spawn(self._try(under))

    async def _try(self, under: Under) -> None:
        """Call it alone, in a runner of its own."""
        child = self._make_child(self._heard, self._died)
        try:
            await child.start(self.app)
        except (CannotLoad, OSError, TimeoutError) as error:
            warn("runner.cannot_start", error=error)
            await asyncio.sleep(RESTART_S)
            if self._accused is under:  # else it was stopped meanwhile, and the next one is tried
                self._accused = None
                self._suspects.append(under)
            self._try_next()
            return
        if await self._has_its_turn(under):
            self._give(under, child)
        else:
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
                self._spawn(self._assign_late(under))
            return

    async def _assign_late(self, under: Under) -> None:
        if under.begin.number in self._calls and await self._has_its_turn(under):
            self._assign(under)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)


def _load(child: Child) -> tuple[bool, int]:
    return child.silent, len(child.under_way)


def default_count() -> int:
    """One core is left to the worker."""
    return max(1, (os.cpu_count() or 2) - 1)


_SUCCESS = Result()


def _result(message: End) -> Result:
    if message.error is None and message.output is None:
        return _SUCCESS
    return Result(message.error, message.output, message.retryable, message.retry_after_us)
