"""Calls that are under way in runner processes, and who of them keeps the others waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from onthedot.clock import SystemClock
from onthedot.observe.events import warn
from onthedot.roles.runners import Call, Done
from onthedot.roles.runners.child import Child
from onthedot.wire.pipe import Begin, Blocked, Said

SILENT_S = 2.0
CLOCK = SystemClock()


@dataclass(slots=True)
class Under:
    """A call that is under way, or waits for a runner of its own. `ends_at`: when a call with a
    process of its own is killed. `completing`: it has asked for the completion of its run, which
    `completed` says was done. `bereft`: its runner died before it heard of that, and how.
    """

    call: Call
    begin: Begin
    done: Done
    child: Child | None = None
    deaths: int = 0
    halted: bool = False
    completing: bool = False
    completed: bool = False
    bereft: tuple[Child, bool] | None = None
    ends_at: float | None = None
    timer: asyncio.TimerHandle | None = field(default=None)


class Watch:
    """Names whoever holds up his neighbours."""

    def __init__(self, calls: Mapping[int, Under]) -> None:
        self._calls = calls

    def name(self, blocked: Blocked) -> None:
        """In the log, and in that of the run: whoever looks after it reads only that one."""
        calls = [self._calls[number] for number in blocked.numbers if number in self._calls]
        functions = ",".join(sorted({under.begin.function for under in calls}))
        seconds = round(blocked.seconds, 1)
        warn("runner.blocked", function=functions, seconds=seconds, where=blocked.where)
        one_of = "" if len(calls) == 1 else f", or another of {functions},"
        for under in calls:
            words = f"this run{one_of} held up its process for {seconds} s: {blocked.where}"
            self._remark(under, words)

    def _remark(self, under: Under, words: str) -> None:
        said = Said(under.begin.number, [(CLOCK.now(), "warning", words)])
        under.call.noted(under.call.run, said)

    async def listen(self) -> None:
        """For runners that have fallen silent: something in them has the interpreter, and they
        cannot even say so.
        """
        while True:  # bounded by the life of the worker
            await asyncio.sleep(SILENT_S / 4)
            now = asyncio.get_running_loop().time()
            for child in dict.fromkeys(under.child for under in self._calls.values()):
                if child is None or child.silent or not child.beats:
                    continue
                if now - child.heard_at > SILENT_S:
                    self._fell_silent(child, now - child.heard_at)

    def _fell_silent(self, child: Child, seconds: float) -> None:
        child.silent = True
        functions = ",".join(sorted({begin.function for begin in child.under_way.values()}))
        warn("runner.silent", pid=child.pid, seconds=round(seconds, 1), functions=functions)
        alone = len(child.under_way) == 1
        who = "this run holds" if alone else f"one of the runs in it ({functions}) holds"
        words = f"its process has not answered for {seconds:.1f} s: {who} the interpreter"
        for number in child.under_way:
            self._remark(self._calls[number], words)
