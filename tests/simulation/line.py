"""A process's way to the database. Every transaction passes here, and here it can go wrong.

The real database is in memory and acts at once. A call takes time on the way there, on the way
back, or both; a fault sits before the transaction or between its commit and its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from onthedot.core.model import Outcome
from onthedot.core.states import Status
from onthedot.errors import StoreFull, StoreUnavailable
from onthedot.store.claims import Finished
from onthedot.store.sqlite import SqliteStore
from onthedot.store.sqlite.group_commit import Verb
from onthedot.store.sqlite.nodes import SqliteNodes
from onthedot.store.sqlite.runs import SqliteRuns

if TYPE_CHECKING:
    from tests.simulation.process import Process

T = TypeVar("T")
ECHO_SHARE = 0.3


class Fault(StrEnum):
    """What can happen to a call: before its transaction, or after the commit and before the
    answer.
    """

    DIE_BEFORE = "die before"
    DIE_AFTER = "die after"
    STALL_BEFORE = "stall before"
    STALL_AFTER = "stall after"
    HANG_BEFORE = "hang before"
    HANG_AFTER = "hang after"
    CANCEL_BEFORE = "cancel before"
    CANCEL_AFTER = "cancel after"
    FAIL_BEFORE = "fail before"
    FAIL_AFTER = "fail after"
    FULL = "full"
    MEDDLE = "an edit before"


AFTER = frozenset(
    {Fault.DIE_AFTER, Fault.STALL_AFTER, Fault.HANG_AFTER, Fault.CANCEL_AFTER, Fault.FAIL_AFTER}
)


class Faults(Protocol):
    """Decides what goes wrong, while it is `on`. `stall_s`: how long stalls and hanging calls
    take.
    """

    on: bool

    def strike(self, process: Process, verb: str, *, writes: bool) -> Fault | None: ...
    def stall_s(self) -> float: ...
    def latency_s(self, process: Process) -> float: ...
    def changed(self, process: Process, verb: str, *, changed: bool) -> None: ...


class Line:
    """A `Database` of the SQLite store, as one process sees it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.world = self._world = process.world
        self._chance = process.world.chance(f"line/{process.name}/{process.lives}")

    async def write(self, verb: Verb[T]) -> T:
        return await self._call(verb, writes=True)

    async def read(self, verb: Verb[T]) -> T:
        return await self._call(verb, writes=False)

    async def close(self) -> None:
        return

    async def _call(self, verb: Verb[T], *, writes: bool) -> T:
        faults = self._world.faults
        name = name_of(verb)
        fault = faults.strike(self._process, name, writes=writes) if faults else None
        wait_s = faults.latency_s(self._process) if faults else 0.001
        there = self._chance.random() < 0.5
        if there:
            await asyncio.sleep(wait_s)
        if fault is not None and fault not in AFTER:
            await self._suffer(fault, name)
        answer: T = await self._act(verb, name, writes=writes)
        if fault is not None and fault in AFTER:
            await self._suffer(fault, name)
        if not there:
            await asyncio.sleep(wait_s)
        return answer

    async def _act(self, verb: Verb[T], name: str, *, writes: bool) -> T:
        database = self._world.database
        if not writes:
            return await database.read(verb)
        before = database._connection.total_changes
        answer = await database.write(verb)
        changed = database._connection.total_changes != before
        if changed:
            self._world.note(self._process.name, f"  {name}")
        if self._world.faults:
            self._world.faults.changed(self._process, name, changed=changed)
        return answer

    async def _suffer(self, fault: Fault, name: str) -> None:
        process = self._process
        self._world.note(process.name, f"FAULT {fault} {name}")
        assert self._world.faults is not None
        match fault:
            case Fault.DIE_BEFORE | Fault.DIE_AFTER:
                process.die()
                await asyncio.Event().wait()  # a turn that never comes
            case Fault.STALL_BEFORE | Fault.STALL_AFTER:
                process.stall(self._world.faults.stall_s())
                await asyncio.sleep(0)
            case Fault.HANG_BEFORE | Fault.HANG_AFTER:
                wait_s = self._world.faults.stall_s()
                process.trouble("a call hangs", wait_s)
                await self._hang(wait_s)
            case Fault.CANCEL_BEFORE | Fault.CANCEL_AFTER:
                process.trouble("cancelled")
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                await asyncio.sleep(0)
            case Fault.FAIL_BEFORE | Fault.FAIL_AFTER:
                process.trouble("the database does not answer")
                raise StoreUnavailable("the connection was lost")
            case Fault.MEDDLE:
                await self._world.meddle()
            case Fault.FULL:
                process.trouble("the disk is full")
                raise StoreFull("the disk is full")

    async def _hang(self, wait_s: float) -> None:
        """So long, or until everything is healed."""
        for _ in range(round(wait_s) + 1):
            if self._world.faults is not None and self._world.faults.on:
                await asyncio.sleep(min(1.0, wait_s))


def name_of(verb: Callable[..., Any]) -> str:
    """`Runs.finish` for a verb of the store."""
    return verb.__qualname__.partition(".<locals>")[0].removeprefix("Sqlite").removeprefix("Shared")


class _NodesWithTime(SqliteNodes):
    """The database of a cluster has a clock of its own, and tells it."""

    def __init__(self, line: Line, now: Callable[[], int]) -> None:
        super().__init__(line)
        self._line = line
        self._now = now

    async def time(self) -> int:
        def tell_time(_: Any) -> int:
            return self._now()

        return await self._line.read(tell_time)


class _EchoingRuns(SqliteRuns):
    """Gives some outcomes twice; of two different ones the first counts."""

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._world = line.world
        self._chance = line.world.chance("echo")

    async def finish(self, node: int, outcomes: Sequence[Outcome], *, now: int) -> Finished:
        echoes = [
            outcome._replace(output="an echo")
            for outcome in outcomes
            if outcome.status is Status.SUCCEEDED and self._chance.random() < ECHO_SHARE
        ]
        if self._world.faults is not None and self._world.faults.on:
            outcomes = [*outcomes, *echoes]
        return await super().finish(node, outcomes, now=now)


def store_over(line: Line, now: Callable[[], int] | None) -> SqliteStore:
    """The real store. `now`: what the database says the time is, if it has a clock of its own."""
    store = SqliteStore(line)
    if now is not None:
        store.nodes = _NodesWithTime(line, now)
    if line.world.echoes:
        store.runs = _EchoingRuns(line)
    return store
