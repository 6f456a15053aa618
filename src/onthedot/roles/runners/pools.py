"""Runner processes that calls share, those that take no new call, and those of one call."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Container, Coroutine, Mapping
from typing import Any

from onthedot.core.killers import killed_at
from onthedot.observe.events import log, warn
from onthedot.roles.runners.child import RunnerChild
from onthedot.roles.runners.watching import LATE_S, ActiveCall

Spawn = Callable[[Coroutine[Any, Any, None]], None]
REVIEW_S = 0.25
RESTART_S = 0.5


class Pool:
    """Runners that any call of one kind may share, and the calls that wait for one. `launch` starts
    a runner, `assign` takes who has waited, `spawn` keeps tasks, and ends them with the worker.
    """

    def __init__(
        self,
        launch: Callable[[], Awaitable[RunnerChild]],
        assign: Callable[[ActiveCall], None],
        spawn: Spawn,
    ) -> None:
        self.children: list[RunnerChild] = []
        self._waiting: deque[ActiveCall] = deque()
        self._is_open = False
        self._launch = launch
        self._assign = assign
        self._spawn = spawn

    def open(self, count: int) -> None:
        """With so many runners, if it is not open yet."""
        if not self._is_open:
            self._is_open = True
            for _ in range(count):
                self._spawn(self._start())

    def least_busy(self) -> RunnerChild:
        """One that answers and in which nobody keeps others waiting, if there is such."""
        children = self.children
        return children[0] if len(children) == 1 else min(children, key=_load)

    def wait(self, under: ActiveCall) -> None:
        self._waiting.append(under)

    def replace(self, child: RunnerChild) -> bool:
        """By a fresh one, if it was here."""
        if child not in self.children:
            return False
        self.children.remove(child)
        self._spawn(self._start())
        return True

    async def _start(self) -> None:
        while True:  # as long as it takes, or until the worker closes
            try:
                child = await self._launch()
            except Exception as error:  # noqa: BLE001  (whatever it is, calls wait for a runner)
                warn("runner.cannot_start", error=error)
                await asyncio.sleep(RESTART_S)
                continue
            log("runner.started", pid=child.pid)
            self.children.append(child)
            waiting, self._waiting = self._waiting, deque()
            for under in waiting:
                self._assign(under)
            return


def _load(child: RunnerChild) -> tuple[bool, int]:
    return child.silent or child.asked > 0, len(child.under_way)


class Pools:
    """What may start at most once shares no runner with others: it is not called again, so nobody
    else may take its runner down.
    """

    def __init__(
        self,
        launch: Callable[[], Awaitable[RunnerChild]],
        assign: Callable[[ActiveCall], None],
        spawn: Spawn,
    ) -> None:
        self.shared = Pool(launch, assign, spawn)
        self.once = Pool(launch, assign, spawn)

    def children(self) -> list[RunnerChild]:
        return [*self.shared.children, *self.once.children]

    def replace(self, child: RunnerChild) -> bool:
        return self.shared.replace(child) or self.once.replace(child)

    def replace_silent(self, child: RunnerChild) -> bool:
        """If no other runner of its pool answers."""
        for pool in (self.shared, self.once):
            if child in pool.children:
                return all(each.silent for each in pool.children) and pool.replace(child)
        return False


class Places:
    """For calls that have a process of their own, so many at the same time; more of them wait for
    their turn. `enter` makes the call.
    """

    def __init__(
        self, most: int, calls: Container[int], enter: Callable[[ActiveCall], None]
    ) -> None:
        self._most = most
        self._calls = calls
        self._enter = enter
        self._inside: set[int] = set()
        self._queue: deque[ActiveCall] = deque()

    def add(self, under: ActiveCall) -> None:
        self._queue.append(under)
        self._let_in()

    def leave(self, number: int) -> bool:
        """Whether it had one."""
        if number not in self._inside:
            return False
        self._inside.remove(number)
        self._let_in()
        return True

    def _let_in(self) -> None:
        while self._queue and len(self._inside) < self._most:
            under = self._queue.popleft()
            if under.begin.number in self._calls:  # else it was stopped while it waited
                self._inside.add(under.begin.number)
                self._enter(under)


class Retiring:
    """Runners with a call that does not end. Those of a pool have been replaced there; no more than
    `most` of them are left to their other calls.
    """

    def __init__(self, calls: Mapping[int, ActiveCall], most: int, spawn: Spawn) -> None:
        self._calls = calls
        self._most = most
        self._spawn = spawn
        self._since: dict[RunnerChild, float] = {}

    def add(self, child: RunnerChild) -> None:
        """It is seen out: until nobody is in it, or its time is over."""
        if child not in self._since:
            self._since[child] = asyncio.get_running_loop().time()
            self._make_room(child)
            self._spawn(self._see_out(child))

    async def _see_out(self, child: RunnerChild) -> None:
        loop = asyncio.get_running_loop()
        try:
            while child.under_way:  # bounded by its time
                began = loop.time()
                await asyncio.sleep(REVIEW_S)
                stood_still = loop.time() - began > REVIEW_S + LATE_S
                if not stood_still and self._is_over(child):
                    child.kill()
                    return
        finally:
            del self._since[child]
        await child.end()

    def _is_over(self, child: RunnerChild) -> bool:
        calls = self._calls_in(child)
        asked = [under.asked_at for under in calls if under.halted]
        others = len(asked) < len(calls) and not child.silent
        at = killed_at(asked, others=others, retired_at=self._since[child])
        return at is not None and asyncio.get_running_loop().time() >= at

    def _make_room(self, newest: RunnerChild) -> None:
        if len(self._since) <= self._most:
            return
        harmless = min((child for child in self._since if child is not newest), key=self._harm)
        warn("runner.crowded_out", pid=harmless.pid, retiring=self._most)
        harmless.kill()

    def _harm(self, child: RunnerChild) -> tuple[int, int]:
        """Of killing it now: runs that would be lost, calls that would be made again."""
        others = [under for under in self._calls_in(child) if not under.halted]
        return sum(under.call.run.at_most_once for under in others), len(others)

    def _calls_in(self, child: RunnerChild) -> list[ActiveCall]:
        return [self._calls[number] for number in child.under_way]


def default_count() -> int:
    """One core is left to the worker."""
    return max(1, (os.cpu_count() or 2) - 1)
