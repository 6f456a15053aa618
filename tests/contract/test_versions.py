"""Where one version of a job ends and the next begins: each occurrence belongs to exactly one."""

from __future__ import annotations

import pytest

from onthedot.core.firing import VersionRef
from onthedot.core.instants import DAY, MINUTE, SECOND
from onthedot.core.model import Backoff, Once
from onthedot.core.schedules import Cron
from onthedot.core.states import Status
from tests.support.builders import (
    ALL_SHARDS,
    PLENTY,
    a_definition,
    a_job,
    a_node,
    claim,
    delete,
    edit,
    every,
    finish,
    handling_of,
    ledger_of,
    pause,
    promote,
    standing_of,
)


async def fired(store, clock, job):
    """(version, due) of every run of a job, oldest first, as seconds after its creation."""
    views = await ledger_of(store, clock, job.id)
    return [(view.version, (view.due - job.created_at) // SECOND) for view in reversed(views)]


async def test_an_occurrence_claimed_ahead_stays_with_the_version_that_claimed_it(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(9_500_000)
    await claim(store, clock, node)

    clock.advance(100_000)
    await edit(store, clock, job, name="renamed")
    for _ in range(20):
        clock.advance(SECOND)
        await claim(store, clock, node)

    assert await fired(store, clock, job) == [(1, 10), (2, 20), (2, 30)]


async def test_what_was_due_before_an_edit_and_not_fired_yet_is_fired_by_the_old_version(
    store, clock
):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(25 * SECOND)

    await edit(store, clock, job, name="renamed")
    clock.advance(10 * SECOND)
    await claim(store, clock, node)

    assert await fired(store, clock, job) == [(1, 10), (1, 20), (2, 30)]


async def test_an_occurrence_due_at_the_instant_of_the_edit_is_the_old_versions(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(10 * SECOND)

    await edit(store, clock, job, name="renamed")
    clock.advance(10 * SECOND)
    await claim(store, clock, node)

    assert await fired(store, clock, job) == [(1, 10), (2, 20)]


async def test_versions_made_at_one_instant_account_for_nothing_twice(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(15 * SECOND)

    for name in "abc":
        await edit(store, clock, job, name=name)
    clock.advance(15 * SECOND)
    await claim(store, clock, node)

    assert await fired(store, clock, job) == [(1, 10), (4, 20), (4, 30)]
    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + DAY, limit=PLENTY)
    assert [(entry.version, entry.job) for entry in peeked.entries] == [(4, job.id)]


async def test_a_new_interval_counts_from_the_edit(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(14 * SECOND)

    edited = await edit(store, clock, job, schedule=every(20))
    clock.advance(40 * SECOND)
    await claim(store, clock, node)

    assert edited.anchor == job.created_at + 14 * SECOND
    assert await fired(store, clock, job) == [(1, 10), (2, 34), (2, 54)]


async def test_an_edit_that_keeps_the_interval_keeps_its_phase(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(14 * SECOND)

    edited = await edit(store, clock, job, payload='{"n": 2}')
    clock.advance(10 * SECOND)
    await claim(store, clock, node)

    assert edited.anchor == job.anchor
    assert await fired(store, clock, job) == [(1, 10), (2, 20)]


async def test_a_pause_does_not_take_back_what_was_due_before_it(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(25 * SECOND)

    await pause(store, clock, job)
    clock.advance(30 * SECOND)
    await claim(store, clock, node)

    assert await fired(store, clock, job) == [(1, 10), (1, 20)]


async def test_what_a_deleted_job_left_unfired_is_recorded_as_skipped(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(35 * SECOND)
    await delete(store, clock, job)

    clock.advance(30 * SECOND)
    runs = await claim(store, clock, node)

    assert runs == []
    [record] = await ledger_of(store, clock, job.id)
    assert (record.status, record.reason, record.count) == (Status.SKIPPED, "job deleted", 3)
    assert (record.due, record.until) == (
        job.created_at + 10 * SECOND,
        job.created_at + 30 * SECOND,
    )
    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + DAY, limit=PLENTY)
    assert (peeked.entries, peeked.cuts) == ([], [])


async def test_a_recurring_job_can_become_a_one_off(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(15 * SECOND)

    await edit(store, clock, job, schedule=Once(clock.now() + MINUTE))
    clock.advance(30 * SECOND)
    await claim(store, clock, node)

    assert await fired(store, clock, job) == [(1, 10), (2, 75)]
    [waiting, _] = await ledger_of(store, clock, job.id)
    assert waiting.status is Status.SCHEDULED


async def test_an_unfired_occurrence_that_becomes_the_one_instant_of_the_job_runs_once(
    store, clock
):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(25 * SECOND)

    await edit(store, clock, job, schedule=Once(job.created_at + 20 * SECOND))
    runs = await promote(store, clock, node)
    await finish(store, clock, node, *runs)
    runs += await claim(store, clock, node)

    assert sorted((run.due - job.created_at) // SECOND for run in runs) == [10, 20]
    assert [due for _, due in await fired(store, clock, job)] == [10, 20]


async def test_a_one_off_can_become_recurring(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=Once(clock.now() + DAY))

    await edit(store, clock, job, schedule=Cron.parse("* * * * *"))
    clock.advance(2 * MINUTE)
    await claim(store, clock, node)

    assert await fired(store, clock, job) == [(2, 60), (2, 120)]


async def test_a_clock_set_back_between_two_edits_doubles_no_occurrence(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(35 * SECOND)
    await edit(store, clock, job, name="second")

    clock.set_back(13 * SECOND)
    await edit(store, clock, job, name="third")
    clock.advance(23 * SECOND)
    await claim(store, clock, node)

    dues = [due for _, due in await fired(store, clock, job)]
    assert dues == [10, 20, 30, 40]


async def test_a_clock_set_back_between_two_pauses_skips_no_occurrence_twice(store, clock):
    job = await a_job(store, clock, schedule=every(10), paused=True)
    clock.advance(35 * SECOND)
    await edit(store, clock, job, paused=False)

    clock.set_back(30 * SECOND)
    await pause(store, clock, job)
    clock.advance(40 * SECOND)
    await edit(store, clock, job, paused=False)

    records = await ledger_of(store, clock, job.id)
    assert sum(record.count or 0 for record in records) == 4
    assert {record.status for record in records} == {Status.SKIPPED}


async def test_the_definition_of_a_deleted_job_can_be_read_by_who_holds_its_run(store, clock):
    job = await a_job(store, clock, name="gone")
    ref = VersionRef(job.id, 1)

    await delete(store, clock, job)

    assert await store.jobs.execution_specs([ref]) == {ref: handling_of(job.definition)}


async def test_how_to_execute_superseded_versions_is_kept(store, clock):
    job = await a_job(store, clock, timeout_us=SECOND, schedule=every(10))
    await edit(store, clock, job, handler_url="http://127.0.0.1:9/second")
    backoff = Backoff(initial_us=2 * SECOND, factor=1.5, max_us=MINUTE)
    await edit(store, clock, job, schedule=None, payload="[3]", retries=7, backoff=backoff)

    refs = [VersionRef(job.id, version) for version in (1, 2, 3, 4)]
    execution_specs = await store.jobs.execution_specs([*refs, VersionRef(job.id + 1_000, 1)])

    first = handling_of(a_definition(timeout_us=SECOND))
    second = first._replace(handler_url="http://127.0.0.1:9/second")
    third = second._replace(payload="[3]", retries=7, backoff=backoff)
    assert execution_specs == {refs[0]: first, refs[1]: second, refs[2]: third}


@pytest.mark.parametrize("claimed", [False, True])
async def test_the_decision_is_told_where_the_job_stands(store, clock, claimed):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(10 * SECOND)
    if claimed:
        await claim(store, clock, node)

    current = await standing_of(store, clock, job)

    assert current.job == job
    assert current.now == clock.now()
    assert not current.waiting
    assert current.cut == clock.now() + (SECOND if claimed else 0)
