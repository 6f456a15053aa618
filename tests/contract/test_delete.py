"""The end of a job: what nobody holds is cancelled, what somebody holds is asked, history stays."""

from __future__ import annotations

import pytest

from onthedot.core import editing
from onthedot.core.instants import DAY, MINUTE, SECOND
from onthedot.core.states import Status
from onthedot.errors import NotFound, RunOver
from tests.support.builders import (
    a_held_run,
    a_job,
    a_node,
    a_retry,
    a_run,
    a_running_run,
    claim,
    delete,
    edit,
    every,
    failed,
    finish,
    keys_of,
    lease,
    ledger_of,
    promote,
    ref,
    status_of,
    view,
)


async def test_a_deleted_job_is_gone(store, clock):
    job, other = await a_job(store, clock), await a_job(store, clock)

    await delete(store, clock, job)

    with pytest.raises(NotFound):
        await store.jobs.get(job.id)
    assert await store.jobs.page(before=None, limit=10) == [other]


async def test_a_deleted_job_takes_no_more_wishes(store, clock):
    job = await a_job(store, clock)
    await delete(store, clock, job)

    with pytest.raises(NotFound):
        await store.jobs.change(job.id, editing.delete, now=clock.now())
    with pytest.raises(NotFound):
        await edit(store, clock, job, name="renamed")
    with pytest.raises(NotFound):
        await a_run(store, clock, job)
    assert await ledger_of(store, clock, job.id) == []


async def test_a_job_is_deleted_only_in_the_expected_version(store, clock):
    job = await a_job(store, clock)

    deleted = await store.jobs.change(job.id, editing.delete, now=clock.now(), expected=1)

    assert deleted is None
    with pytest.raises(NotFound):
        await store.jobs.get(job.id)


async def test_waiting_and_unowned_runs_are_cancelled(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    waiting = await a_run(store, clock, job, due=clock.now() + MINUTE)
    unowned = await a_run(store, clock, job)
    clock.advance(SECOND)

    await delete(store, clock, job)

    for run in (waiting, unowned):
        ended = await view(store, clock, run)
        assert (ended.status, ended.reason) == (Status.CANCELLED, "job deleted")
        assert ended.finished_at == clock.now()
        with pytest.raises(RunOver):
            await store.runs.cancel(run.job, run.run, now=clock.now())
    clock.advance(DAY)
    assert await lease(store, clock, node) == []
    assert await promote(store, clock, node) == []


async def test_a_retry_that_waits_is_cancelled_and_its_first_attempt_is_kept(store, clock):
    node = await a_node(store, clock)
    run = await a_retry(store, clock, node)
    job = await store.jobs.get(run.job)

    await delete(store, clock, job)

    assert await status_of(store, clock, run) is Status.CANCELLED
    attempts = (await store.ledger.story(run.job, run.run, now=clock.now())).attempts
    assert (attempts[0].attempt, attempts[0].status) == (1, Status.FAILED)
    assert attempts[-1].status is Status.CANCELLED


async def test_the_runs_of_other_jobs_go_on(store, clock):
    node = await a_node(store, clock)
    job, other = await a_job(store, clock), await a_job(store, clock, schedule=every(10))
    unowned = await a_run(store, clock, other)
    waiting = await a_run(store, clock, other, due=clock.now() + 10 * SECOND)

    await delete(store, clock, job)
    clock.advance(10 * SECOND)

    assert len(await claim(store, clock, node)) == 1
    assert keys_of(await lease(store, clock, node)) == [unowned]
    assert keys_of(await promote(store, clock, node)) == [waiting]


async def test_a_held_run_is_asked_to_end(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    run = await a_running_run(store, clock, node, job)

    await delete(store, clock, job)

    assert await status_of(store, clock, run) is Status.RUNNING
    [signal] = await store.runs.signals(node)
    assert (signal.job, signal.run, signal.reason) == (run.job, run.run, "job deleted")
    assert await store.runs.owned(node) == [ref(run)]


async def test_a_held_run_of_a_deleted_job_can_still_succeed(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    run = await a_held_run(store, clock, node, job)
    await delete(store, clock, job)

    await finish(store, clock, node, run)

    assert await status_of(store, clock, run) is Status.SUCCEEDED


async def test_a_failed_run_of_a_deleted_job_is_not_tried_again(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    run = await a_held_run(store, clock, node, job)
    await delete(store, clock, job)

    outcome = failed(run, clock, retry_at=clock.now() + MINUTE)
    finished = await store.runs.finish(node, [outcome], now=clock.now())

    assert (finished.accepted, finished.retry_at) == (1, None)
    ended = await view(store, clock, run)
    assert (ended.status, ended.reason) == (Status.CANCELLED, "job deleted")


async def test_a_released_run_of_a_deleted_job_ends(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    run = await a_held_run(store, clock, node, job)
    await delete(store, clock, job)

    assert await store.runs.release(node, [ref(run)], now=clock.now()) == 1

    ended = await view(store, clock, run)
    assert (ended.status, ended.reason) == (Status.CANCELLED, "job deleted")
    assert await lease(store, clock, node) == []


async def test_history_outlives_its_job(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(10 * SECOND)
    [run] = await claim(store, clock, node)
    await finish(store, clock, node, run)

    await delete(store, clock, job)

    assert await status_of(store, clock, run) is Status.SUCCEEDED
    assert keys_of(await ledger_of(store, clock, job.id)) == [(run.job, run.run)]
    attempts = (await store.ledger.story(run.job, run.run, now=clock.now())).attempts
    assert [attempt.status for attempt in attempts] == [Status.SUCCEEDED]
