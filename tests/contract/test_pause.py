"""Pausing and resuming: occurrences are skipped as one record, runs already made go on."""

from __future__ import annotations

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.model import occurrence
from onthedot.core.schedules import Cron
from onthedot.core.states import Status
from tests.support.builders import (
    a_job,
    a_node,
    a_run,
    claim,
    delete,
    edit,
    every,
    lease,
    ledger_of,
    pause,
    promote,
    resume,
    status_of,
)


async def test_a_pause_ends_as_one_skipped_record(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    start = clock.now()
    clock.advance(90 * SECOND)
    await claim(store, clock, node)
    await pause(store, clock, job)

    clock.advance(10 * MINUTE)
    assert await claim(store, clock, node) == []
    await resume(store, clock, job)

    [record, run] = await ledger_of(store, clock, job.id)
    assert run.due == start + MINUTE
    assert (record.status, record.reason) == (Status.SKIPPED, "paused")
    assert (record.run, record.due) == (occurrence(start + 2 * MINUTE), start + 2 * MINUTE)
    assert (record.until, record.count) == (start + 11 * MINUTE, 10)
    assert record.version == 2


async def test_a_resumed_job_goes_on_in_its_old_phase(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    start = clock.now()
    await pause(store, clock, job)
    clock.advance(150 * SECOND)

    await resume(store, clock, job)
    clock.advance(MINUTE)

    assert [run.due - start for run in await claim(store, clock, node)] == [180 * SECOND]


async def test_a_pause_in_which_nothing_was_due_leaves_no_record(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    await pause(store, clock, job)
    clock.advance(30 * SECOND)

    await resume(store, clock, job)

    assert await ledger_of(store, clock, job.id) == []


async def test_each_pause_has_its_own_record(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    for _ in range(3):
        await pause(store, clock, job)
        clock.advance(2 * MINUTE)
        await resume(store, clock, job)

    records = await ledger_of(store, clock, job.id)

    assert [record.count for record in records] == [2, 2, 2]
    assert [record.version for record in records] == [6, 4, 2]


async def test_a_pause_is_one_record_however_often_the_job_is_edited_in_it(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    start = clock.now()
    await pause(store, clock, job)
    for name in "abc":
        clock.advance(2 * MINUTE)
        await edit(store, clock, job, name=name)

    await resume(store, clock, job)

    [record] = await ledger_of(store, clock, job.id)
    assert (record.due, record.until) == (start + MINUTE, start + 6 * MINUTE)
    assert record.count == 6


async def test_an_edit_during_a_pause_records_what_the_old_schedule_was_due(store, clock):
    job = await a_job(store, clock, schedule=every(60), paused=True)
    clock.advance(10 * MINUTE)

    await edit(store, clock, job, schedule=Cron.parse("0 * * * *"))
    clock.advance(2 * HOUR)
    await resume(store, clock, job)

    [hourly, minutely] = await ledger_of(store, clock, job.id)
    assert (minutely.version, minutely.count) == (1, 10)
    assert (hourly.version, hourly.count) == (2, 2)


async def test_a_job_deleted_during_a_pause_leaves_the_record_of_it(store, clock):
    job = await a_job(store, clock, schedule=every(60), paused=True)
    clock.advance(10 * MINUTE)

    await delete(store, clock, job)

    [record] = await ledger_of(store, clock, job.id)
    assert (record.status, record.reason, record.count) == (Status.SKIPPED, "paused", 10)


async def test_a_pause_holds_from_the_horizon_on(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    due = clock.now() + MINUTE
    clock.advance(MINUTE - SECOND // 2)
    await claim(store, clock, node)

    paused = await pause(store, clock, job)
    clock.advance(5 * MINUTE)
    await resume(store, clock, job)

    assert paused.skipping_from == due + SECOND // 2
    [record, run] = await ledger_of(store, clock, job.id)
    assert (run.due, run.status) == (due, Status.QUEUED)
    assert (record.due, record.count) == (due + MINUTE, 4)


async def test_a_run_that_was_made_before_a_pause_goes_on(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    unowned = await a_run(store, clock, job)
    waiting = await a_run(store, clock, job, due=clock.now() + MINUTE)

    await pause(store, clock, job)
    clock.advance(MINUTE)

    assert [run.run for run in await lease(store, clock, node)] == [unowned.run]
    assert [run.run for run in await promote(store, clock, node)] == [waiting.run]
    assert await status_of(store, clock, waiting) is Status.QUEUED


async def test_a_paused_job_can_be_triggered(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60), paused=True)

    run = await a_run(store, clock, job)

    assert [held.run for held in await lease(store, clock, node)] == [run.run]
