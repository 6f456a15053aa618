"""Reading what happened and what will: one element a run, newest first, wherever the run is."""

from __future__ import annotations

import pytest

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.model import occurrence
from onthedot.core.states import Status
from onthedot.errors import NotFound
from tests.support.builders import (
    RunKey,
    a_held_run,
    a_job,
    a_node,
    a_retry,
    a_run,
    a_running_run,
    claim,
    delete,
    every,
    failed,
    finish,
    key_of,
    keys_of,
    kill,
    lease,
    ledger_of,
    promote,
    ref,
    some_runs,
    succeeded,
    view,
)


async def a_busy_job(store, clock):
    """A job with a missed range and runs in every place that a run can be in, each kind in a
    microsecond of its own: within one, runs have no order.
    """
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(HOUR)
    [fired, running] = await claim(store, clock, node)
    await finish(store, clock, node, fired)
    await store.runs.started(node, {ref(running): clock.now()})
    retried = await a_held_run(store, clock, node, job)
    outcome = failed(retried, clock, retry_at=clock.now() + MINUTE)
    await store.runs.finish(node, [outcome], now=clock.now())
    clock.advance(1)
    await some_runs(store, clock, 3, job)
    clock.advance(1)
    await a_run(store, clock, job, due=clock.now() + HOUR)
    return job


async def test_a_page_shows_every_run_once_wherever_it_is(store, clock):
    job = await a_busy_job(store, clock)

    views = await ledger_of(store, clock, job.id)

    assert [each.status for each in views] == [
        Status.SCHEDULED,  # enqueued for later
        Status.QUEUED,
        Status.QUEUED,
        Status.QUEUED,
        Status.SCHEDULED,  # waits for its second attempt
        Status.RUNNING,
        Status.SUCCEEDED,
        Status.MISSED,
    ]
    assert views[4].attempt == 2
    assert [each.run for each in views] == sorted({each.run for each in views}, reverse=True)


async def test_a_run_names_the_node_that_has_it_and_each_attempt_the_one_that_made_it(store, clock):
    first, second = await a_node(store, clock), await a_node(store, clock)
    held = await a_held_run(store, clock, first)
    untaken = await a_run(store, clock)
    retry_at = clock.now() + MINUTE
    await store.runs.finish(first, [failed(held, clock, retry_at=retry_at)], now=clock.now())
    clock.advance(MINUTE)
    [again] = await promote(store, clock, second)

    story = await store.ledger.story(held.job, held.run, now=clock.now())
    assert (story.run.node, [each.node for each in story.attempts]) == (second, [first, second])
    assert (await view(store, clock, untaken)).node is None

    await finish(store, clock, second, again)
    story = await store.ledger.story(held.job, held.run, now=clock.now())
    assert (story.run.node, [each.node for each in story.attempts]) == (second, [first, second])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
async def test_pages_have_no_gaps_and_no_repeats(store, clock, size):
    job = await a_busy_job(store, clock)
    whole = await store.ledger.page(job.id, before=None, limit=100, now=clock.now())

    pages = await ledger_of(store, clock, job.id, page=size)

    assert len(whole) == 8
    assert pages == whole


async def test_a_page_shows_what_one_run_shows(store, clock):
    job = await a_busy_job(store, clock)

    views = await ledger_of(store, clock, job.id)

    assert [await view(store, clock, each) for each in views] == views


async def test_a_page_shows_one_job_only(store, clock):
    busy, other = await a_busy_job(store, clock), await a_job(store, clock)
    run = await a_run(store, clock, other)

    views = await ledger_of(store, clock, other.id)

    assert keys_of(views) == [run]
    assert {each.job for each in await ledger_of(store, clock, busy.id)} == {busy.id}


async def test_a_page_ends_before_the_number_it_is_given(store, clock):
    job = await a_job(store, clock)
    keys = []
    for _ in range(4):
        clock.advance(1)
        keys.append(await a_run(store, clock, job))

    page = await store.ledger.page(job.id, before=keys[2].run, limit=10, now=clock.now())

    assert keys_of(page) == [keys[1], keys[0]]


async def test_a_run_with_many_attempts_is_one_element_of_a_page(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    older = await a_run(store, clock, job)
    clock.advance(SECOND)
    [held] = await lease(store, clock, node)
    for _ in range(4):
        outcome = failed(held, clock, retry_at=clock.now())
        await store.runs.finish(node, [outcome], now=clock.now())
        [held] = await promote(store, clock, node)
    await finish(store, clock, node, held)
    newer = await a_run(store, clock, job)

    pages = await ledger_of(store, clock, job.id, page=1)

    assert keys_of(pages) == [newer, older]
    assert (pages[1].status, pages[1].attempt) == (Status.SUCCEEDED, 5)


async def test_the_attempts_of_a_run_are_told_first_to_last(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    began, ended = clock.advance(SECOND), clock.advance(SECOND)
    outcome = failed(
        run, clock, started=began, finished=ended, error="HTTP 503", output="busy", retry_at=ended
    )
    await store.runs.finish(node, [outcome], now=clock.now())
    [second] = await promote(store, clock, node)
    await store.runs.started(node, {ref(second): clock.now()})

    live = (await store.ledger.story(run.job, run.run, now=clock.now())).attempts
    await store.runs.finish(node, [succeeded(second, clock, output="done")], now=clock.now())
    over = (await store.ledger.story(run.job, run.run, now=clock.now())).attempts

    first = live[0]
    assert (first.attempt, first.status, first.error) == (1, Status.FAILED, "HTTP 503")
    assert (first.started_at, first.finished_at, first.output) == (began, ended, "busy")
    assert [(each.attempt, each.status) for each in live[1:]] == [(2, Status.RUNNING)]
    assert over[0] == first
    assert [(each.attempt, each.status, each.output) for each in over[1:]] == [
        (2, Status.SUCCEEDED, "done")
    ]


async def test_an_attempt_to_come_is_told_too(store, clock):
    node = await a_node(store, clock)
    run = await a_retry(store, clock, node)

    attempts = (await store.ledger.story(run.job, run.run, now=clock.now())).attempts

    assert [(each.attempt, each.status) for each in attempts] == [
        (1, Status.FAILED),
        (2, Status.SCHEDULED),
    ]
    assert attempts[1].finished_at is None


async def test_a_rescue_is_no_attempt(store, clock):
    node = await a_node(store, clock)
    run = await a_running_run(store, clock, node)
    await kill(store, clock, node)
    await store.runs.rescue(limit=10, now=clock.now())

    attempts = (await store.ledger.story(run.job, run.run, now=clock.now())).attempts

    assert [each.attempt for each in attempts] == [1]
    assert (await view(store, clock, run)).rescues == 1


async def test_the_rescues_of_a_run_are_remembered_when_it_is_over(store, clock):
    node, heir = await a_node(store, clock), await a_node(store, clock)
    await a_held_run(store, clock, node)
    await kill(store, clock, node)
    await store.runs.rescue(limit=10, now=clock.now())
    [run] = await lease(store, clock, heir)

    await finish(store, clock, heir, run)

    seen = await view(store, clock, run)
    assert (seen.status, seen.rescues) == (Status.SUCCEEDED, 1)


async def test_a_range_is_one_element_with_its_end_and_count(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60), catch_up="none")
    start = clock.now()
    clock.advance(HOUR)
    await claim(store, clock, node)

    missed = await view(store, clock, RunKey(job.id, occurrence(start + MINUTE)))

    assert (missed.status, missed.due) == (Status.MISSED, start + MINUTE)
    assert (missed.until, missed.count) == (start + 58 * MINUTE, 58)
    with pytest.raises(NotFound):
        await view(store, clock, RunKey(job.id, occurrence(start + 2 * MINUTE)))


async def test_a_run_is_no_range(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    live = await view(store, clock, run)
    await finish(store, clock, node, run)

    over = await view(store, clock, run)

    assert [(each.until, each.count) for each in (live, over)] == [(None, None)] * 2


async def test_the_state_of_a_live_run_follows_the_time_of_the_reader(store, clock):
    due = clock.now() + MINUTE
    run = await a_run(store, clock, due=due)

    early = await store.ledger.run(run.job, run.run, now=due - 1)
    late = await store.ledger.run(run.job, run.run, now=due)

    assert (early.status, late.status) == (Status.SCHEDULED, Status.QUEUED)


async def test_an_unknown_run_is_not_found(store, clock):
    run = await a_run(store, clock)

    with pytest.raises(NotFound):
        await view(store, clock, RunKey(run.job, run.run + 1))
    with pytest.raises(NotFound):
        await view(store, clock, RunKey(run.job + 1_000, run.run))


async def test_the_runs_of_a_deleted_job_can_be_read(store, clock):
    job = await a_busy_job(store, clock)
    before = await ledger_of(store, clock, job.id)

    await delete(store, clock, job)

    after = await ledger_of(store, clock, job.id, page=2)
    assert keys_of(after) == keys_of(before)
    assert [each.status for each in after] == [
        *[Status.CANCELLED] * 5,
        Status.RUNNING,
        Status.SUCCEEDED,
        Status.MISSED,
    ]
    assert key_of(await view(store, clock, after[0])) == key_of(after[0])
