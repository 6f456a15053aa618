"""The worker starts each run at its instant: never before, and never without a definition."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.clock import DatabaseClock
from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.core.states import Status
from onthedot.errors import StoreUnavailable
from onthedot.roles import execution_specs
from onthedot.roles.worker import LOOK_US
from tests.support.builders import (
    a_job,
    a_one_off,
    a_run,
    delete,
    edit,
    every,
    some_runs,
    status_of,
    view,
)
from tests.support.clock import START
from tests.support.roles import Failing, Stuck, a_stand, id_of, idle, ids_of, telling

# Its instant


async def test_a_claimed_run_is_not_started_before_its_instant(store, clock):
    await a_job(store, clock, schedule=every(1))
    stand = await a_stand(store, clock)
    await stand.scheduler.step()

    for ms in range(0, 1_000, 50):
        await stand.work()
        clock.advance(50 * MILLISECOND - (ms == 0))

    assert clock.now() == START + SECOND - 1
    assert await stand.work() > 0
    assert stand.runner.calls == []


async def test_a_claimed_run_is_started_at_its_instant(store, clock):
    await a_job(store, clock, schedule=every(1))
    stand = await a_stand(store, clock)
    await stand.scheduler.step()

    clock.advance(SECOND)
    await stand.work()

    assert stand.runner.started == [START + SECOND]
    assert stand.runner.calls[0].scheduled_for == START + SECOND


async def test_what_may_start_once_is_started_at_its_instant_though_nobody_claims_it(store, clock):
    at = START + 400 * MILLISECOND
    await a_one_off(store, clock, at=at, guarantee="at_most_once", retries=0)
    stand = await a_stand(store, clock)
    await stand.scheduler.step()
    working = asyncio.create_task(stand.run_worker())

    await asyncio.sleep(0.45)

    [started] = stand.runner.started
    assert 0 <= started - at <= 2 * LOOK_US
    working.cancel()


async def test_the_worker_sleeps_until_the_next_instant_and_no_longer(store, clock):
    for at in (300, 700):
        await a_one_off(store, clock, at=START + at * MILLISECOND)
    stand = await a_stand(store, clock)
    await stand.scheduler.step()

    pause = await stand.work()

    assert pause == pytest.approx(0.3)


async def test_a_worker_left_to_itself_starts_every_run_on_the_dot(store, clock):
    ats = [START + ms * MILLISECOND for ms in (17, 250, 251, 800, 999)]
    for at in ats:
        await a_one_off(store, clock, at=at)
    stand = await a_stand(store, clock)
    await stand.scheduler.step()

    task = asyncio.create_task(stand.run_worker())
    await asyncio.sleep(1.1)
    task.cancel()

    late = [start - at for start, at in zip(stand.runner.started, ats, strict=True)]
    assert all(0 <= us <= 10 for us in late), late


async def test_a_run_starts_at_its_instant_although_the_store_is_slow_to_lease(
    store, faulty, clock
):
    await a_one_off(store, clock, at=START + 800 * MILLISECOND)
    stand = await a_stand(faulty, clock)
    await stand.scheduler.step()
    slow = Stuck()
    faulty.on("runs.lease", slow)

    task = asyncio.create_task(stand.run_worker())
    await slow.reached.wait()
    await asyncio.sleep(2)
    task.cancel()

    assert [start - START for start in stand.runner.started] == [
        pytest.approx(800 * MILLISECOND, abs=10)
    ]


async def test_held_runs_start_although_the_definitions_of_others_cannot_be_fetched(
    store, faulty, clock
):
    known = await a_job(store, clock, schedule=every(1))
    stand = await a_stand(faulty, clock)
    await stand.scheduler.step()
    await stand.work()
    faulty.on("jobs.execution_specs", Failing(StoreUnavailable("gone")))
    clock.advance(500 * MILLISECOND)
    await a_one_off(store, clock, at=START + SECOND)
    await stand.scheduler.step()

    task = asyncio.create_task(stand.run_worker())
    await asyncio.sleep(1)
    task.cancel()

    assert [call.job_id for call in stand.runner.calls] == [f"job-{known.id:x}"]


# What it calls


async def test_an_attempt_carries_what_the_handler_needs_to_know(store, clock):
    job = await a_job(store, clock, handler_url="http://127.0.0.1:9/x", payload='{"a": 1}')
    run = await a_run(store, clock, job)
    stand = await a_stand(store, clock)

    await stand.work_off()

    [call] = stand.runner.calls
    assert (call.run_id, call.job_id) == (id_of(run), f"job-{job.id:x}")
    assert (call.url, call.payload, call.attempt) == ("http://127.0.0.1:9/x", '{"a": 1}', 1)


async def test_the_payload_of_a_run_comes_before_that_of_its_job(store, clock):
    job = await a_job(store, clock, payload='{"a": 1}')
    await a_run(store, clock, job, payload='{"b": 2}')
    stand = await a_stand(store, clock)

    await stand.work_off()

    assert [call.payload for call in stand.runner.calls] == ['{"b": 2}']


async def test_an_attempt_uses_the_version_that_was_current_when_it_was_leased(store, clock):
    job = await a_job(store, clock, handler_url="http://127.0.0.1:9/old")
    await a_run(store, clock, job)
    await edit(store, clock, job, handler_url="http://127.0.0.1:9/mended")
    stand = await a_stand(store, clock)

    await stand.work_off()

    assert [call.url for call in stand.runner.calls] == ["http://127.0.0.1:9/mended"]


async def test_what_has_succeeded_is_in_the_ledger_with_its_output(store, clock):
    run = await a_run(store, clock)
    stand = await a_stand(store, clock)

    await stand.work_off()

    seen = await view(store, clock, run)
    assert (seen.status, seen.output, seen.started_at) == (Status.SUCCEEDED, "done", START)


# Its definition


async def test_a_run_that_arrives_while_definitions_are_loaded_starts_with_its_own(
    store, faulty, clock
):
    first = await a_run(store, clock)
    stand = await a_stand(faulty, clock)
    loading = Stuck()
    faulty.on("jobs.execution_specs", loading)
    await stand.worker.step()  # leases the first
    step = asyncio.create_task(stand.worker.step())
    await loading.reached.wait()

    second = await a_one_off(store, clock, at=START)
    await stand.scheduler.step()  # hands the second over meanwhile
    loading.go.set()
    await step
    await stand.work_off()

    assert {call.run_id for call in stand.runner.calls} >= {id_of(first)}
    assert {call.job_id for call in stand.runner.calls} == {
        f"job-{job:x}" for job in (first.job, second.id)
    }
    assert [outcome.status for outcome in stand.outcomes] == [Status.SUCCEEDED] * 2


async def test_what_is_held_starts_although_what_was_known_of_it_made_room_for_others(
    store, faulty, clock, monkeypatch
):
    monkeypatch.setattr(execution_specs, "REMEMBERED_MAX", 2)
    jobs = [await a_one_off(store, clock, at=START + SECOND) for _ in range(5)]
    stand = await a_stand(faulty, clock, slots=5)
    await stand.scheduler.step()
    await stand.work()
    faulty.on("jobs.execution_specs", Failing(StoreUnavailable("gone")))

    clock.advance(SECOND)
    await stand.work_off()

    assert {call.job_id for call in stand.runner.calls} == {f"job-{job.id:x}" for job in jobs}
    assert {outcome.status for outcome in stand.outcomes} == {Status.SUCCEEDED}


async def test_what_made_room_for_others_is_fetched_again(store, faulty, clock, monkeypatch):
    monkeypatch.setattr(execution_specs, "REMEMBERED_MAX", 2)
    jobs = [await a_job(store, clock) for _ in range(5)]
    stand = await a_stand(faulty, clock)

    for _ in range(2):
        for job in jobs:
            await a_run(store, clock, job)
            stand.worker.look()
            await stand.work_off()

    assert len(stand.runner.calls) == 10
    assert faulty.calls["jobs.execution_specs"] == 10


async def test_a_definition_is_fetched_once_for_all_runs_of_a_version(store, faulty, clock):
    job = await a_job(store, clock)
    stand = await a_stand(faulty, clock)

    for _ in range(3):
        await some_runs(store, clock, 3, job)
        stand.worker.look()
        await stand.work_off()

    assert len(stand.runner.calls) == 9
    assert faulty.calls["jobs.execution_specs"] == 1


async def test_a_failure_to_load_definitions_ends_no_run_and_is_made_good(store, faulty, clock):
    run = await a_run(store, clock)
    stand = await a_stand(faulty, clock)
    faulty.on("jobs.execution_specs", Failing(StoreUnavailable("gone"), times=3))

    task = asyncio.create_task(stand.run_worker())
    await asyncio.sleep(1)
    task.cancel()

    assert stand.runner.runs == [id_of(run)]
    assert [outcome.status for outcome in stand.outcomes] == [Status.SUCCEEDED]


async def test_a_held_run_of_a_deleted_job_whose_version_is_forgotten_ends_cancelled(store, clock):
    job = await a_one_off(store, clock, at=START + SECOND)
    stand = await a_stand(store, clock)
    await stand.scheduler.step()
    await delete(store, clock, job)
    await store.upkeep.prune(before=START + 1, keys_before=0, limit=100)

    clock.advance(SECOND)
    await stand.work_off()

    assert stand.runner.calls == []
    assert [(each.status, each.reason) for each in stand.outcomes] == [
        (Status.CANCELLED, "job deleted")
    ]


# Its heartbeat


async def test_nothing_is_started_or_leased_without_a_fresh_heartbeat(store, clock):
    await a_one_off(store, clock, at=START + SECOND)
    unowned = await a_run(store, clock, due=START)
    stand = await a_stand(store, clock)
    await stand.scheduler.step()

    clock.advance(12 * SECOND)
    pause = await stand.work()

    assert stand.runner.calls == []
    assert await status_of(store, clock, unowned) is Status.QUEUED
    assert 0 < pause <= 0.25


async def test_a_heartbeat_lets_the_worker_go_on(store, clock):
    run = await a_run(store, clock)
    stand = await a_stand(store, clock)
    clock.advance(12 * SECOND)
    await stand.work()

    await stand.member.step()
    await stand.work_off()

    assert stand.runner.runs == [id_of(run)]


async def test_a_run_whose_definition_came_too_late_for_the_heartbeat_is_not_started(
    store, faulty, clock
):
    await a_run(store, clock)
    stand = await a_stand(faulty, clock)
    loading = Stuck()
    faulty.on("jobs.execution_specs", loading)
    await stand.worker.step()
    step = asyncio.create_task(stand.worker.step())
    await loading.reached.wait()

    clock.advance(12 * SECOND)
    loading.go.set()
    await step
    await idle()

    assert stand.runner.calls == []


async def test_several_due_runs_start_oldest_first(store, clock):
    runs = []
    for _ in range(3):
        runs.append(await a_run(store, clock))
        clock.advance(1)
    stand = await a_stand(store, clock)

    await stand.work_off()

    assert stand.runner.runs == ids_of(runs)


# A clock that is far off


async def test_a_node_whose_clock_is_far_off_leaves_what_it_holds_to_the_others(
    store, faulty, clock
):
    """Its heartbeat goes on, so that nobody would ever rescue it."""
    await a_job(store, clock, schedule=every(1))
    database = DatabaseClock(clock)
    database.observe(clock.now())
    stand, other = await a_stand(faulty, database), await a_stand(store, clock)
    await stand.scheduler.step()
    faulty.on("nodes.time", telling(clock, 6 * SECOND))
    await stand.member.step()

    await stand.work()
    clock.advance(SECOND)
    await other.work_off()

    assert (stand.runner.calls, stand.holding.waiting) == ([], 0)
    assert [call.scheduled_for for call in other.runner.calls] == [START + SECOND]
