"""The janitor buries the dead, rescues their runs, and forgets what is old."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from onthedot.core.instants import DAY, SECOND, Instant
from onthedot.core.states import Status
from onthedot.core.views import NodeFacts
from onthedot.errors import NotFound, StoreUnavailable
from onthedot.roles import janitor
from onthedot.roles.janitor import PRUNE_S, WATCH_S
from onthedot.roles.processes import this_process
from onthedot.store.contract import Store
from tests.support.builders import (
    a_held_run,
    a_node,
    a_receipt,
    a_run,
    finish,
    key_of,
    kill,
    lease,
    some_runs,
    status_of,
    view,
)
from tests.support.clock import ManualClock
from tests.support.roles import Failing, Stand, Stuck, a_stand, id_of, ids_of


async def beat_for(clock: ManualClock, seconds: int, *stands: Stand) -> None:
    for _ in range(0, seconds, 3):
        clock.advance(3 * SECOND)
        for stand in stands:
            await stand.member.step()


async def dead_nodes(store: Store) -> set[int]:
    return {node.number for node in await store.nodes.all() if node.dead}


async def a_node_of(store: Store, clock: ManualClock, process: str) -> int:
    facts = NodeFacts(
        boot_id="b", host="h", pid=1, process=process, roles=("worker",), slots=1, version="0"
    )
    return await store.nodes.join(facts, now=clock.now())


# Burying


async def test_a_node_that_was_silent_for_a_lease_is_buried(store, clock):
    silent = await a_node(store, clock)
    stand = await a_stand(store, clock)
    await stand.janitor.watch()
    await beat_for(clock, 12, stand)
    await stand.janitor.watch()
    just_in_time = await dead_nodes(store)

    await beat_for(clock, 3, stand)
    await stand.janitor.watch()

    assert just_in_time == set()
    assert await dead_nodes(store) == {silent}


async def test_a_change_of_the_nodes_is_passed_on_and_nothing_else_is(store, clock):
    stand, changes = await a_stand(store, clock), []
    stand.janitor.on_change = lambda: changes.append(clock.now())
    await stand.janitor.watch()
    changes.clear()
    await stand.janitor.watch()
    quiet = list(changes)

    other = await a_node(store, clock)
    await stand.janitor.watch()
    come = list(changes)
    await kill(store, clock, other)  # by a third one
    await stand.janitor.watch()
    await stand.janitor.watch()

    assert (len(quiet), len(come), len(changes)) == (0, 1, 2)


async def test_a_node_that_beats_is_not_buried(store, clock):
    stand, other = await a_stand(store, clock), await a_stand(store, clock)

    for _ in range(20):
        await beat_for(clock, 3, stand, other)
        await stand.janitor.watch()

    assert await dead_nodes(store) == set()


async def test_a_newcomer_buries_nobody_before_one_lease_of_answers(store, clock):
    silent = await a_node(store, clock)
    clock.advance(60 * SECOND)
    stand = await a_stand(store, clock)

    await stand.janitor.watch()
    await beat_for(clock, 12, stand)
    await stand.janitor.watch()
    early = await dead_nodes(store)
    await beat_for(clock, 3, stand)
    await stand.janitor.watch()

    assert early == set()
    assert await dead_nodes(store) == {silent}


async def test_after_an_outage_nobody_is_buried_before_one_lease_of_answers(store, faulty, clock):
    stand, other = await a_stand(faulty, clock), await a_stand(store, clock)
    await beat_for(clock, 18, stand, other)
    faulty.on("nodes.beat", Failing(StoreUnavailable("gone"), times=1))
    clock.advance(60 * SECOND)
    with pytest.raises(StoreUnavailable):
        await stand.member.step()

    await stand.member.step()
    await stand.janitor.watch()

    assert await dead_nodes(store) == set()


async def test_after_an_outage_in_which_calls_hang_nobody_is_buried_at_once(store, faulty, clock):
    stand, other = await a_stand(faulty, clock), await a_stand(store, clock)
    await beat_for(clock, 18, stand, other)
    hanging = Stuck()
    faulty.on("nodes.beat", hanging)
    beat = asyncio.create_task(stand.member.step())
    await hanging.reached.wait()
    clock.advance(20 * SECOND)  # the other's heartbeats hang just so, and a little longer

    hanging.go.set()
    await beat
    clock.advance(3 * SECOND)
    await stand.member.step()
    await stand.janitor.watch()

    assert await dead_nodes(store) == set()


async def test_a_node_whose_own_heartbeat_is_old_buries_nobody(store, clock):
    await a_node(store, clock)
    stand = await a_stand(store, clock)
    await beat_for(clock, 15, stand)

    clock.advance(12 * SECOND)
    await stand.janitor.watch()

    assert await dead_nodes(store) == set()


class SetForward:
    """A wall clock that somebody sets; the stopwatch of the machine goes on as before."""

    def __init__(self, clock: ManualClock) -> None:
        self.by_us = 0
        self._clock = clock

    def now(self) -> Instant:
        return self._clock.now() + self.by_us

    def monotonic(self) -> float:
        return self._clock.monotonic()


async def test_a_clock_that_is_set_forward_buries_nobody_who_beats(store, clock):
    wall = SetForward(clock)
    stand, other = await a_stand(store, wall), await a_stand(store, wall)
    await beat_for(clock, 18, stand, other)

    wall.by_us = 20 * SECOND  # as when a virtual machine wakes up and asks for the time
    await stand.janitor.watch()

    assert await dead_nodes(store) == set()


async def test_a_node_never_buries_itself(store, clock):
    wall = SetForward(clock)
    stand = await a_stand(store, wall)
    await beat_for(clock, 18, stand)

    wall.by_us = 20 * SECOND
    await stand.janitor.watch()

    assert await dead_nodes(store) == set()


# Processes of this machine


CHILD = (
    "from onthedot.roles.processes import this_process; print(this_process(), flush=True); input()"
)


@pytest.fixture
def child():
    """A process that says its name and waits."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def name_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.wait()


async def test_a_node_whose_process_is_gone_is_buried_at_once_and_its_runs_rescued(
    store, clock, child
):
    number = await a_node_of(store, clock, name_of(child))
    run = await a_held_run(store, clock, number)
    stand = await a_stand(store, clock)
    await stand.janitor.watch()
    alive = await dead_nodes(store)

    end(child)
    await stand.janitor.watch()

    assert alive == set()
    assert await dead_nodes(store) == {number}
    await stand.work_off()
    assert stand.runner.runs == [id_of(run)]


async def test_a_node_of_this_very_process_or_of_another_machine_is_not_gone(store, clock):
    await a_node_of(store, clock, this_process())
    await a_node_of(store, clock, "another-boot:pid:[1]:4711:99")
    await a_node_of(store, clock, "")
    stand = await a_stand(store, clock)

    await stand.janitor.watch()

    assert await dead_nodes(store) == set()


# Rescuing


async def test_runs_of_the_dead_are_rescued_until_nothing_is_left_and_the_worker_is_told(
    store, clock, monkeypatch
):
    monkeypatch.setattr(janitor, "RESCUE_MAX", 2)
    victim = await a_node(store, clock)
    runs = await some_runs(store, clock, 5)
    await lease(store, clock, victim)
    await kill(store, clock, victim)
    stand = await a_stand(store, clock)

    pauses = [await stand.janitor.watch() for _ in range(4)]

    assert pauses == [0.0, 0.0, 0.0, WATCH_S]
    assert stand.janitor.rescued == 5
    assert len(stand.told_unowned) == 3
    await stand.work_off()
    assert sorted(stand.runner.runs) == sorted(ids_of(runs))


async def test_a_rescue_is_counted_apart_and_burns_no_attempt(store, clock):
    victim = await a_node(store, clock)
    held = await a_held_run(store, clock, victim)
    await kill(store, clock, victim)
    stand = await a_stand(store, clock)

    await stand.janitor.watch()
    await stand.work_off()

    seen = await view(store, clock, held)
    assert (seen.status, seen.attempt, seen.rescues) == (Status.SUCCEEDED, 1, 1)


async def test_a_cancelled_run_of_a_dead_node_is_not_run_again(store, clock):
    victim = await a_node(store, clock)
    held = await a_held_run(store, clock, victim)
    await store.runs.cancel(held.job, held.run, now=clock.now())
    await kill(store, clock, victim)
    stand = await a_stand(store, clock)

    await stand.janitor.watch()
    await stand.work_off()

    assert stand.runner.calls == []
    assert await status_of(store, clock, held) is Status.CANCELLED


async def test_a_node_that_may_not_judge_still_rescues_from_those_declared_dead(store, clock):
    victim = await a_node(store, clock)
    await a_held_run(store, clock, victim)
    await kill(store, clock, victim)
    stand = await a_stand(store, clock)
    assert not stand.member.may_judge()

    await stand.janitor.watch()

    assert stand.janitor.rescued == 1


# Retention


async def test_history_older_than_the_retention_is_forgotten(store, clock):
    node = await a_node(store, clock)
    old = await a_held_run(store, clock, node)
    await finish(store, clock, node, old)
    clock.advance(30 * DAY)
    young = await a_held_run(store, clock, node)
    await finish(store, clock, node, young)
    clock.advance(SECOND)
    stand = await a_stand(store, clock)

    pause = await stand.janitor.prune()

    assert pause == PRUNE_S
    with pytest.raises(NotFound):
        await view(store, clock, old)
    assert await status_of(store, clock, young) is Status.SUCCEEDED


async def test_pruning_goes_in_small_steps_until_nothing_old_is_left(store, clock, monkeypatch):
    monkeypatch.setattr(janitor, "PRUNE_MAX", 2)
    node = await a_node(store, clock)
    await some_runs(store, clock, 5)
    held = await lease(store, clock, node)
    await finish(store, clock, node, *held)
    clock.advance(31 * DAY)
    stand = await a_stand(store, clock)

    pauses = [await stand.janitor.prune() for _ in range(3)]

    assert pauses == [0.1, 0.1, PRUNE_S]
    for run in held:
        with pytest.raises(NotFound):
            await view(store, clock, run)


async def test_the_answer_to_an_idempotency_key_is_kept_for_a_day(store, clock):
    job = (await a_run(store, clock)).job
    stand = await a_stand(store, clock)

    async def trigger() -> object:
        made = await store.runs.enqueue(
            job, due=clock.now(), payload=None, now=clock.now(), receipt=a_receipt()
        )
        return made.repeat

    first = await trigger()
    clock.advance(DAY)
    await stand.janitor.prune()
    within = await trigger()
    clock.advance(SECOND)
    await stand.janitor.prune()
    after = await trigger()

    assert (first, after) == (None, None)
    assert within is not None


async def test_a_run_under_way_is_never_pruned(store, clock):
    node = await a_node(store, clock)
    held = await a_held_run(store, clock, node)
    clock.advance(60 * DAY)
    stand = await a_stand(store, clock)

    await stand.janitor.prune()

    assert key_of(await view(store, clock, held)) == key_of(held)
