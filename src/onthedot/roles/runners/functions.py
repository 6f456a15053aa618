"""Python functions, in processes of their own: the process that holds leases runs no user code.

A function that holds the interpreter, leaks or crashes costs its neighbours in that runner a second
start, and nobody a lease. When a runner dies, whoever was in it is a suspect: suspects are called
again one at a time, each alone in a runner, within the same attempt. One that kills three runners
in which it is alone is quarantined. A function that does so is called nowhere else until a call of
it has ended by itself. What may be started at most once is not called again, and so shares its
runners only with its like.

A call that does not end when it is asked to retires its runner: that takes no new call, another one
takes its place, and it is killed once its other calls have ended or had their time.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from onthedot.core.instants import SECOND
from onthedot.core.killers import ALONE_MAX, ASKED_S
from onthedot.core.node_faults import fault_of
from onthedot.core.outcomes import Result
from onthedot.observe.events import warn
from onthedot.roles.runners import Call, Done, Stop
from onthedot.roles.runners.child import MakeChild, RunnerChild
from onthedot.roles.runners.pools import RESTART_S, Places, Pools, Retiring, default_count
from onthedot.roles.runners.transactions import FunctionTransactions
from onthedot.roles.runners.watching import ActiveCall, CallWatch, begin_of, result_of
from onthedot.wire import pipe

DEATHS_MAX = 3
STUCK_S = 0.7
"""A call that has not ended so long after it was asked to retires its runner."""

RETIRING_MIN = 4
APART_MAX = 10
"""Calls of functions that want a process of their own, at the same time."""

SLACK_S = 0.05


class FunctionRunner:
    """Made by `open`. `functions` can be called; `jobs` are what the code declares."""

    def __init__(
        self,
        app: str,
        count: int,
        make_child: MakeChild,
        transactions: FunctionTransactions | None = None,
    ) -> None:
        self._transactions = transactions
        self.functions: frozenset[str] = frozenset()
        self.jobs: Sequence[dict[str, Any]] = ()
        self.app = app
        self.count = count
        self._make_child = make_child
        self._calls: dict[int, ActiveCall] = {}
        self._pools = Pools(self._launch, self._assign_late, self._spawn)
        self._retiring = Retiring(self._calls, max(RETIRING_MIN, count), self._spawn)
        self._suspects: deque[ActiveCall] = deque()
        self._accused: ActiveCall | None = None
        self._isolated: dict[str, int] = {}
        self._apart = Places(APART_MAX, self._calls, self._enter)
        self._stuck = Places(ALONE_MAX, self._calls, self._enter)
        self._last = 0
        self._watch = CallWatch(self._calls, self._fell_silent)
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order in which they began
        self._closing = False

    @classmethod
    async def open(
        cls,
        app: str,
        count: int | None = None,
        *,
        make_child: MakeChild = RunnerChild,
        transactions: FunctionTransactions | None = None,
    ) -> FunctionRunner:
        """Start the runners; raises CannotLoad if the code cannot be loaded. Exactly-once functions
        write through `transactions`, unless their runners have a database of their own.
        """
        runner = cls(app, count or default_count(), make_child, transactions)
        first = make_child(runner._heard, runner._died)
        hello = await first.start(app)
        runner.functions, runner.jobs = frozenset(hello.functions), hello.jobs
        runner._isolated = hello.isolated
        runner._spawn(runner._watch.listen())
        runner._pools.shared.children.append(first)
        runner._pools.shared.open(runner.count - 1)
        if any(job.get("guarantee") == "at_most_once" for job in hello.jobs):
            runner._pools.once.open(runner.count)
        return runner

    def start(self, call: Call, done: Done) -> Stop:
        self._last += 1
        number = self._last
        under = ActiveCall(call, begin_of(number, call), done)
        self._calls[number] = under
        if under.begin.function in self._isolated:
            under.ends_at = math.inf
            call.turns.waits(call.run)
            self._apart.add(under)
        else:
            self._assign(under)
        return lambda: self._halt(under)

    @property
    def pids(self) -> list[int]:
        return [child.pid for child in self._pools.children() if child.pid is not None]

    async def close(self) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()
        elsewhere = [under.child for under in self._calls.values() if under.child is not None]
        children = dict.fromkeys([*self._pools.children(), *elsewhere])
        await asyncio.gather(*(child.end() for child in children))

    # Who calls what

    def _assign(self, under: ActiveCall) -> None:
        """To the runner with the least to do; if there is none, it waits for the next. What kills
        its runners goes to none that others are in.
        """
        turns, run = under.call.turns, under.call.run
        if turns.deadly and under.begin.function in turns.deadly:
            turns.suspected(run, killed=False)
            self._assign_alone(under)
            return
        pool = self._pools.once if run.at_most_once else self._pools.shared
        if pool.children:
            self._give(under, pool.least_busy())
        else:
            turns.waits(run)
            pool.wait(under)
            pool.open(self.count)

    def _assign_alone(self, under: ActiveCall) -> None:
        """Who does not end may take all of its time, so it does not keep other suspects waiting."""
        if under.begin.function in under.call.turns.stuck:
            under.ends_at = math.inf
            self._stuck.add(under)
        else:
            self._suspects.append(under)
            self._try_next()

    def _give(self, under: ActiveCall, child: RunnerChild) -> None:
        under.child = child
        if not child.under_way:
            child.heard_at = asyncio.get_running_loop().time()
        child.under_way[under.begin.number] = under.begin
        child.say(under.begin)

    def _halt(self, under: ActiveCall) -> None:
        if under.halted or under.begin.number not in self._calls:
            return
        under.halted = True
        child = under.child
        if child is None:
            self._end(under, None)
            return
        under.asked_at = asyncio.get_running_loop().time()
        if under.ends_at is not None and under.asked_at >= under.ends_at - SLACK_S:
            self._note_kill(under)  # its time is over, and nobody else is in there
            child.kill()
            return
        child.asked += 1
        child.say(pipe.CancelCall(under.begin.number))
        under.wait(STUCK_S, partial(self._does_not_end, under, child))

    def _does_not_end(self, under: ActiveCall, child: RunnerChild) -> None:
        under.wait(ASKED_S - STUCK_S, partial(self._has_to_be_killed, under))
        if self._pools.replace(child):
            warn("runner.retired", pid=child.pid, function=under.begin.function)
            child.say(pipe.RetireRunner())
        self._retiring.add(child)

    def _fell_silent(self, child: RunnerChild) -> None:
        """Where no other runner answers, one more does; who holds this one up has its time."""
        if self._pools.replace_silent(child):
            self._retiring.add(child)

    def _has_to_be_killed(self, under: ActiveCall) -> None:
        warn("run.killed", run=under.begin.run_id, function=under.begin.function, waited_s=ASKED_S)
        self._note_kill(under)

    def _note_kill(self, under: ActiveCall) -> None:
        """Of a function that is isolated anyway nothing follows from that."""
        if under.begin.function not in self._isolated:
            under.call.turns.killed(under.call.run)

    def _end(self, under: ActiveCall, result: Result | None) -> None:
        number, child = under.begin.number, under.child
        del self._calls[number]
        if under.timer is not None:
            under.timer.cancel()
        if child is not None:
            child.under_way.pop(number, None)
            child.asked -= under.halted
        if self._accused is under:
            self._accused = None
            self._dismiss(child)
        if under.ends_at is not None and (self._apart.leave(number) or self._stuck.leave(number)):
            self._dismiss(child)
        under.done(result)

    # What the runners say

    def _heard(self, child: RunnerChild, message: pipe.FromRunner) -> None:
        if isinstance(message, pipe.LoopBlocked):
            self._watch.name(message)
        elif isinstance(message, pipe.SqlRequest):
            self._spawn(self._answer(child, message))
        elif isinstance(message, pipe.CallEnded):
            under = self._calls.get(message.number)
            if under is not None and under.child is child:
                self._end(under, None if message.stopped else result_of(message))
        elif isinstance(message, pipe.CallOutput):
            self._said(child, message)
        elif isinstance(message, pipe.CallReturned):
            self._given_back(child, message.number)

    def _given_back(self, child: RunnerChild, number: int) -> None:
        under = self._calls.get(number)
        if under is None or under.child is not child:
            return
        if under.halted:
            self._end(under, None)
            return
        del child.under_way[number]
        under.child = None
        self._call_again(under)

    def _said(self, child: RunnerChild, message: pipe.CallOutput) -> None:
        under = self._calls.get(message.number)
        if under is None or under.child is not child:
            return
        if message.checkpoint is not None:  # should it be called again, after a runner's death
            under.begin = msgspec.structs.replace(under.begin, checkpoint=message.checkpoint)
        under.call.noted(under.call.run, message)

    async def _answer(self, child: RunnerChild, asked: pipe.SqlRequest) -> None:
        under = self._calls.get(asked.number)
        if under is None or under.child is not child or self._transactions is None:
            return
        if asked.completes:
            under.completing = True
        told: pipe.SqlReply | None = None
        try:
            told = await self._transactions.answer(under.call.run, asked)
            child.say(told)
        finally:  # also without an answer: whoever waits for it would wait for ever
            if asked.completes:
                under.completing, under.completed = False, told is not None and told.error is None
            if under.bereft is not None and asked.number in self._calls:
                self._suspect(under, *under.bereft)
                self._try_next()

    def _died(self, child: RunnerChild) -> None:
        """Whoever was in it is a suspect, and is called again alone. One that has a process of its
        own was alone already: its attempt has failed.
        """
        if self._closing:
            return
        alone = self._accused is not None and self._accused.child is child
        if alone:  # before anybody is told of an end, which may bring the next one up
            self._accused = None
        self._pools.replace(child)
        functions = sorted({begin.function for begin in child.under_way.values()})
        warn("runner.died", how=child.how_it_died, functions=",".join(functions), alone=alone)
        for number in list(child.under_way):
            self._suspect(self._calls[number], child, alone)
        child.under_way.clear()
        self._try_next()

    def _suspect(self, under: ActiveCall, child: RunnerChild, alone: bool) -> None:
        under.child = None
        if under.completing:  # whether it was its last word is known in a moment
            under.bereft = child, alone
            return
        under.bereft = None
        if under.completed:  # what it did is done, but it did not end by itself
            if alone:
                under.call.turns.suspected(under.call.run, killed=True)
            self._end(under, Result(unknown=True))
            return
        if under.halted:
            self._end(under, None)
            return
        if under.call.run.at_most_once:
            self._end(under, Result(error=f"its runner process {child.how_it_died}", unknown=True))
            return
        if under.ends_at is not None:
            self._note_kill(under)
            self._end(under, Result(error=f"its process {child.how_it_died}"))
            return
        if child.was_killed:  # for somebody else, whom everybody knows
            self._call_again(under)
            return
        under.deaths += alone
        under.call.turns.suspected(under.call.run, killed=alone)
        if under.deaths >= DEATHS_MAX:
            error = f"quarantined: its runner process {child.how_it_died}, {DEATHS_MAX} times"
            self._end(under, Result(error=error, retryable=False))
            return
        self._suspects.append(under)

    async def _has_its_turn(self, under: ActiveCall) -> bool:
        """Whether a call that had to wait may be made now. If not, it has ended."""
        begins = await under.call.turns.may_begin(under.call.run)
        if under.begin.number not in self._calls:  # it was stopped meanwhile
            return False
        if not begins:
            self._end(under, None)
        return begins

    # Processes of their own

    def _enter(self, under: ActiveCall) -> None:
        self._spawn(self._call_apart(under))

    async def _call_apart(self, under: ActiveCall) -> None:
        child = self._make_child(self._heard, self._died)
        number = under.begin.number
        try:
            await child.start(self.app, self._isolated.get(under.begin.function, 0))
        except Exception as error:  # noqa: BLE001  (whatever it is, calls wait for a runner)
            warn("runner.cannot_start", error=error)
            if number in self._calls:
                told = f"its process could not be started: {error}"
                self._end(under, Result(error=told, fault=fault_of(error), unsent=True))
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

    async def _try(self, under: ActiveCall) -> None:
        """Call it alone, in a runner of its own."""
        try:
            child = await self._launch()
        except Exception as error:  # noqa: BLE001  (whatever it is, calls wait for a runner)
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
            self._dismiss(child)

    def _dismiss(self, child: RunnerChild | None) -> None:
        if child is not None:
            self._spawn(child.end())
        self._try_next()

    # Runners that calls share

    async def _launch(self) -> RunnerChild:
        child = self._make_child(self._heard, self._died)
        await child.start(self.app)
        return child

    def _call_again(self, under: ActiveCall) -> None:
        under.call.turns.waits(under.call.run)
        self._assign_late(under)

    def _assign_late(self, under: ActiveCall) -> None:
        self._spawn(self._assign_in_turn(under))

    async def _assign_in_turn(self, under: ActiveCall) -> None:
        if under.begin.number in self._calls and await self._has_its_turn(under):
            self._assign(under)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
