"""Calls that are under way in runner processes, and who of them keeps the others waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from onthedot.clock import SystemClock
from onthedot.core.outcomes import Result
from onthedot.observe.events import warn
from onthedot.roles.runners import Call, Done
from onthedot.roles.runners.child import RunnerChild
from onthedot.wire.pipe import CallEnded, CallOutput, LoopBlocked, StartCall

SILENT_S = 2.0
LATE_S = 0.5
"""A timer that comes later than this tells that the worker itself stood still."""

CLOCK = SystemClock()


@dataclass(slots=True)
class ActiveCall:
    """A call that is under way, or waits for a runner of its own. `halted`: it was asked to end, at
    `asked_at`. `ends_at`: when a call with a process of its own is killed. `completing`: it has
    asked for the completion of its run, which `completed` says was done. `bereft`: its runner died
    before it heard of that, and how.
    """

    call: Call
    begin: StartCall
    done: Done
    child: RunnerChild | None = None
    deaths: int = 0
    halted: bool = False
    asked_at: float = 0.0
    completing: bool = False
    completed: bool = False
    bereft: tuple[RunnerChild, bool] | None = None
    ends_at: float | None = None
    timer: asyncio.TimerHandle | None = field(default=None)

    def wait(self, seconds: float, act: Callable[[], None]) -> None:
        """Act after so long, and not at once if we stood still meanwhile: what the call has said
        since then has not been heard yet.
        """
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds

        def come() -> None:
            late = loop.time() - at
            if late > LATE_S:
                self.asked_at += late
                self.wait(LATE_S, act)
            else:
                act()

        self.timer = loop.call_later(seconds, come)


def begin_of(number: int, call: Call) -> StartCall:
    execution, run = call.execution, call.run
    return StartCall(
        number,
        execution.handler,
        call.payload,
        call.run_id,
        call.job_id,
        run.attempt,
        run.due,
        execution.timeout_us,
        call.checkpoint,
        run.fence if execution.guarantee == "exactly_once" else None,
    )


_SUCCESS = Result()


def result_of(message: CallEnded) -> Result:
    if message.error is None and message.output is None:
        return _SUCCESS
    return Result(message.error, message.output, message.retryable, message.retry_after_us)


class CallWatch:
    """Names whoever holds up his neighbours. `on_silence` is told of their runner."""

    def __init__(
        self, calls: Mapping[int, ActiveCall], on_silence: Callable[[RunnerChild], None]
    ) -> None:
        self._calls = calls
        self._on_silence = on_silence

    def name(self, blocked: LoopBlocked) -> None:
        """In the log, and in that of the run: whoever looks after it reads only that one."""
        calls = [self._calls[number] for number in blocked.numbers if number in self._calls]
        functions = ",".join(sorted({under.begin.function for under in calls}))
        seconds = round(blocked.seconds, 1)
        warn("runner.blocked", function=functions, seconds=seconds, where=blocked.where)
        one_of = "" if len(calls) == 1 else f", or another of {functions},"
        for under in calls:
            words = f"this run{one_of} held up its process for {seconds} s: {blocked.where}"
            self._remark(under, words)

    def _remark(self, under: ActiveCall, words: str) -> None:
        said = CallOutput(under.begin.number, [(CLOCK.now(), "warning", words)])
        under.call.noted(under.call.run, said)

    async def listen(self) -> None:
        """For runners that have fallen silent: something in them has the interpreter, and they
        cannot even say so.
        """
        now = asyncio.get_running_loop().time()
        while True:  # bounded by the life of the worker
            await asyncio.sleep(SILENT_S / 4)
            looked_at, now = now, asyncio.get_running_loop().time()
            if now - looked_at > SILENT_S:
                continue  # we stood still ourselves, and have not heard yet what was said meanwhile
            try:
                self._listen(now)
            except Exception as error:  # noqa: BLE001  (nobody else would hear the next one)
                warn("runner.watch_failed", error=f"{type(error).__name__}: {error}")

    def _listen(self, now: float) -> None:
        for child in dict.fromkeys(under.child for under in self._calls.values()):
            if child is None or child.silent or not child.beats:
                continue
            if now - child.heard_at > SILENT_S:
                self._fell_silent(child, now - child.heard_at)

    def _fell_silent(self, child: RunnerChild, seconds: float) -> None:
        child.silent = True
        functions = ",".join(sorted({begin.function for begin in child.under_way.values()}))
        warn("runner.silent", pid=child.pid, seconds=round(seconds, 1), functions=functions)
        alone = len(child.under_way) == 1
        who = "this run holds" if alone else f"one of the runs in it ({functions}) holds"
        words = f"its process has not answered for {seconds:.1f} s: {who} the interpreter"
        for number in child.under_way:
            self._remark(self._calls[number], words)
        self._on_silence(child)
