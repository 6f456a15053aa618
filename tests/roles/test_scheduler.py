"""The scheduler claims what is due, once, and hands over what its worker has room for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from onthedot.core.firing import GRAIN
from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.core.model import SHARDS, Lanes, queue_of, shard_of
from onthedot.core.states import Status
from onthedot.errors import NodeDead, StoreUnavailable
from onthedot.roles import scheduler
from onthedot.roles.membership import Membership
from onthedot.roles.scheduler import SCAN_S, NoRunSink, Scheduler
from tests.support.builders import (
    a_job,
    a_node,
    a_one_off,
    a_retry,
    a_run,
    edit,
    every,
    kill,
    lease,
    ledger_of,
    status_of,
)
from tests.support.clock import START
from tests.support.roles import Failing, Fault, Stuck, a_stand

# Claiming


async def test_an_occurrence_is_claimed_one_second_before_it_is_due_and_not_earlier(store, clock):
    job = await a_job(store, clock, schedule=every(5))
    stand = await a_stand(store, clock)

    clock.advance(4 * SECOND - 1)
    await stand.scheduler.step()
    early = stand.holding.waiting
    clock.advance(1)
    await stand.scheduler.step()
    await stand.work()

    assert early == 0
    assert stand.holding.next_at() == START + 5 * SECOND
    assert [run.due for run in await ledger_of(store, clock, job.id)] == [START + 5 * SECOND]


async def test_a_scheduler_with_nothing_to_do_looks_again_before_anything_can_be_late(store, clock):
    stand = await a_stand(store, clock)

    pause = await stand.scheduler.step()

    assert pause == SCAN_S < 1


async def test_a_crowd_is_claimed_whole_and_once_though_one_claim_has_no_room_for_it(
    store, faulty, clock, monkeypatch
):
    monkeypatch.setattr(scheduler, "PEEK_MAX", SHARDS)
    monkeypatch.setattr(scheduler, "GROUP_ENTRIES", SHARDS)
    jobs = [await a_job(store, clock, schedule=every(5)) for _ in range(3 * SHARDS)]
    stand = await a_stand(faulty, clock, slots=200)

    claims = []
    for _ in range(2):
        clock.advance(5 * SECOND)
        before = faulty.calls["clock.fire"]
        assert await stand.scheduler.step() > 0
        claims.append(faulty.calls["clock.fire"] - before)

    assert claims[0] > 1  # several, in one group after the other
    assert claims[1] > claims[0]  # there was much to do: in two groups
    for job in jobs:
        dues = [run.due for run in await ledger_of(store, clock, job.id)]
        assert sorted(dues) == [START + 5 * SECOND, START + 10 * SECOND]


async def test_an_occurrence_is_fired_once_however_often_the_scheduler_steps(store, clock):
    job = await a_job(store, clock, schedule=every(2))
    stand = await a_stand(store, clock, slots=100)

    for _ in range(100):
        clock.advance(100 * MILLISECOND)
        await stand.member.step()
        await stand.scheduler.step()

    dues = [run.due for run in reversed(await ledger_of(store, clock, job.id))]
    assert dues == [START + k * 2 * SECOND for k in range(1, 6)]


async def test_two_schedulers_that_read_the_same_entry_fire_it_once(store, faulty, clock):
    job = await a_job(store, clock, schedule=every(1))
    slow, quick = await a_stand(faulty, clock), await a_stand(store, clock)
    on_the_way = Stuck()
    faulty.on("clock.fire", on_the_way)
    step = asyncio.create_task(slow.scheduler.step())
    await on_the_way.reached.wait()

    await quick.scheduler.step()
    on_the_way.go.set()
    pause = await step

    assert (quick.holding.waiting, slow.holding.waiting) == (1, 0)
    assert pause == 0.0  # it was beaten, and reads again at once
    assert len(await ledger_of(store, clock, job.id)) == 1


async def test_a_job_that_is_edited_between_reading_and_firing_is_read_again(store, faulty, clock):
    job = await a_job(store, clock, schedule=every(1))
    stand = await a_stand(faulty, clock)
    on_the_way = Stuck()
    faulty.on("clock.fire", on_the_way)
    step = asyncio.create_task(stand.scheduler.step())
    await on_the_way.reached.wait()

    await edit(store, clock, job, schedule=every(3))
    on_the_way.go.set()
    refused = await step
    await stand.scheduler.step()

    assert refused == 0.0
    assert stand.holding.waiting == 0  # what was due in a second is not due any more


async def test_a_claim_whose_answer_was_lost_is_not_fired_again(store, faulty, clock):
    job = await a_job(store, clock, schedule=every(1))
    stand = await a_stand(faulty, clock)
    faulty.on("clock.fire", Failing(StoreUnavailable("cut off"), times=1, after=True))

    with pytest.raises(StoreUnavailable):
        await stand.scheduler.step()
    await stand.scheduler.step()

    assert len(await ledger_of(store, clock, job.id)) == 1
    assert len(await store.runs.owned(stand.number)) == 1
    assert stand.holding.waiting == 0


async def test_a_scheduler_looks_only_after_its_own_shards(store, clock):
    jobs = [await a_job(store, clock, schedule=every(1)) for _ in range(16)]
    first, second = await a_stand(store, clock), await a_stand(store, clock)
    await first.member.step()

    await first.scheduler.step()

    held = {job for job, _, _ in first.holding.held()}
    assert held == {job.id for job in jobs if shard_of(job.id) in first.member.shards}
    assert len(held) == 8
    assert second.holding.waiting == 0


async def test_nothing_is_claimed_while_the_node_may_not_start(store, faulty, clock):
    await a_job(store, clock, schedule=every(1))
    stand = await a_stand(faulty, clock)

    clock.advance(12 * SECOND)
    pause = await stand.scheduler.step()

    assert (pause, stand.holding.waiting) == (SCAN_S, 0)
    assert faulty.calls["clock.fire"] == faulty.calls["runs.promote"] == 0


async def test_a_dead_node_claims_nothing(store, clock):
    job = await a_job(store, clock, schedule=every(1))
    stand = await a_stand(store, clock)
    await kill(store, clock, stand.number)

    with pytest.raises(NodeDead):
        await stand.scheduler.step()

    assert await ledger_of(store, clock, job.id) == []


# Handing over


async def test_what_the_worker_has_no_room_for_is_left_unowned(store, clock):
    for _ in range(5):
        await a_job(store, clock, schedule=every(1))
    stand, other = await a_stand(store, clock, slots=3), await a_node(store, clock)

    await stand.scheduler.step()

    assert stand.holding.waiting == 3
    assert stand.told_unowned == [{START + SECOND}]
    clock.advance(SECOND)
    assert len(await lease(store, clock, other)) == 2


async def test_the_worker_gets_only_runs_of_its_queues(store, clock):
    mail = await a_job(store, clock, schedule=every(1), queue="mail")
    await a_job(store, clock, schedule=every(1), queue="video")
    letter = await a_one_off(store, clock, at=START + SECOND, queue="mail")
    await a_one_off(store, clock, at=START + SECOND, queue="video")
    stand = await a_stand(store, clock, lanes=Lanes(("mail",)))

    await stand.scheduler.step()

    assert {job for job, _, _ in stand.holding.held()} == {mail.id, letter.id}


async def test_a_node_without_a_worker_leaves_every_run_to_others(store, clock):
    await a_job(store, clock, schedule=every(1))
    await a_one_off(store, clock, at=START + SECOND)
    number, other = await a_node(store, clock), await a_node(store, clock)
    member = Membership(store, clock, number=number, joined_sent=clock.monotonic())

    await Scheduler(store, clock, member, NoRunSink(), lambda ats: None).step()

    assert await store.runs.owned(number) == []
    clock.advance(SECOND)
    assert len(await lease(store, clock, other)) == 2


# Waiting runs


async def test_retries_and_one_offs_are_promoted_a_second_ahead(store, clock):
    retried = await a_retry(store, clock, await a_node(store, clock), wait_us=3 * SECOND)
    one_off = await a_one_off(store, clock, at=START + 3 * SECOND)
    later = await a_run(store, clock, due=START + 4 * SECOND)
    stand = await a_stand(store, clock)

    clock.advance(2 * SECOND)
    await stand.scheduler.step()

    assert {job for job, _, _ in stand.holding.held()} == {retried.job, one_off.id}
    assert await status_of(store, clock, later) is Status.SCHEDULED


async def test_a_hint_about_a_waiting_run_wakes_the_scheduler_only_if_it_comes_soon(store, clock):
    stand = await a_stand(store, clock)
    task = asyncio.create_task(stand.scheduler.loop.run())
    await asyncio.sleep(0.1)
    soon = await a_run(store, clock, due=clock.now() + GRAIN)

    stand.scheduler.expect(clock.now() + SECOND + 1)
    await asyncio.sleep(0.01)
    not_woken = (*soon, 1) not in stand.holding.held()
    stand.scheduler.expect(clock.now() + GRAIN)
    await asyncio.sleep(0.01)

    assert not_woken
    assert (*soon, 1) in stand.holding.held()
    task.cancel()


# Rules and broken entries


async def test_a_rule_is_learnt_once_for_all_jobs_and_all_steps(store, faulty, clock):
    for _ in range(3):
        await a_job(store, clock, schedule=every(1))
    stand = await a_stand(faulty, clock, slots=100)

    for _ in range(5):
        await stand.scheduler.step()
        clock.advance(SECOND)

    assert faulty.calls["clock.fire"] == 5
    assert faulty.calls["clock.rules"] == 1


async def test_an_entry_without_a_readable_rule_is_set_aside_and_the_others_fire(
    store, faulty, clock
):
    broken = await a_job(store, clock, schedule=every(1), queue="broken")
    sound = await a_job(store, clock, schedule=every(1))
    stand = await a_stand(faulty, clock)

    async def unreadable(verb: Fault, ids: Any) -> Any:
        rules = await verb(ids)
        return {number: rule for number, rule in rules.items() if queue_of(rule.lane) != "broken"}

    faulty.on("clock.rules", unreadable)
    await stand.scheduler.step()
    again = await stand.scheduler.step()

    assert {job for job, _, _ in stand.holding.held()} == {sound.id}
    assert (await store.ledger.overview(limit=10, now=clock.now())).set_aside == 1
    assert again == SCAN_S
    assert await ledger_of(store, clock, broken.id) == []


async def test_an_entry_that_the_store_cannot_fire_does_not_stop_the_others(store, faulty, clock):
    culprit = await a_job(store, clock, schedule=every(1))
    neighbours = [await a_job(store, clock, schedule=every(1)) for _ in range(3)]
    stand = await a_stand(faulty, clock)

    async def choking(verb: Fault, plan: Any, **kwargs: Any) -> Any:
        if any(run.job == culprit.id for run in plan.runs):
            raise ValueError("the store cannot take this one")
        return await verb(plan, **kwargs)

    faulty.on("clock.fire", choking)
    task = asyncio.create_task(stand.scheduler.loop.run())
    await asyncio.sleep(0.9)
    task.cancel()

    held = {job for job, _, _ in stand.holding.held()}
    assert held == {job.id for job in neighbours}


async def test_a_waiting_run_is_promoted_although_an_entry_cannot_be_fired(store, faulty, clock):
    await a_job(store, clock, schedule=every(1))
    one_off = await a_one_off(store, clock, at=START + SECOND)
    stand = await a_stand(faulty, clock)
    faulty.on("clock.fire", Failing(ValueError("the store cannot take this one")))

    task = asyncio.create_task(stand.scheduler.loop.run())
    await asyncio.sleep(0.9)
    task.cancel()

    assert {job for job, _, _ in stand.holding.held()} == {one_off.id}
