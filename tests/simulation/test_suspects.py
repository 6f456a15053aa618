"""Calls that must wait for a runner: when they are made at last, they must still be the node's to
make, and their time begins.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field

import pytest

from tests.simulation.audit import Auditor
from tests.simulation.checker import violations
from tests.simulation.clients import Book
from tests.simulation.history import Effect, History
from tests.simulation.line import Fault
from tests.simulation.oracle import SECOND
from tests.simulation.points import START, play
from tests.simulation.process import Build, Machine, Process
from tests.simulation.receiver import Receiver, SimulatedRunner
from tests.simulation.scenarios import Director, Scene
from tests.simulation.stage import Report, Setting, perform
from tests.simulation.world import World

TIMEOUT_S = 8


@dataclass(slots=True)
class Cut:
    """Nobody in `off` reaches the database."""

    off: set[str] = field(default_factory=set)
    on: bool = True

    def strike(self, process: Process, verb: str, *, writes: bool) -> Fault | None:
        return Fault.FAIL_BEFORE if process.name in self.off else None

    def stall_s(self) -> float:
        return 0.0

    def latency_s(self, process: Process) -> float:
        return 0.002

    def changed(self, process: Process, verb: str, *, changed: bool) -> None: ...


def played(scene: Scene, faults: Cut | None = None) -> Report:
    faults = faults or Cut()
    return perform(scene.__name__, Setting(start=START, faults=faults), lambda w: _play(w, scene))


async def _play(world: World, scene: Scene) -> None:
    receiver = Receiver(world)
    process = Process(world, "node-1", Build(grace_s=1.0), Machine(world))
    process.start(SimulatedRunner(receiver, process))
    world.history.slots, world.history.processes = 20, 1
    await asyncio.sleep(1)
    book = Book()
    await scene(Director(world, "director", book))
    world.history.healed_at = world.loop.now_us
    await asyncio.sleep(20)
    await Auditor(world, "auditor", book).close_books(2.0)


def kill_runners(d: Director) -> None:
    for program in list(d.world.processes[0].programs):
        program.die(-9)


async def a_runner_dies_without_a_heartbeat(d: Director) -> None:
    """Some of its calls hang until then."""
    [process], cut = d.world.processes, d.world.faults
    assert isinstance(cut, Cut)
    job = await d.function("hanging/6.0", timeout=20, retries=0)
    for _ in range(6):
        await d.trigger(job)
    await asyncio.sleep(1)
    process.trouble("is cut off", 14)
    cut.off.add(process.name)
    await asyncio.sleep(13)
    kill_runners(d)
    await asyncio.sleep(1)
    cut.off.clear()
    await asyncio.sleep(40)


async def neighbours_wait_for_each_other(d: Director) -> None:
    job = await d.function("ok/6.0", timeout=TIMEOUT_S, retries=0)
    for _ in range(2):
        await d.trigger(job)
    await asyncio.sleep(2)
    kill_runners(d)
    await asyncio.sleep(20)


async def a_runner_dies_with_what_may_start_once(d: Director) -> None:
    job = await d.function("ok/6.0", guarantee="at_most_once", retries=0)
    await d.trigger(job)
    await asyncio.sleep(1)
    kill_runners(d)
    await asyncio.sleep(2)


async def one_killer_after_the_other(d: Director) -> None:
    job = await d.function("deadly/6.0", timeout=TIMEOUT_S, retries=0)
    for _ in range(8):
        await d.trigger(job)
    await asyncio.sleep(60)


async def a_suspect_after_those_who_waited_in_vain(d: Director) -> None:
    await one_killer_after_the_other(d)
    await d.trigger(await d.function("ok/2.0", timeout=TIMEOUT_S, retries=0))
    await asyncio.sleep(1)
    kill_runners(d)
    await asyncio.sleep(20)


async def more_killers_than_slots_before_others(d: Director) -> None:
    killers = await d.function("deadly/0.1", retries=0)
    others = await d.function("ok/0.1", retries=0)
    for _ in range(3 * d.world.processes[0].build.slots):
        await d.trigger(killers)
    for _ in range(5):
        await d.trigger(others)
        await asyncio.sleep(1)
    await asyncio.sleep(60)


async def killers_every_second_among_others(d: Director) -> None:
    await d.function("deadly/2.0", every=1, retries=0)
    await d.function("ok/0.5", every=1, retries=0)
    await asyncio.sleep(30)


async def beside_a_function_that_does_not_end(d: Director) -> None:
    """With others that last longer than it takes to kill it."""
    await d.function("stuck/6.0", every=3, timeout=2, retries=0)
    await d.function("ok/6.0", every=2, timeout=20, retries=0)
    await d.function("ok/2.0", every=1, guarantee="at_most_once", retries=0)
    await asyncio.sleep(30)


def ends(report: Report) -> list[tuple[str, str]]:
    books = [asked for asked in report.history.asks if asked.what == "books"]
    return sorted(
        (run["status"], run["error"] or "") for each in books for run in each.answer["runs"]
    )


def test_a_suspect_is_not_called_without_a_heartbeat():
    report = played(a_runner_dies_without_a_heartbeat)

    assert report.violations == []
    assert len(report.history.effects) > 6, "some were to be called again"


def test_a_suspect_has_all_its_time_from_the_moment_it_is_called():
    report = played(neighbours_wait_for_each_other)

    assert report.violations == []
    assert ends(report) == [("succeeded", "")] * 2


def test_what_may_start_once_is_lost_with_its_runner_and_with_good_reason():
    report = played(a_runner_dies_with_what_may_start_once)

    assert report.violations == []
    assert ends(report) == [("lost", "its runner process was killed by SIGKILL")]


def test_nobody_waits_for_ever_behind_those_who_kill_their_runners():
    report = played(one_killer_after_the_other)

    assert report.violations == []
    assert ("failed", "timed out after 15 s of waiting for a runner") in ends(report)


def test_who_waited_in_vain_stands_in_nobodys_way():
    report = played(a_suspect_after_those_who_waited_in_vain)

    assert report.violations == []
    assert ("succeeded", "") in ends(report)


def test_others_do_not_wait_behind_suspects_however_many():
    report = played(more_killers_than_slots_before_others)
    report.history.calm = True

    assert violations(report.history) == []
    came = Counter(status for status, _ in ends(report))
    assert came == {"failed": 60, "succeeded": 5}


def test_nobody_is_lost_or_called_again_beside_a_function_that_does_not_end():
    report = played(beside_a_function_that_does_not_end)
    report.history.calm = True

    assert violations(report.history) == []
    came = Counter(status for status, error in ends(report) if "timed out after 2 s" not in error)
    assert set(came) <= {"succeeded", "skipped"}
    starts = Counter(effect.run_id for effect in report.history.effects)
    assert max(starts.values()) == 1
    alone = [error for _, error in ends(report) if "runs alone" in error]
    assert len(alone) > 3


# Lateness, as the checker sees it


@pytest.fixture(scope="module")
def killers() -> History:
    """Every second one more run of a function that kills its runner after one or two; so most of
    them are late. Everything else was calm.
    """
    report = played(killers_every_second_among_others)
    report.history.calm = True
    return report.history


def first_starts(history: History, function: str) -> list[Effect]:
    starts: dict[str, Effect] = {}
    for effect in history.effects:
        if effect.function == function:
            starts.setdefault(effect.run_id, effect)
    return list(starts.values())


def delay(effect: Effect) -> None:
    """The others are called while it waits."""
    for name in ("started", "started_at", "ended", "ended_at"):
        setattr(effect, name, getattr(effect, name) + 3 * SECOND)


def test_a_killer_that_waited_for_its_turn_is_not_late(killers: History):
    waited = [e.started - e.scheduled_for for e in first_starts(killers, "deadly/2.0")]

    assert late(killers) == []
    assert max(waited) > 5 * SECOND


def test_the_neighbours_of_a_killer_are_late_if_they_wait_for_it(killers: History):
    history = deepcopy(killers)
    delay(first_starts(history, "ok/0.5")[10])

    assert len(late(history)) == 1


def test_a_killer_among_others_is_found(killers: History):
    history = deepcopy(killers)
    last = first_starts(history, "deadly/2.0")[-1]
    last.runner = first_starts(history, "ok/0.5")[-1].runner

    found = [each for each in violations(history) if each.startswith("a killer among others")]

    assert len(found) == 1


@pytest.fixture(scope="module")
def unheard() -> History:
    """Two calls were in a runner that died; of the later one the runner had not heard, so that its
    first start is the one alone, after that of the other suspect. Everything else was calm.
    """
    report, _ = play("lose_a_runner", None)
    history = report.history
    history.calm = True
    suspects = [each for each in history.effects if each.end == "stopped"]
    history.effects.remove(suspects[-1])
    return history


def late(history: History) -> list[str]:
    return [each for each in violations(history) if each.startswith("late:")]


def test_a_suspect_that_waited_for_its_turn_is_not_late(unheard: History):
    assert late(unheard) == []


def a_pause_between_trials(history: History) -> None:
    history.effects[-1].started_at += SECOND
    history.effects[-1].started += SECOND


def test_a_worker_that_hears_nothing_looks_for_the_next_suspect_once_a_second(unheard: History):
    a_pause_between_trials(unheard)
    unheard.hears = False

    assert late(unheard) == []


def nobody_before_it(history: History) -> None:
    del history.effects[-2]


def nobody_died(history: History) -> None:
    history.runner_deaths.clear()


def died_elsewhere(history: History) -> None:
    history.effects[-1].process = "node-9"


def a_runner_of_others(history: History) -> None:
    history.effects[0].runner = history.effects[-1].runner


@pytest.mark.parametrize(
    "doctor",
    [a_pause_between_trials, nobody_before_it, nobody_died, died_elsewhere, a_runner_of_others],
)
def test_no_other_reason_to_wait_is_good_enough(unheard: History, doctor):
    history = deepcopy(unheard)
    doctor(history)

    assert len(late(history)) == 1


pytestmark = pytest.mark.timeout(120)
