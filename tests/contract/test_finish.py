"""Outcomes: recorded once, under the fence and attempt of the one who holds the run."""

from __future__ import annotations

import pytest

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.states import Status
from onthedot.errors import NodeDead
from onthedot.store.claims import Finished
from onthedot.store.values import CancelVerdict
from tests.support.builders import (
    a_held_run,
    a_job,
    a_node,
    a_retry,
    a_running_run,
    claim,
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
    status_of,
    succeeded,
    view,
)


async def report(store, clock, node, *outcomes):
    return await store.runs.finish(node, outcomes, now=clock.now())


async def test_a_run_that_succeeded_is_over(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    began = clock.advance(SECOND)
    ended = clock.advance(2 * SECOND)
    clock.advance(SECOND)

    outcome = succeeded(run, clock, started=began, finished=ended, output='{"ok": "✓"}')
    finished = await report(store, clock, node, outcome)

    assert finished == Finished(1, 0, 0, None)
    seen = await view(store, clock, run)
    assert (seen.status, seen.attempt, seen.rescues) == (Status.SUCCEEDED, 1, 0)
    assert (seen.started_at, seen.finished_at) == (began, ended)
    assert (seen.output, seen.error, seen.due) == ('{"ok": "✓"}', None, run.due)
    assert await store.runs.owned(node) == []


async def test_a_run_that_failed_for_good_is_over_and_says_why(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    outcome = failed(run, clock, error="HTTP 404", output="no such page", reason="not retryable")
    finished = await report(store, clock, node, outcome)

    assert finished == Finished(1, 0, 0, None)
    seen = await view(store, clock, run)
    assert (seen.status, seen.error) == (Status.FAILED, "HTTP 404")
    assert (seen.output, seen.reason) == ("no such page", "not retryable")
    assert await lease(store, clock, node) == []


async def test_a_run_that_failed_for_good_is_kept_as_a_dead_letter(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await report(store, clock, node, failed(run, clock))
    await finish(store, clock, node, await a_held_run(store, clock, node))
    await a_retry(store, clock, node)

    overview = await store.ledger.overview(limit=10, now=clock.now())

    assert keys_of(overview.failed) == [key_of(run)]


@pytest.mark.parametrize("status", [Status.CANCELLED, Status.LOST])
async def test_other_ends_are_recorded_as_they_are_told(store, clock, status):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    await report(store, clock, node, succeeded(run, clock, status=status, reason="because"))

    seen = await view(store, clock, run)
    assert (seen.status, seen.reason) == (status, "because")


async def test_a_retry_waits_as_the_next_attempt(store, clock):
    node = await a_node(store, clock)
    run = await a_running_run(store, clock, node)
    retry_at = clock.now() + MINUTE

    finished = await report(store, clock, node, failed(run, clock, retry_at=retry_at))

    assert finished == Finished(1, 0, 0, retry_at)
    seen = await view(store, clock, run)
    assert (seen.status, seen.attempt) == (Status.SCHEDULED, 2)
    assert (seen.due, seen.at, seen.finished_at) == (run.due, retry_at, None)
    assert await store.runs.owned(node) == []
    assert len(await ledger_of(store, clock, run.job)) == 1


async def test_a_retry_keeps_the_payload_and_the_rescues(store, clock):
    node = await a_node(store, clock)
    lost = await a_held_run(store, clock, node, payload='"mine"')
    await kill(store, clock, node)
    await store.runs.rescue(limit=10, now=clock.now())
    heir = await a_node(store, clock)
    [run] = await lease(store, clock, heir)
    await report(store, clock, heir, failed(run, clock, retry_at=clock.now()))

    [again] = await promote(store, clock, heir)

    assert key_of(again) == key_of(lost)
    assert (again.payload, again.attempt, again.rescues) == ('"mine"', 2, 1)


async def test_the_earliest_retry_of_a_group_is_told(store, clock):
    node = await a_node(store, clock)
    await some_runs(store, clock, 3)
    runs = await lease(store, clock, node)
    waits = (3 * MINUTE, MINUTE, 2 * MINUTE)

    outcomes = [
        failed(run, clock, retry_at=clock.now() + wait)
        for run, wait in zip(runs, waits, strict=True)
    ]

    assert await report(store, clock, node, *outcomes) == Finished(3, 0, 0, clock.now() + MINUTE)


async def test_a_repeated_outcome_is_recognised_and_changes_nothing(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    outcome = succeeded(run, clock, output="first")
    await report(store, clock, node, outcome)
    before = await view(store, clock, run)

    clock.advance(SECOND)
    again = await report(store, clock, node, outcome)

    assert again == Finished(0, 1, 0, None)
    assert await view(store, clock, run) == before
    assert len((await store.ledger.story(run.job, run.run, now=clock.now())).attempts) == 1


@pytest.mark.parametrize("text", ["0", "", "null"])
async def test_an_output_that_looks_like_nothing_is_kept(store, clock, text):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    await store.runs.finish(node, [succeeded(run, clock, output=text)], now=clock.now())

    seen = await view(store, clock, run)
    assert (seen.output, seen.error, seen.reason) == (text, None, None)


@pytest.mark.parametrize("how", ["succeeded", "with output", "failed", "retried"])
async def test_an_outcome_that_is_given_twice_at_once_is_taken_once(store, clock, how):
    node = await a_node(store, clock)
    run, other = [await a_held_run(store, clock, node) for _ in range(2)]
    retry_at = clock.now() + MINUTE if how == "retried" else None
    ends = [
        failed(each, clock, retry_at=retry_at)
        if how in ("failed", "retried")
        else succeeded(each, clock, output="one" if how == "with output" else None)
        for each in (run, other)
    ]
    late = ends[0]._replace(fence=run.fence - 1)

    done = await report(store, clock, node, late, *ends, ends[0], late)

    assert done == Finished(2, 1, 2, retry_at)
    story = await store.ledger.story(run.job, run.run, now=clock.now())
    assert len(story.attempts) == (2 if how == "retried" else 1)


async def test_a_repeated_retry_makes_no_third_attempt(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    outcome = failed(run, clock, retry_at=clock.now() + MINUTE)
    await report(store, clock, node, outcome)

    again = await report(store, clock, node, outcome)

    assert again == Finished(0, 1, 0, None)
    assert (await view(store, clock, run)).attempt == 2
    clock.advance(HOUR)
    assert [held.attempt for held in await promote(store, clock, node)] == [2]


@pytest.mark.parametrize("wrong", ["fence", "attempt", "run", "job"])
async def test_an_outcome_that_does_not_fit_is_stale_and_changes_nothing(store, clock, wrong):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    outcome = succeeded(run, clock)

    unfit = outcome._replace(**{wrong: getattr(outcome, wrong) + 1})
    finished = await report(store, clock, node, unfit)

    assert finished == Finished(0, 0, 1, None)
    assert await status_of(store, clock, run) is Status.QUEUED
    assert await store.runs.owned(node) == [ref(run)]
    assert len(await ledger_of(store, clock, run.job)) == 1


async def test_a_node_cannot_finish_what_another_holds(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    finished = await report(store, clock, other, succeeded(run, clock))

    assert finished == Finished(0, 0, 1, None)
    assert await store.runs.owned(node) == [ref(run)]
    await finish(store, clock, node, run)


async def test_a_late_word_about_an_earlier_attempt_is_stale(store, clock):
    node = await a_node(store, clock)
    first = await a_retry(store, clock, node, wait_us=SECOND)
    clock.advance(SECOND)
    [second] = await promote(store, clock, node)

    other_end = succeeded(first, clock)._replace(fence=first.fence - 1)
    finished = await report(store, clock, node, other_end)

    assert finished == Finished(0, 0, 1, None)
    assert await store.runs.owned(node) == [ref(second)]


async def test_one_stale_outcome_does_not_hinder_its_neighbours(store, clock):
    node = await a_node(store, clock)
    await some_runs(store, clock, 4)
    runs = await lease(store, clock, node)
    await finish(store, clock, node, runs[0])

    outcomes = [succeeded(run, clock) for run in runs]
    outcomes[1] = outcomes[1]._replace(fence=outcomes[1].fence + 7)
    finished = await report(store, clock, node, *outcomes)

    assert finished == Finished(2, 1, 1, None)
    assert await store.runs.owned(node) == [ref(runs[1])]


async def test_nothing_to_report_is_nothing_written(store, clock):
    node = await a_node(store, clock)

    assert await report(store, clock, node) == Finished(0, 0, 0, None)


async def test_nothing_of_a_dead_node_is_written(store, clock):
    node = await a_node(store, clock)
    await some_runs(store, clock, 2)
    runs = await lease(store, clock, node)
    await kill(store, clock, node)

    with pytest.raises(NodeDead):
        await report(
            store,
            clock,
            node,
            succeeded(runs[0], clock),
            failed(runs[1], clock, retry_at=clock.now()),
        )

    assert [await status_of(store, clock, run) for run in runs] == [Status.QUEUED] * 2
    overview = await store.ledger.overview(limit=10, now=clock.now())
    assert (overview.recent, overview.failed) == ([], [])


async def test_a_wish_to_end_beats_a_retry(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    verdict = await store.runs.cancel(run.job, run.run, now=clock.now())
    [signal] = await store.runs.signals(node)

    finished = await report(store, clock, node, failed(run, clock, retry_at=clock.now() + MINUTE))

    assert verdict is CancelVerdict.ASKED
    assert finished == Finished(1, 0, 0, None)
    seen = await view(store, clock, run)
    assert (seen.status, seen.reason, seen.attempt) == (Status.CANCELLED, signal.reason, 1)
    clock.advance(HOUR)
    assert await promote(store, clock, node) == []


async def test_a_wish_that_came_too_late_changes_nothing(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await store.runs.cancel(run.job, run.run, now=clock.now())

    await finish(store, clock, node, run)

    assert await status_of(store, clock, run) is Status.SUCCEEDED
    assert await store.runs.signals(node) == []


async def test_an_occurrence_is_finished_like_any_other_run(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(30 * SECOND)
    runs = await claim(store, clock, node)

    await finish(store, clock, node, *runs)

    seen = await ledger_of(store, clock, job.id)
    assert [each.status for each in seen] == [Status.SUCCEEDED] * 3


async def test_an_attempt_that_never_started_can_end(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    await report(store, clock, node, failed(run, clock, started=None, error="no slot"))

    seen = await view(store, clock, run)
    assert (seen.status, seen.started_at, seen.error) == (Status.FAILED, None, "no slot")
