"""A function that kills its runners stands in nobody's way, nor does its backlog."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from onthedot.core.model import Lanes
from onthedot.core.states import Status
from onthedot.roles.runners.child import RunnerChild
from onthedot.roles.runners.functions import FunctionRunner
from onthedot.roles.suspects import DEADLY_MAX, Suspects
from onthedot.roles.worker import POLL_S
from onthedot.wire.pipe import (
    CallEnded,
    CallReturned,
    CancelCall,
    Frames,
    RetireRunner,
    RunnerHello,
    StartCall,
    frame,
    to_runner,
)
from tests.support.builders import a_job, a_node, a_one_off, some_runs, view
from tests.support.roles import Stand, a_stand, idle, until

SLOTS = 20
START_S = 0.05
LONG_S = 2.0
DEADLY, HARMLESS, LONG, STUCK = "deadly", "harmless", "long", "stuck"
STUCK_TOO = [f"{STUCK} {number}" for number in range(10)]


class Processes:
    """Runner processes in memory, at the other end of the worker's real pipe: `deadly` takes its
    process with it, until it is mended; `harmless` ends at once, `long` after two seconds; `stuck…`
    does not end, whoever asks it to, until it is mended. `lasting`: how long others take instead.
    """

    def __init__(self) -> None:
        self.called: list[tuple[str, float]] = []
        self.places: list[tuple[str, RunnerChild]] = []
        self.deaths: list[list[str]] = []
        self.living: set[RunnerChild] = set()
        self.lasting: dict[str, float] = {}
        self.given_back: set[str] = set()
        self.mended = False

    def make(self, *told: Any) -> RunnerChild:
        return _Frail(self, *told)

    def starts(self, function: str) -> list[float]:
        return [at for name, at in self.called if name == function]


class _Frail(RunnerChild):
    """The worker's side is the real one; here is the process."""

    returncode: int | None = None
    pid = 1

    def __init__(self, processes: Processes, *told: Any) -> None:
        super().__init__(*told)
        self._processes = processes
        self._sent = Frames()
        self._over = asyncio.Event()

    async def _launch(self, app: str, memory_limit: int) -> None:
        await asyncio.sleep(START_S)
        self._process = self._transport = self  # type: ignore[assignment]
        self._processes.living.add(self)
        self._say(RunnerHello([DEADLY, HARMLESS, LONG, STUCK, *STUCK_TOO], []))

    def _say(self, message: RunnerHello | CallEnded | CallReturned) -> None:
        if self.returncode is None:
            asyncio.get_running_loop().call_soon(self.data_received, frame([message]))

    def write(self, data: bytes) -> None:
        for body in self._sent.feed(data):
            for message in to_runner(body):
                if isinstance(message, StartCall):
                    self._call(message)
                elif isinstance(message, CancelCall) and not self._is_stuck(message.number):
                    self._say(CallEnded(message.number, stopped=True))
                elif isinstance(message, RetireRunner):
                    self._give_back()

    def _is_stuck(self, number: int) -> bool:
        begin = self.under_way.get(number)
        return begin is not None and self._does_not_end(begin)

    def _does_not_end(self, begin: StartCall) -> bool:
        return begin.function.startswith(STUCK) and not self._processes.mended

    def _give_back(self) -> None:
        for number, begin in self.under_way.items():
            if begin.function in self._processes.given_back:
                self._say(CallReturned(number))

    def _call(self, begin: StartCall) -> None:
        loop = asyncio.get_running_loop()
        self._processes.called.append((begin.function, loop.time()))
        self._processes.places.append((begin.function, self))
        if begin.function == DEADLY and not self._processes.mended:
            loop.call_later(0.001, self._die)
        elif not self._does_not_end(begin):
            lasts_s = LONG_S if begin.function == LONG else 0.001
            lasts_s = self._processes.lasting.get(begin.function, lasts_s)
            loop.call_later(lasts_s, self._say, CallEnded(begin.number))

    def kill(self) -> None:
        if self.returncode is None:
            self._killed = True
            self._die(signal.SIGKILL)

    def _die(self, by: signal.Signals = signal.SIGSEGV) -> None:
        if self.returncode is None:
            self._processes.deaths.append(sorted(b.function for b in self.under_way.values()))
            self._processes.living.discard(self)
            self.returncode = -by
            self._over.set()
            self.connection_lost(None)

    async def wait(self) -> int:
        await self._over.wait()
        assert self.returncode is not None
        return self.returncode

    def close(self) -> None:
        self._processes.living.discard(self)
        self.returncode = 0
        self._over.set()

    def is_closing(self) -> bool:
        return self.returncode is not None


@pytest.fixture
def processes() -> Processes:
    return Processes()


@asynccontextmanager
async def at_work(store, clock, processes: Processes, **options) -> AsyncIterator[Stand]:
    """A worker with one runner process and its loops, and outcomes that are written at once."""
    runner = await FunctionRunner.open("app", 1, make_child=processes.make)
    options = {"slots": SLOTS, "runner": runner, "lanes": Lanes((), runner.functions)} | options
    stand = await a_stand(store, clock, **options)
    working = asyncio.create_task(stand.run_worker())
    writing = asyncio.create_task(_write(stand))
    try:
        yield stand
    finally:
        for task in (working, writing):
            task.cancel()
        await runner.close()


async def _write(stand: Stand) -> None:
    """Outcomes, and heartbeats."""
    for turn in range(100_000):  # or until it is cancelled
        if stand.finisher.pending:
            await stand.finisher.step()
        if turn % 200 == 0:
            await stand.member.step()
        await asyncio.sleep(0.01)


async def ended(stand: Stand, count: int) -> None:
    for _ in range(1_000):
        if len(stand.outcomes) == count:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{len(stand.outcomes)} of {count} came to their end")


async def runs_of(store, clock, function: str, count: int = 1, **fields):
    job = await a_job(store, clock, handler=function, handler_url="", retries=0, **fields)
    return await some_runs(store, clock, count, job)


# Slots


async def test_others_are_started_while_more_suspects_wait_than_there_are_slots(
    store, clock, processes
):
    await runs_of(store, clock, DEADLY, 3 * SLOTS)
    clock.advance(1)
    await runs_of(store, clock, HARMLESS)

    async with at_work(store, clock, processes) as stand:
        await until(lambda: processes.starts(HARMLESS) != [])

        assert [each.status for each in stand.outcomes] in ([], [Status.SUCCEEDED])
        assert stand.holding.free_slots >= SLOTS - 2


async def test_suspects_are_called_within_one_slot(store, clock, processes):
    await runs_of(store, clock, DEADLY, SLOTS)
    async with at_work(store, clock, processes) as stand:
        await until(lambda: stand.holding.free_slots == SLOTS - 1)
        await runs_of(store, clock, LONG, 2 * SLOTS)
        stand.worker.look()

        await until(lambda: len(processes.starts(LONG)) >= SLOTS - 1)
        await asyncio.sleep(0.2)

        assert len(processes.starts(LONG)) == SLOTS - 1


async def test_a_worker_with_one_slot_calls_nobody_beside_its_suspect(store, clock, processes):
    await runs_of(store, clock, DEADLY)
    async with at_work(store, clock, processes, slots=1) as stand:
        await until(lambda: bool(stand.holding.suspects))
        await runs_of(store, clock, HARMLESS)
        stand.worker.look()
        await until(lambda: processes.starts(HARMLESS) != [])

    assert [each.status for each in stand.outcomes] == [Status.FAILED, Status.SUCCEEDED]


# The rest of its runs


async def test_all_runs_of_a_killer_come_to_their_end_and_none_waits_for_a_poll(
    store, clock, processes
):
    runs = await runs_of(store, clock, DEADLY, 3 * SLOTS)

    async with at_work(store, clock, processes) as stand:
        await ended(stand, len(runs))
        await asyncio.sleep(1)

    seen = [await view(store, clock, run) for run in runs]
    ends = Counter((each.status, (each.error or "").partition(":")[0]) for each in seen)
    assert ends == {(Status.FAILED, "quarantined"): len(runs)}
    assert len(stand.outcomes) == len(runs)
    starts = processes.starts(DEADLY)
    pauses = [after - before for before, after in pairwise(starts)]
    assert max(pauses) < POLL_S / 2
    assert await store.runs.owned(stand.number) == []


async def test_of_a_function_that_kills_all_but_two_runs_stay_in_the_queue(store, clock, processes):
    await runs_of(store, clock, DEADLY, 2 * SLOTS)

    async with at_work(store, clock, processes) as stand:
        await ended(stand, SLOTS)
        held: list[int] = []
        while len(stand.outcomes) < 2 * SLOTS - DEADLY_MAX:
            held.append(len(stand.holding.under_way))
            await asyncio.sleep(0.05)

    assert max(held) == DEADLY_MAX
    assert held.count(DEADLY_MAX) > 20, "there was more to take all the time"


async def test_what_is_held_of_a_crowded_function_goes_to_others_at_its_instant(
    store, clock, processes
):
    fields = {"handler": DEADLY, "handler_url": "", "retries": 0}
    async with at_work(store, clock, processes) as stand:
        for _ in range(5):
            await a_one_off(store, clock, at=clock.now() + 200_000, **fields)
        await stand.scheduler.step()
        held = stand.holding.waiting
        await runs_of(store, clock, DEADLY, SLOTS)
        stand.worker.look()

        await asyncio.sleep(0.25)
        other = await a_node(store, clock)
        lanes = Lanes(functions=frozenset([DEADLY]))
        left = await store.runs.lease(other, lanes, limit=SLOTS, now=clock.now())

        assert held == 5
        assert stand.holding.waiting == 0
        assert len(left) == 5


# Its neighbours


async def test_a_function_that_was_seen_to_kill_is_not_called_among_others(store, clock, processes):
    await runs_of(store, clock, DEADLY)
    async with at_work(store, clock, processes) as stand:
        await ended(stand, 1)
        for _ in range(10):
            for function in (LONG, DEADLY):
                await runs_of(store, clock, function)
                stand.worker.look()
                await asyncio.sleep(0.5)
        await ended(stand, 21)

    assert processes.deaths == [[DEADLY]] * (1 + 3 * 11)
    assert len(processes.starts(LONG)) == 10


async def test_a_function_that_ends_by_itself_is_trusted_again(store, clock, processes):
    await runs_of(store, clock, DEADLY, SLOTS)
    async with at_work(store, clock, processes) as stand:
        await until(lambda: DEADLY in stand.attempts.deadly)
        processes.mended = True
        await until(lambda: len(stand.outcomes) == SLOTS)
        await runs_of(store, clock, DEADLY, SLOTS)
        before = len(processes.called)

        stand.worker.look()
        await idle()
        await asyncio.sleep(0.01)

        assert not stand.holding.suspects
        assert len(processes.called) - before == SLOTS


# The decision


@pytest.mark.parametrize(
    ("slots", "undecided", "deadly"),
    [(100, 50, 2), (20, 10, 2), (5, 2, 2), (1, 2, 2)],
)
def test_so_many_suspects_of_a_function_wait_at_a_time(slots, undecided, deadly):
    suspects = Suspects(slots)
    assert suspects.room("f") == undecided

    suspects.deadly.add("f")

    assert suspects.room("f") == deadly
    assert suspects.room("g") == undecided


def test_suspects_beyond_the_number_of_slots_take_slots_again():
    suspects = Suspects(4)
    held = []
    for number in range(7):
        suspects.add(number, f"f{number}")
        held.append(number + 1 - suspects.slotless)

    assert held == [1, 1, 1, 1, 1, 2, 3]


def test_no_more_is_leased_at_once_than_any_deadly_function_has_room_for():
    suspects = Suspects(100)
    assert suspects.deadly_room() == 0
    suspects.deadly |= {"f", "g"}
    assert suspects.deadly_room() == 2

    suspects.add(1, "f")
    assert suspects.deadly_room() == 1

    suspects.add(2, "f")
    assert suspects.crowded() == {"f"}
    assert suspects.deadly_room() == 2


def test_who_has_ended_makes_room():
    suspects = Suspects(2)
    for call in ("one", "one", "another"):
        assert suspects.crowded() == set()
        suspects.add(call, "f")
    assert suspects.crowded() == {"f"}

    assert suspects.end("another")

    assert not suspects.end("another")
    assert suspects.crowded() == set()
    assert suspects.end("one")
    assert not suspects
