"""Cancelling: at once where nobody holds the run, by a signal where somebody does."""

from __future__ import annotations

import pytest

from onthedot.core.instants import HOUR, SECOND
from onthedot.core.model import occurrence
from onthedot.core.states import Status
from onthedot.errors import NotFound, RunOver
from onthedot.store.values import CancelVerdict
from tests.support.builders import (
    RunKey,
    a_held_run,
    a_job,
    a_node,
    a_retry,
    a_run,
    a_running_run,
    claim,
    every,
    failed,
    finish,
    kill,
    lease,
    ledger_of,
    pause,
    promote,
    ref,
    resume,
    some_runs,
    status_of,
    succeeded,
    view,
)


async def cancel(store, clock, run):
    return await store.runs.cancel(run.job, run.run, now=clock.now())


async def test_a_waiting_run_is_cancelled_at_once(store, clock):
    node = await a_node(store, clock)
    run = await a_run(store, clock, due=clock.now() + HOUR)
    clock.advance(SECOND)

    assert await cancel(store, clock, run) is CancelVerdict.CANCELLED

    seen = await view(store, clock, run)
    assert (seen.status, seen.finished_at, seen.started_at) == (
        Status.CANCELLED,
        clock.now(),
        None,
    )
    clock.advance(HOUR)
    assert await promote(store, clock, node) == []


async def test_an_unowned_run_is_cancelled_at_once(store, clock):
    node = await a_node(store, clock)
    run = await a_run(store, clock)

    assert await cancel(store, clock, run) is CancelVerdict.CANCELLED

    assert await status_of(store, clock, run) is Status.CANCELLED
    assert await lease(store, clock, node) == []


async def test_a_run_that_waits_for_its_retry_is_cancelled_at_once(store, clock):
    node = await a_node(store, clock)
    run = await a_retry(store, clock, node)

    assert await cancel(store, clock, run) is CancelVerdict.CANCELLED

    attempts = (await store.ledger.story(run.job, run.run, now=clock.now())).attempts
    assert attempts[0].status is Status.FAILED
    assert await status_of(store, clock, run) is Status.CANCELLED
    assert len(await ledger_of(store, clock, run.job)) == 1
    clock.advance(HOUR)
    assert await promote(store, clock, node) == []


async def test_a_held_run_is_sent_a_signal_and_goes_on(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    run = await a_running_run(store, clock, node)

    assert await cancel(store, clock, run) is CancelVerdict.ASKED

    assert await status_of(store, clock, run) is Status.RUNNING
    [signal] = await store.runs.signals(node)
    assert (signal.job, signal.run) == (run.job, run.run)
    assert signal.reason
    assert await store.runs.signals(other) == []


async def test_a_signal_stays_until_the_run_leaves_the_node(store, clock):
    node = await a_node(store, clock)
    run = await a_running_run(store, clock, node)
    await cancel(store, clock, run)

    first = await store.runs.signals(node)
    clock.advance(HOUR)
    second = await store.runs.signals(node)
    outcome = succeeded(run, clock, status=Status.CANCELLED, reason=first[0].reason)
    await store.runs.finish(node, [outcome], now=clock.now())

    assert first == second
    assert await store.runs.signals(node) == []
    seen = await view(store, clock, run)
    assert (seen.status, seen.reason) == (Status.CANCELLED, first[0].reason)


async def test_a_run_can_be_asked_twice_and_is_told_once(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    first = await cancel(store, clock, run)
    signals = await store.runs.signals(node)
    second = await cancel(store, clock, run)

    assert (first, second) == (CancelVerdict.ASKED, CancelVerdict.ASKED)
    assert len(signals) == 1
    assert await store.runs.signals(node) == signals


async def test_each_run_of_a_node_has_its_own_signal(store, clock):
    node = await a_node(store, clock)
    await some_runs(store, clock, 3)
    runs = await lease(store, clock, node)

    for run in runs[:2]:
        await cancel(store, clock, run)
    await finish(store, clock, node, runs[0])

    assert [(s.job, s.run) for s in await store.runs.signals(node)] == [(runs[1].job, runs[1].run)]


async def test_an_asked_run_of_a_dead_node_never_starts_again(store, clock):
    node, heir = await a_node(store, clock), await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await kill(store, clock, node)

    await cancel(store, clock, run)
    await store.runs.rescue(limit=10, now=clock.now())

    assert await lease(store, clock, heir) == []
    assert await status_of(store, clock, run) is Status.CANCELLED


async def test_an_occurrence_claimed_ahead_is_held(store, clock):
    node = await a_node(store, clock)
    await a_job(store, clock, schedule=every(10))
    clock.advance(9_500_000)
    [run] = await claim(store, clock, node)

    assert await cancel(store, clock, run) is CancelVerdict.ASKED

    assert await store.runs.release(node, [ref(run)], now=clock.now()) == 1
    assert await status_of(store, clock, run) is Status.CANCELLED


@pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.FAILED, Status.LOST, Status.CANCELLED])
async def test_a_run_that_is_over_is_refused_with_its_status(store, clock, status):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    outcome = failed(run, clock, status=status)
    await store.runs.finish(node, [outcome], now=clock.now())

    with pytest.raises(RunOver, match=status):
        await cancel(store, clock, run)

    assert await status_of(store, clock, run) is status
    assert await store.runs.signals(node) == []


async def test_a_run_is_cancelled_once(store, clock):
    run = await a_run(store, clock)
    await cancel(store, clock, run)
    before = await view(store, clock, run)
    clock.advance(SECOND)

    with pytest.raises(RunOver, match="cancelled"):
        await cancel(store, clock, run)

    assert await view(store, clock, run) == before


async def test_a_skipped_range_is_over(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    first = RunKey(job.id, occurrence(clock.now() + 60 * SECOND))
    await pause(store, clock, job)
    clock.advance(HOUR)
    await resume(store, clock, job)

    with pytest.raises(RunOver, match="skipped"):
        await cancel(store, clock, first)

    assert await status_of(store, clock, first) is Status.SKIPPED


async def test_an_unknown_run_is_not_found(store, clock):
    run = await a_run(store, clock)

    with pytest.raises(NotFound):
        await cancel(store, clock, RunKey(run.job, run.run + 1))
    with pytest.raises(NotFound):
        await cancel(store, clock, RunKey(run.job + 1_000, run.run))

    assert await status_of(store, clock, run) is Status.QUEUED


async def test_a_cancelled_run_is_no_dead_letter(store, clock):
    run = await a_run(store, clock)

    await cancel(store, clock, run)

    overview = await store.ledger.overview(limit=10, now=clock.now())
    assert overview.failed == []
    assert [(each.job, each.run) for each in overview.recent] == [run]
