"""The worker keeps within its slots: it leases into its room and hands back what has to wait."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.core.model import Lanes
from onthedot.core.states import Status
from onthedot.errors import StoreUnavailable
from tests.support.builders import (
    a_job,
    a_node,
    a_one_off,
    a_run,
    every,
    keys_of,
    lease,
    ledger_of,
    some_runs,
    status_of,
    view,
)
from tests.support.clock import START
from tests.support.roles import Failing, Stuck, a_stand, id_of, idle, until

QUARTER = 250 * MILLISECOND
LOOK_BACK_US = 51 * MILLISECOND

# Slots


async def test_never_more_attempts_are_under_way_than_there_are_slots(store, clock):
    await some_runs(store, clock, 50)
    stand = await a_stand(store, clock, slots=3)
    stand.runner.hang()

    await stand.work()
    await stand.work()
    held = stand.runner.under_way
    stand.runner.let_go()
    for _ in range(60):
        stand.worker.look()
        await stand.work_off()

    assert held == 3
    assert len(stand.runner.calls) == 50
    assert stand.runner.most_under_way == 3


async def test_claimed_runs_beyond_the_slots_wait_for_one(store, clock):
    for _ in range(5):
        await a_one_off(store, clock, at=START + SECOND)
    stand = await a_stand(store, clock, slots=5)
    await stand.scheduler.step()
    stand.holding.slots = 2
    stand.runner.hang()

    clock.advance(SECOND)
    await stand.work()

    assert (stand.runner.under_way, stand.holding.waiting) == (2, 3)


async def test_a_slot_that_becomes_free_is_used_at_once(store, clock):
    runs = await some_runs(store, clock, 3)
    stand = await a_stand(store, clock, slots=1)

    await stand.work_off()
    await asyncio.sleep(0)

    assert len(stand.runner.calls) == len(runs)
    assert clock.now() == START


# Handing back


async def test_what_waited_250_ms_without_a_slot_is_handed_back_and_nothing_is_burnt(store, clock):
    runs = [await a_one_off(store, clock, at=START + SECOND) for _ in range(2)]
    stand, other = await a_stand(store, clock, slots=2), await a_node(store, clock)
    await stand.scheduler.step()
    stand.holding.slots = 1
    stand.runner.hang()
    clock.advance(SECOND)
    await stand.work()

    clock.advance(QUARTER - 1)
    await stand.work()
    kept = stand.holding.waiting
    clock.advance(LOOK_BACK_US)
    await stand.work()

    assert (kept, stand.holding.waiting) == (1, 0)
    [back] = await lease(store, clock, other)
    assert back.job in {job.id for job in runs}
    assert (back.attempt, back.rescues) == (1, 0)


async def test_a_run_that_was_taken_late_gets_its_250_ms_from_then_on(store, clock):
    await some_runs(store, clock, 3)
    clock.advance(10 * SECOND)
    stand = await a_stand(store, clock, slots=3)
    await stand.worker.step()  # leases all, ten seconds late
    stand.holding.slots = 1
    stand.runner.hang()

    clock.advance(200 * MILLISECOND)
    await stand.work()

    assert (stand.runner.under_way, stand.holding.waiting) == (1, 2)


async def test_a_worker_without_a_free_slot_wakes_when_its_margin_is_over(store, clock):
    for _ in range(2):
        await a_one_off(store, clock, at=START + SECOND)
    stand = await a_stand(store, clock, slots=2)
    await stand.scheduler.step()
    stand.holding.slots = 1
    stand.runner.hang()
    clock.advance(SECOND + 200 * MILLISECOND)

    pause = await stand.work()  # a hint has woken it 50 ms before the margin is over

    assert pause <= 0.050


async def test_while_others_queue_the_scheduler_is_given_no_room(store, clock):
    for _ in range(3):
        await a_one_off(store, clock, at=START + SECOND)
    stand = await a_stand(store, clock, slots=3)
    await stand.scheduler.step()
    stand.holding.slots = 1
    stand.runner.hang()
    clock.advance(SECOND)
    await stand.work()
    before = stand.room()

    clock.advance(QUARTER)
    await stand.work()
    during = stand.room()
    stand.runner.let_go()
    await idle()

    assert (before, during) == (0, 0)
    assert stand.room() > 0


async def test_runs_whose_hand_back_failed_come_back_by_reconciliation(store, faulty, clock):
    for _ in range(2):
        await a_one_off(store, clock, at=START + SECOND)
    stand, other = await a_stand(faulty, clock, slots=2), await a_node(store, clock)
    await stand.scheduler.step()
    stand.holding.slots = 1
    stand.runner.hang()
    clock.advance(SECOND)
    await stand.work()
    clock.advance(QUARTER)
    faulty.on("runs.release", Failing(StoreUnavailable("gone"), times=1))

    with pytest.raises(StoreUnavailable):
        await stand.work()
    await stand.reconciler.reconcile()
    clock.advance(2 * SECOND)
    await stand.reconciler.reconcile()

    assert len(await lease(store, clock, other)) == 1


# Leasing


async def test_a_worker_leases_no_more_than_it_has_slots_for(store, clock):
    await some_runs(store, clock, 20)
    stand, other = await a_stand(store, clock, slots=4), await a_node(store, clock)

    await stand.work()

    assert len(await store.runs.owned(stand.number)) == 4
    assert len(await lease(store, clock, other)) == 16


async def test_a_worker_leases_only_from_its_queues(store, clock):
    mail = await a_run(store, clock, await a_job(store, clock, queue="mail"))
    video = await a_run(store, clock, await a_job(store, clock, queue="video"))
    stand = await a_stand(store, clock, lanes=Lanes(("mail",)))

    await stand.work_off()

    assert stand.runner.runs == [id_of(mail)]
    assert await status_of(store, clock, video) is Status.QUEUED


async def test_a_worker_whose_slots_are_busy_leases_nothing(store, clock):
    await some_runs(store, clock, 2)
    stand = await a_stand(store, clock, slots=2)
    stand.runner.hang()
    await stand.work()
    await stand.work()
    await some_runs(store, clock, 5)

    stand.worker.look()
    await stand.work()

    assert len(await store.runs.owned(stand.number)) == 2


async def test_a_worker_in_a_backlog_leases_more_than_its_slots_at_a_time(store, faulty, clock):
    await some_runs(store, clock, 600)
    stand = await a_stand(faulty, clock, slots=4)

    task = asyncio.create_task(stand.run_worker())
    for _ in range(1_000):
        await asyncio.sleep(0.001)
        await stand.finisher.step()
        stand.worker.loop.nudge()
        if len(stand.runner.calls) == 600:
            break
    task.cancel()

    assert len(stand.runner.calls) == 600
    assert stand.runner.most_under_way <= 4
    assert faulty.calls["runs.lease"] < 600 / 4 / 2


async def test_unowned_runs_are_found_within_a_second_without_any_hint(store, clock):
    stand = await a_stand(store, clock)
    task = asyncio.create_task(stand.run_worker())
    await asyncio.sleep(0.01)
    await a_run(store, clock)

    await asyncio.sleep(1.0)
    task.cancel()

    assert len(stand.runner.calls) == 1


async def test_a_hint_makes_the_worker_look_at_once(store, clock):
    stand = await a_stand(store, clock)
    task = asyncio.create_task(stand.run_worker())
    await asyncio.sleep(0.01)
    await a_run(store, clock)

    stand.worker.look()
    await idle()
    task.cancel()

    assert len(stand.runner.calls) == 1


async def test_a_hint_during_a_lease_is_not_lost(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    answer = Stuck(after=True)
    faulty.on("runs.lease", answer)
    task = asyncio.create_task(stand.run_worker())
    await answer.reached.wait()

    await a_run(store, clock)
    stand.worker.look()
    answer.go.set()
    await idle()
    task.cancel()

    assert len(stand.runner.calls) == 1
    assert clock.now() == START


async def test_runs_left_unowned_for_want_of_room_start_on_the_dot_when_slots_are_free(
    store, clock
):
    jobs = [await a_job(store, clock, schedule=every(10)) for _ in range(5)]
    stand = await a_stand(store, clock, slots=3)
    loops = (stand.scheduler.loop, stand.worker.loop, stand.worker.starting)
    tasks = [asyncio.create_task(loop.run()) for loop in loops]
    await asyncio.sleep(8)
    await stand.member.step()
    await until(lambda: clock.now() >= START + 9_900 * MILLISECOND)

    await asyncio.sleep(1)
    for task in tasks:
        task.cancel()

    assert len(stand.runner.started) == len(jobs)
    late = [start - START - 10 * SECOND for start in stand.runner.started]
    assert max(late) < 50 * MILLISECOND, late


async def test_what_was_handed_back_is_taken_again_as_soon_as_a_slot_is_free(store, clock):
    for _ in range(2):
        await a_one_off(store, clock, at=START + SECOND)
    stand = await a_stand(store, clock, slots=2)
    await stand.scheduler.step()
    stand.holding.slots = 1
    task = asyncio.create_task(stand.run_worker())
    await asyncio.sleep(0.95)
    stand.worker.look()  # a hint about something else: the queue is empty
    await asyncio.sleep(0.01)
    stand.runner.hang()
    await asyncio.sleep(0.35)
    handed_back = stand.holding.waiting == 0

    stand.runner.let_go()
    await idle()
    stand.worker.loop.nudge()  # as the end of an attempt does
    await asyncio.sleep(0.01)
    task.cancel()

    assert handed_back
    assert len(stand.runner.calls) == 2


# Draining


async def test_a_drain_gives_back_what_waits_and_lets_what_is_under_way_end(store, clock):
    waiting = await a_one_off(store, clock, at=START + SECOND)
    under_way = await a_run(store, clock)
    stand = await a_stand(store, clock)
    await stand.scheduler.step()
    stand.runner.hang()
    await stand.work()
    await stand.work()

    asyncio.get_running_loop().call_later(2, stand.runner.let_go)
    await stand.worker.drain(10)
    await stand.finisher.step()

    assert clock.monotonic() == pytest.approx(2, abs=0.01)
    assert await store.runs.owned(stand.number) == []
    assert await status_of(store, clock, under_way) is Status.SUCCEEDED
    [left] = await ledger_of(store, clock, waiting.id)
    assert (left.status, left.attempt) == (Status.QUEUED, 1)


async def test_a_drain_that_runs_out_of_grace_gives_back_what_is_under_way(store, clock):
    run = await a_run(store, clock)
    stand, other = await a_stand(store, clock), await a_node(store, clock)
    stand.runner.hang()
    await stand.work()
    await stand.work()

    await stand.worker.drain(3)

    assert stand.runner.aborted == [id_of(run)]
    assert stand.outcomes == []
    [back] = await lease(store, clock, other)
    assert (keys_of([back]), back.attempt, back.rescues) == ([run], 1, 0)


async def test_a_drain_lets_attempts_end_although_the_store_could_not_take_the_others_back(
    store, faulty, clock
):
    await a_one_off(store, clock, at=START + SECOND)
    under_way = await a_run(store, clock)
    stand = await a_stand(faulty, clock)
    await stand.scheduler.step()
    stand.runner.hang()
    await stand.work()
    await stand.work()
    faulty.on("runs.release", Failing(StoreUnavailable("gone"), times=1))
    asyncio.get_running_loop().call_later(2, stand.runner.let_go)

    try:
        await stand.worker.drain(10)
    except StoreUnavailable:
        await stand.attempts.stop()  # as the end of an incarnation does
    await stand.finisher.step()

    assert stand.runner.aborted == []
    assert (await view(store, clock, under_way)).status is Status.SUCCEEDED


async def test_a_worker_that_drains_takes_nothing_more(store, clock):
    stand = await a_stand(store, clock)
    await stand.worker.drain(0)
    run = await a_run(store, clock)

    stand.worker.look()
    await stand.work()

    assert stand.room() == 0
    assert await status_of(store, clock, run) is Status.QUEUED


async def test_claims_side_by_side_share_the_room(store, clock):
    stand = await a_stand(store, clock, slots=10)

    with stand.worker.claiming(6) as first, stand.worker.claiming(6) as second:
        assert (first, second) == (6, 4)
        assert stand.room() == 0
    assert stand.room() == 10
