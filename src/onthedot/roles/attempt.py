"""Attempts under way: each calls the handler and leaves one outcome behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from onthedot.clock import Clock
from onthedot.core.instants import SECOND
from onthedot.core.model import ExecutionSpec, LeasedRun, Outcome
from onthedot.core.node_faults import TRIES_FOR_OTHERS, NodeFault
from onthedot.core.outcomes import Result, end_by_request, settle, timed_out
from onthedot.ids import Chance
from onthedot.observe.events import log, warn
from onthedot.observe.tally import Tally
from onthedot.roles.faults import NodeFaults
from onthedot.roles.held_runs import HeldRuns, Key, ReadyRun, RunningAttempt, Stopped, nothing
from onthedot.roles.runners import Call, Runner, failed
from onthedot.roles.timeouts import Timeouts
from onthedot.wire.pipe import NODE_LEVEL, CallOutput

STOP_S = 5.0
"""How long a handler that was stopped may take to end."""

_STOPPED_WITH_NODE = Result(error="its node was stopped before it ended", unknown=True)


BEGIN_POLL_S = 0.25
WAIT_US = 15 * SECOND
"""So long a call may wait for a runner process in any case: on a busy machine a new one takes
seconds to start."""


def _unheard(run: LeasedRun, said: CallOutput) -> None: ...


async def _always(run: LeasedRun, execution: ExecutionSpec) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class AttemptServices:
    """What an attempt needs. `done` takes its outcome, `noted` what it says on the way. `is_ours`:
    whether a call that has waited may be made now; None: not yet, ask again.
    """

    clock: Clock
    chance: Chance
    runner: Runner
    installation: str
    done: Callable[[Outcome], None]
    tally: Tally = field(default_factory=Tally)
    noted: Callable[[LeasedRun, CallOutput], None] = _unheard
    is_ours: Callable[[LeasedRun, ExecutionSpec], Awaitable[bool | None]] = _always


class Attempts:
    def __init__(self, bench: AttemptServices, holding: HeldRuns) -> None:
        self._bench = bench
        self._holding = holding
        self._quiet = asyncio.Event()
        self._alarms: Timeouts[RunningAttempt] = Timeouts(partial(_stop, why=Stopped.TIMED_OUT))
        self.cancel_requests: dict[Key, str] = {}
        """As they were last read. One may be for a run whose claim has not been answered yet."""
        self._killers = holding.suspects.killers
        self.deadly, self.stuck = self._killers.apart, self._killers.stuck
        self.on_room: Callable[[], None] = nothing
        """Told when suspects have made room for others, or for more of their function."""
        self.faults = NodeFaults(bench.clock, bench.tally.node_faults)
        self.leave_to_others: Callable[[LeasedRun], None] | None = None
        """Where there are other nodes: gives a run back to them that this one cannot call."""

    def start(
        self, run: LeasedRun, execution: ExecutionSpec, checkpoint: str | None = None
    ) -> None:
        if (
            self.cancel_requests
            and (cancel_request := self.cancel_requests.get((run.job, run.run))) is not None
        ):
            self.end_unstarted(run, cancel_request)
            return
        under_way = RunningAttempt(run, execution, self._bench.clock.now(), checkpoint)
        self._holding.under_way[run.job, run.run] = under_way
        if run.at_most_once:
            self._holding.start_once(run)
        tally = self._bench.tally
        tally.started += 1
        if run.attempt == 1 and not run.rescues and not (self.faults and self.faults.of(run)):
            tally.lateness.add(under_way.started - run.at)
        call = Call(self._bench.installation, run, execution, checkpoint, self._bench.noted, self)
        try:
            stop = self._bench.runner.start(call, partial(self._done, under_way))
            if not under_way.ended:
                under_way.stop = stop
        except Exception as error:  # noqa: BLE001  (a mistake in a runner must not take the worker with it)
            self._done(under_way, failed(error))
        if not under_way.ended and under_way.alarm is None:  # one that waits has its own
            self._set_alarm(under_way)

    # Calls that must wait for a runner process

    def waits(self, run: LeasedRun) -> None:
        """Not for ever: somebody before it may kill one runner after the other."""
        under_way = self._holding.under_way.get((run.job, run.run))
        if under_way is not None and under_way.run is run:
            self._begin_time(under_way, waiting=True)

    def suspected(self, run: LeasedRun, *, killed: bool) -> None:
        under_way = self._holding.under_way.get((run.job, run.run))
        if under_way is not None and under_way.run is run:
            self._begin_time(under_way, waiting=True)
            self._holding.suspects.add(under_way, under_way.execution.handler)
            if killed and self._killers.crashed(under_way.execution.handler):
                warn("function.set_apart", function=under_way.execution.handler, why="crashed")
            self.on_room()

    def killed(self, run: LeasedRun) -> None:
        under_way = self._holding.under_way.get((run.job, run.run))
        if under_way is not None and under_way.run is run:
            under_way.killed = True
            if self._killers.killed(under_way.execution.handler):
                warn("function.set_apart", function=under_way.execution.handler, why="does not end")
                self.on_room()

    def _trust(self, function: str) -> None:
        """A call of it has ended by itself."""
        if self._killers.ended(function):
            log("function.trusted", function=function)
            self.on_room()

    async def may_begin(self, run: LeasedRun) -> bool:
        """As for any start: not without a fresh heartbeat, or it may be somebody else's by now."""
        key = run.job, run.run
        while True:  # until the store answers, or the call is stopped with its node
            under_way = self._holding.under_way.get(key)
            if under_way is None or under_way.run is not run or under_way.stopped is not None:
                return False
            ours = await self._bench.is_ours(run, under_way.execution)
            if ours and not under_way.ended:
                self._begin_time(under_way, waiting=False)
            if ours is not None:
                return ours
            await asyncio.sleep(BEGIN_POLL_S)

    def _begin_time(self, under_way: RunningAttempt, *, waiting: bool) -> None:
        if under_way.alarm is not None:
            under_way.alarm.pop(under_way, None)
        under_way.waiting = waiting
        self._set_alarm(under_way)

    def _set_alarm(self, under_way: RunningAttempt) -> None:
        under_way.alarm = self._alarms.set(under_way, _patience_us(under_way) / SECOND)

    def cancel_attempt(self, key: Key, cancel_request: str) -> None:
        """Somebody wants this run to end: one that waits ends now, one under way is stopped."""
        under_way = self._holding.under_way.get(key)
        if under_way is not None and under_way.stopped is None:
            under_way.cancel_request = cancel_request
            _stop(under_way, Stopped.BY_REQUEST)
        waiting = self._holding.drop_waiting(key)
        if waiting is not None:
            self.end_unstarted(waiting, cancel_request)

    def end_unstarted(self, run: LeasedRun, cancel_request: str) -> None:
        self._holding.end(run)
        self._bench.done(
            end_by_request(run, cancel_request, started=None, now=self._bench.clock.now())
        )

    async def wait(self, grace_s: float) -> None:
        """Let what is under way end by itself, for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                while self._holding.under_way:
                    self._quiet.clear()
                    await self._quiet.wait()

    async def stop(self) -> list[LeasedRun]:
        """Stop what is still under way; returns the runs that have no outcome and are to be given
        back.
        """
        rest = list(self._holding.under_way.values())
        for each in rest:
            _stop(each, Stopped.GIVEN_UP)
        await self.wait(STOP_S)
        deaf = [each for each in rest if not each.ended]
        if deaf:
            warn("run.does_not_stop", count=len(deaf), waited_s=STOP_S)
        for each in deaf:
            self._give_up(each)
        return [each.run for each in rest if each.given_up]

    def _done(self, under_way: RunningAttempt, result: Result | None) -> None:
        """The runner's last word; None: the call was stopped."""
        if under_way.ended:
            return
        if result is not None and (fault := result.fault) is not None:
            if under_way.stopped is not None:
                result = None
            elif self._put_off(under_way, result, fault):
                return
        elif self.faults:
            self.faults.over(under_way.run)
        if self._killers and result is not None and _ended_by_itself(under_way, result):
            self._trust(under_way.execution.handler)
        if result is None and under_way.stopped is Stopped.GIVEN_UP:
            self._give_up(under_way)
        elif result is None and under_way.stopped is Stopped.BY_REQUEST:
            run, started, now = under_way.run, under_way.started, self._bench.clock.now()
            self._end(
                under_way, end_by_request(run, under_way.cancel_request, started=started, now=now)
            )
        else:
            self._end(under_way, self._settled(under_way, result or self._unanswered(under_way)))

    def _unanswered(self, under_way: RunningAttempt) -> Result:
        if under_way.stopped is not Stopped.TIMED_OUT:
            return Result(error="the handler was cancelled from within")
        return timed_out(
            _patience_us(under_way),
            waiting=under_way.waiting,
            apart=under_way.killed and under_way.execution.handler in self.stuck,
        )

    def _put_off(self, under_way: RunningAttempt, result: Result, fault: NodeFault) -> bool:
        """Keep the run for another try of the same attempt, since this node could not make the
        call. False: it has to count.
        """
        run, error = under_way.run, result.error or fault
        if run.at_most_once and not result.unsent:
            return False
        at = self.faults.add(run, fault, error, jitter=self._bench.chance.jitter())
        if at is None:
            return False
        self._leave(under_way)
        self._holding.wait_again(ReadyRun(at, run, under_way.execution, under_way.checkpoint))
        faults = self.faults.of(run)
        if faults == 1:
            told = f"attempt {run.attempt} could not be made and is not used up: {error}"
            self._bench.noted(run, CallOutput(0, [(self._bench.clock.now(), NODE_LEVEL, told)]))
        if faults % TRIES_FOR_OTHERS == 0 and self.leave_to_others is not None:
            self.leave_to_others(run)
        self.on_room()
        return True

    def _settled(self, under_way: RunningAttempt, result: Result) -> Outcome:
        return settle(
            under_way.run,
            under_way.execution,
            result,
            started=under_way.started,
            now=self._bench.clock.now(),
            jitter=0.0 if result.error is None else self._bench.chance.jitter(),
        )

    def _end(self, under_way: RunningAttempt, outcome: Outcome) -> None:
        self._leave(under_way)
        self._holding.end(under_way.run)
        self._bench.done(outcome)

    def _give_up(self, under_way: RunningAttempt) -> None:
        """Whoever takes the run next decides its outcome; nobody may take one that was started and
        may be so only once.
        """
        if under_way.run.at_most_once:
            self._end(under_way, self._settled(under_way, _STOPPED_WITH_NODE))
            return
        under_way.given_up = True
        self._leave(under_way)

    def _leave(self, under_way: RunningAttempt) -> None:
        under_way.ended = True
        under_way.stop = nothing  # it knows us as well: a circle would wait for the collector
        if under_way.alarm is not None:
            under_way.alarm.pop(under_way, None)
        key = under_way.run.job, under_way.run.run
        # The run may have been taken over and come back to us, under another fence: then the place
        # is that of its next attempt.
        if self._holding.under_way.get(key) is under_way:
            del self._holding.under_way[key]
        if not self._holding.under_way:
            self._quiet.set()
        if self._holding.suspects.calls and self._holding.suspects.end(under_way):
            self.on_room()


def _patience_us(under_way: RunningAttempt) -> int:
    timeout_us = under_way.execution.timeout_us
    return max(timeout_us, WAIT_US) if under_way.waiting else timeout_us


def _stop(under_way: RunningAttempt, why: Stopped) -> None:
    """The first who stops it has his way."""
    if under_way.stopped is None:
        under_way.stopped = why
        under_way.stop()


def _ended_by_itself(under_way: RunningAttempt, result: Result) -> bool:
    return not (under_way.waiting or under_way.killed or result.unknown)
