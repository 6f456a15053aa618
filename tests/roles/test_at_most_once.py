"""A node and what may be started at most once: it gives back what it has not started, and loses the
rest when it cannot tell how that ended."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.outcomes import Result
from onthedot.core.states import Status
from onthedot.errors import StoreUnavailable
from onthedot.roles.held_runs import HAND_BACK_US
from tests.support.builders import (
    RunKey,
    a_job,
    a_run,
    every,
    kill,
    lease,
    ledger_of,
    status_of,
    view,
)
from tests.support.roles import Failing, FaultyStore, Stand, a_stand, id_of, idle, living, until

ONCE = {"guarantee": "at_most_once", "retries": 0}


async def a_hanging_attempt(store, clock, stand: Stand, **fields) -> RunKey:
    run = await a_run(store, clock, await a_job(store, clock, **{**ONCE, **fields}))
    stand.runner.hang()
    stand.worker.look()
    await stand.work()
    await stand.work()
    assert id_of(run) in stand.runner.runs
    return run


async def test_an_occurrence_starts_at_its_instant(store, clock):
    job = await a_job(store, clock, schedule=every(10), **ONCE)
    async with living(store, clock) as node:
        await asyncio.sleep(10.5)

        assert [call.run.job for call in node.runner.calls] == [job.id]
        assert 0 <= node.runner.started[0] - job.created_at - 10 * SECOND < SECOND / 10
        [run] = await ledger_of(store, clock, job.id)
        assert run.status is Status.SUCCEEDED


async def test_a_failed_answer_is_a_failure_with_one_start(store, clock):
    run = await a_run(store, clock, await a_job(store, clock, **ONCE))
    stand = await a_stand(store, clock)
    stand.runner.answer(Result(error="HTTP 503 Service Unavailable"))

    await stand.work_off()

    seen = await view(store, clock, run)
    assert (seen.status, seen.attempt, seen.reason) == (Status.FAILED, 1, "out of attempts")


async def test_a_timeout_is_a_failure_too(store, clock):
    stand = await a_stand(store, clock)
    run = await a_hanging_attempt(store, clock, stand, timeout_us=SECOND)

    await asyncio.sleep(2)
    await stand.finisher.step()

    seen = await view(store, clock, run)
    assert (seen.status, seen.error) == (Status.FAILED, "timed out after 1 s")


async def test_an_outcome_that_the_runner_does_not_know_is_lost_and_counted(store, clock):
    run = await a_run(store, clock, await a_job(store, clock, **ONCE))
    stand = await a_stand(store, clock)
    stand.runner.answer(Result(error="its runner process was killed by SIGKILL", unknown=True))

    await stand.work_off()

    seen = await view(store, clock, run)
    assert (seen.status, seen.reason) == (Status.LOST, "outcome unknown")
    assert stand.finisher.tally.lost == 1


async def test_a_drain_loses_what_it_cannot_wait_for_and_gives_back_what_it_has_not_started(
    store, clock
):
    stand = await a_stand(store, clock, slots=1)
    started = await a_hanging_attempt(store, clock, stand)
    unstarted = await a_run(store, clock, await a_job(store, clock, **ONCE))
    [held] = await lease(store, clock, stand.number)
    stand.worker.accept([held])

    await stand.worker.drain(grace_s=1.0)
    await stand.finisher.step()

    seen = await view(store, clock, started)
    assert (seen.status, seen.error) == (Status.LOST, "its node was stopped before it ended")
    assert await status_of(store, clock, unstarted) is Status.QUEUED
    assert stand.runner.runs == [id_of(started)]


async def test_what_finds_no_slot_in_time_goes_back_to_the_queue(store, clock):
    stand = await a_stand(store, clock, slots=1)
    await a_hanging_attempt(store, clock, stand)
    waiting = await a_run(store, clock, await a_job(store, clock, **ONCE))
    [held] = await lease(store, clock, stand.number)
    stand.worker.accept([held])
    await stand.work()
    clock.advance(HAND_BACK_US)

    await stand.work()

    assert await status_of(store, clock, waiting) is Status.QUEUED
    assert stand.holding.waiting == 0


async def test_a_lease_whose_answer_was_lost_is_given_back_and_starts_once(store, clock):
    faulty = FaultyStore(store)
    run = await a_run(store, clock, await a_job(store, clock, **ONCE))
    stand = await a_stand(faulty, clock)
    faulty.on("runs.lease", Failing(StoreUnavailable("gone"), times=1, after=True))
    with pytest.raises(StoreUnavailable):
        await stand.worker.step()

    for _ in range(2):
        await stand.reconciler.reconcile()
    stand.worker.look()
    await stand.work_off()

    assert stand.runner.runs == [id_of(run)]
    assert await status_of(store, clock, run) is Status.SUCCEEDED


async def test_an_outcome_that_cannot_be_written_never_gives_the_run_back(store, clock):
    faulty = FaultyStore(store)
    run = await a_run(store, clock, await a_job(store, clock, **ONCE))
    stand = await a_stand(faulty, clock)
    faulty.on("runs.finish", Failing(ValueError("no such thing")))

    await stand.work()
    await stand.work()
    await stand.finisher.step()
    for _ in range(3):
        await stand.reconciler.reconcile()
    faulty.heal()
    stand.worker.look()
    await stand.work_off()

    assert stand.runner.runs == [id_of(run)]
    assert [ref.run for ref in await store.runs.owned(stand.number)] == [run.run]


async def test_a_janitor_counts_what_is_lost_with_a_dead_node(store, clock):
    stand, other = await a_stand(store, clock), await a_stand(store, clock)
    run = await a_hanging_attempt(store, clock, stand)
    await kill(store, clock, stand.number)

    await other.janitor.watch()

    assert (other.janitor.tally.rescued, other.janitor.tally.lost) == (1, 1)
    assert await status_of(store, clock, run) is Status.LOST
    stand.runner.let_go()
    await idle()


async def test_a_node_that_is_killed_leaves_no_second_start(store, clock):
    job = await a_job(store, clock, **ONCE)
    run = await a_run(store, clock, job)
    async with living(store, clock) as first:
        first.runner.hang()
        await until(lambda: bool(first.runner.calls))
        assert first.task is not None
        first.task.cancel()
        await asyncio.wait([first.task])
    await kill(store, clock, first.number)

    async with living(store, clock) as second:
        await asyncio.sleep(5)

        assert second.runner.calls == []
    assert await status_of(store, clock, run) is Status.LOST
