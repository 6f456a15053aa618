"""The reconciler and what a node holds: cancel requests, visibility, and claims gone astray."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.core.model import Backoff
from onthedot.core.outcomes import Result
from onthedot.core.states import Status
from onthedot.errors import NodeDead, StoreUnavailable
from onthedot.roles.reconciler import DOUBT_S, SIGNALS_S
from tests.support.builders import (
    a_job,
    a_node,
    a_run,
    every,
    key_of,
    kill,
    lease,
    status_of,
    view,
)
from tests.support.clock import START
from tests.support.roles import Failing, Stand, Stuck, a_stand, id_of


async def a_long_attempt(store, clock, stand: Stand):
    run = await a_run(store, clock)
    stand.runner.hang()
    stand.worker.look()
    await stand.work()
    await stand.work()
    return run


# Wishes


async def test_a_cancelled_attempt_ends_within_two_seconds_by_the_loops_alone(store, clock):
    stand = await a_stand(store, clock)
    run = await a_long_attempt(store, clock, stand)
    await store.runs.cancel(*run, now=clock.now())

    for _ in range(8):
        await asyncio.sleep(await stand.reconciler.listen())
        await stand.finisher.step()

    assert clock.now() == pytest.approx(START + 2 * SECOND, abs=1_000)
    assert await status_of(store, clock, run) is Status.CANCELLED


async def test_a_node_that_holds_nothing_asks_for_no_wishes(store, faulty, clock):
    stand = await a_stand(faulty, clock)

    pause = await stand.reconciler.listen()

    assert (pause, faulty.calls["runs.signals"]) == (SIGNALS_S, 0)


async def test_wishes_for_the_runs_of_others_are_not_ours(store, clock):
    stand, other = await a_stand(store, clock), await a_stand(store, clock)
    mine, theirs = (
        await a_long_attempt(store, clock, stand),
        await a_long_attempt(store, clock, other),
    )
    await store.runs.cancel(*theirs, now=clock.now())

    await stand.reconciler.listen()
    await asyncio.sleep(0.01)

    assert set(stand.holding.under_way) == {mine}
    assert stand.runner.aborted == other.runner.aborted == []


async def test_a_wish_is_obeyed_after_the_store_was_away(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    run = await a_long_attempt(store, clock, stand)
    await store.runs.cancel(*run, now=clock.now())
    faulty.on("runs.signals", Failing(StoreUnavailable("gone"), times=1))

    with pytest.raises(StoreUnavailable):
        await stand.reconciler.listen()
    await stand.reconciler.listen()
    await asyncio.sleep(0.01)

    assert stand.runner.aborted == [id_of(run)]


async def test_a_wish_that_comes_before_the_answer_to_the_claim_is_obeyed_too(store, faulty, clock):
    run = await a_run(store, clock)
    stand = await a_stand(faulty, clock)
    answer = Stuck(after=True)
    faulty.on("runs.lease", answer)
    leasing = asyncio.create_task(stand.worker.step())
    await answer.reached.wait()
    await store.runs.cancel(*run, now=clock.now())

    await stand.reconciler.listen()
    answer.go.set()
    await leasing
    await stand.work_off()

    assert stand.runner.runs == []
    assert await status_of(store, clock, run) is Status.CANCELLED


# Visibility


async def test_an_attempt_becomes_visible_after_a_second_with_its_real_start(store, clock):
    clock.advance(123_456)
    stand = await a_stand(store, clock)
    run = await a_long_attempt(store, clock, stand)
    began = clock.now()

    clock.advance(SECOND - 1)
    await stand.reconciler.listen()
    early = (await view(store, clock, run)).started_at
    clock.advance(1)
    await stand.reconciler.listen()

    seen = await view(store, clock, run)
    assert early is None
    assert (seen.status, seen.started_at) == (Status.RUNNING, began)


async def test_a_short_attempt_costs_no_write_for_its_visibility(store, faulty, clock):
    await a_run(store, clock)
    stand = await a_stand(faulty, clock)
    await stand.work_off()

    clock.advance(2 * SECOND)
    await stand.reconciler.listen()

    assert faulty.calls["runs.started"] == 0


async def test_an_attempt_is_shown_once(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    await a_long_attempt(store, clock, stand)

    for _ in range(5):
        clock.advance(SECOND)
        await stand.reconciler.listen()

    assert faulty.calls["runs.started"] == 1


async def test_an_attempt_that_could_not_be_shown_is_shown_later(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    run = await a_long_attempt(store, clock, stand)
    clock.advance(SECOND)
    faulty.on("runs.started", Failing(StoreUnavailable("gone"), times=1))

    with pytest.raises(StoreUnavailable):
        await stand.reconciler.listen()
    await stand.reconciler.listen()

    assert (await view(store, clock, run)).started_at == START


async def test_a_dead_node_shows_nothing(store, clock):
    stand = await a_stand(store, clock)
    await a_long_attempt(store, clock, stand)
    clock.advance(SECOND)
    await kill(store, clock, stand.number)

    with pytest.raises(NodeDead):
        await stand.reconciler.listen()


# Reconciliation


async def a_lost_claim(store, faulty, clock, stand: Stand):
    """A lease that was committed and whose answer never came."""
    run = await a_run(store, clock)
    faulty.on("runs.lease", Failing(StoreUnavailable("cut off"), times=1, after=True))
    with pytest.raises(StoreUnavailable):
        await stand.worker.step()
    assert len(await store.runs.owned(stand.number)) == 1
    return run


async def test_a_claim_whose_answer_was_lost_is_given_back_after_two_sightings(
    store, faulty, clock
):
    stand, other = await a_stand(faulty, clock), await a_node(store, clock)
    run = await a_lost_claim(store, faulty, clock, stand)

    pause = await stand.reconciler.reconcile()
    doubted = await lease(store, clock, other)
    clock.advance(int(DOUBT_S * SECOND))
    settled = await stand.reconciler.reconcile()

    assert (pause, doubted) == (DOUBT_S, [])
    assert settled > DOUBT_S
    assert faulty.calls["runs.owned"] == 1  # the second look is at memory
    [back] = await lease(store, clock, other)
    assert (key_of(back), back.attempt, back.rescues) == (run, 1, 0)


async def test_a_lost_claim_of_the_clock_is_given_back_and_runs(store, faulty, clock):
    await a_job(store, clock, schedule=every(1))
    stand = await a_stand(faulty, clock)
    faulty.on("clock.fire", Failing(StoreUnavailable("cut off"), times=1, after=True))
    with pytest.raises(StoreUnavailable):
        await stand.scheduler.step()

    await stand.reconciler.reconcile()
    clock.advance(2 * SECOND)
    await stand.reconciler.reconcile()
    await stand.work_off()

    assert [call.scheduled_for for call in stand.runner.calls] == [START + SECOND]


async def test_a_claim_that_is_on_its_way_to_memory_is_kept(store, faulty, clock):
    run = await a_run(store, clock)
    stand = await a_stand(faulty, clock)
    answer = Stuck(after=True)
    faulty.on("runs.lease", answer)
    step = asyncio.create_task(stand.worker.step())
    await answer.reached.wait()

    await stand.reconciler.reconcile()  # the first sighting falls between commit and answer
    answer.go.set()
    await step
    clock.advance(int(DOUBT_S * SECOND))
    await stand.reconciler.reconcile()
    await stand.work_off()

    assert stand.runner.runs == [id_of(run)]
    assert [outcome.fence for outcome in stand.outcomes] == [1]
    assert stand.finisher.stale == 0


async def test_a_claim_whose_answer_takes_long_is_not_started_twice(store, faulty, clock):
    run = await a_run(store, clock)
    slow, other = await a_stand(faulty, clock), await a_stand(store, clock)
    answer = Stuck(after=True)
    faulty.on("runs.lease", answer)
    step = asyncio.create_task(slow.worker.step())
    await answer.reached.wait()

    for _ in range(2):  # the answer is under way for longer than between two sightings
        await slow.reconciler.reconcile()
        clock.advance(int(DOUBT_S * SECOND))
    await other.work()
    await other.work()
    answer.go.set()
    await step
    await slow.work_off()

    assert sorted(slow.runner.runs + other.runner.runs) == [id_of(run)]


async def test_a_node_that_claims_without_pause_gives_lost_claims_back_all_the_same(
    store, faulty, clock
):
    stand, other = await a_stand(faulty, clock), await a_node(store, clock)
    await a_lost_claim(store, faulty, clock, stand)

    for _ in range(3):  # the next claim begins before the last one has been answered
        with stand.holding.claiming(0), stand.holding.claiming(0):
            await stand.reconciler.reconcile()
        clock.advance(int(DOUBT_S * SECOND))

    assert len(await lease(store, clock, other)) == 1


async def test_what_is_held_or_under_way_or_ending_is_never_doubted(store, faulty, clock):
    stand, other = await a_stand(faulty, clock), await a_node(store, clock)
    under_way = await a_long_attempt(store, clock, stand)
    await a_job(store, clock, schedule=every(1))
    await stand.scheduler.step()

    for _ in range(5):
        await stand.reconciler.reconcile()
        clock.advance(100 * MILLISECOND)
    stand.runner.let_go()
    await asyncio.sleep(0.01)
    for _ in range(5):
        await stand.reconciler.reconcile()

    assert faulty.calls["runs.release"] == 0
    assert await lease(store, clock, other) == []
    await stand.finisher.step()
    assert await status_of(store, clock, under_way) is Status.SUCCEEDED


async def a_retry_before_the_answer(store, faulty, clock, stand: Stand):
    """A run whose first attempt has failed and which is back for its second one, before anybody
    was told that the end of the first is written. Gives the finisher's step, and the answer that
    it waits for.
    """
    backoff = Backoff(initial_us=4 * SECOND)
    await a_run(store, clock, await a_job(store, clock, retries=1, backoff=backoff))
    answer = Stuck(after=True)
    faulty.on("runs.finish", answer)
    stand.runner.answer(Result(error="no"))
    stand.worker.look()
    await stand.work()
    await stand.work()
    writing = asyncio.create_task(stand.finisher.step())
    await answer.reached.wait()
    clock.advance(4 * SECOND)
    await stand.scheduler.step()
    return writing, answer


async def test_a_retry_is_ours_while_the_answer_to_its_last_end_is_on_its_way(store, faulty, clock):
    stand, other = await a_stand(faulty, clock), await a_node(store, clock)
    writing, answer = await a_retry_before_the_answer(store, faulty, clock, stand)

    for _ in range(3):
        await stand.reconciler.reconcile()
        clock.advance(int(DOUBT_S * SECOND))

    assert faulty.calls["runs.release"] == 0
    assert await lease(store, clock, other) == []
    answer.go.set()
    await writing
    await stand.work_off()
    assert [outcome.status for outcome in stand.outcomes] == [Status.FAILED, Status.SUCCEEDED]
    assert stand.finisher.stale == 0


async def test_the_end_of_a_retry_is_not_forgotten_with_that_of_the_attempt_before(
    store, faulty, clock
):
    stand, other = await a_stand(faulty, clock), await a_node(store, clock)
    writing, answer = await a_retry_before_the_answer(store, faulty, clock, stand)
    await stand.work()
    await stand.work()
    assert stand.finisher.pending == 2  # both ends are in memory

    answer.go.set()
    await writing
    for _ in range(3):
        await stand.reconciler.reconcile()
        clock.advance(int(DOUBT_S * SECOND))

    assert await lease(store, clock, other) == []
    await stand.finisher.step()
    assert stand.finisher.stale == 0


async def test_a_claim_that_could_not_be_given_back_is_given_back_later(store, faulty, clock):
    stand, other = await a_stand(faulty, clock), await a_node(store, clock)
    await a_lost_claim(store, faulty, clock, stand)
    await stand.reconciler.reconcile()
    faulty.on("runs.release", Failing(StoreUnavailable("gone"), times=1))
    with pytest.raises(StoreUnavailable):
        await stand.reconciler.reconcile()

    await stand.reconciler.reconcile()
    await stand.reconciler.reconcile()

    assert len(await lease(store, clock, other)) == 1
