"""Jobs with one instant: a waiting run that edits, pauses and deletes act on."""

from __future__ import annotations

import pytest

from onthedot.core.editing import next_run_at
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND
from onthedot.core.model import Once, occurrence
from onthedot.core.states import Status
from onthedot.errors import NotFound
from onthedot.store.claims import Lessee
from tests.support.builders import (
    RunKey,
    a_node,
    a_one_off,
    delete,
    edit,
    failed,
    finish,
    ledger_of,
    pause,
    promote,
    resume,
    standing_of,
    status_of,
    view,
)


async def test_a_one_off_waits_for_its_instant(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + HOUR
    job = await a_one_off(store, clock, at=at, queue="mail", priority=8)

    waiting = await view(store, clock, RunKey(job.id, occurrence(at)))
    early = await promote(store, clock, node)
    clock.advance(HOUR)
    [run] = await promote(store, clock, node)

    assert (waiting.status, waiting.due, waiting.at) == (Status.SCHEDULED, at, at)
    assert early == []
    assert (run.run, run.due, run.lane, run.priority) == (occurrence(at), at, "default|mail|", 8)
    assert (run.attempt, run.rescues, run.payload) == (1, 0, None)


async def test_a_one_off_is_due_next_only_while_it_waits(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + HOUR
    kept = await a_one_off(store, clock, at=at, key="kept")
    cancelled = await a_one_off(store, clock, at=at, key="cancelled")
    paused = await a_one_off(store, clock, at=at, key="paused")

    async def dues() -> dict[int, int | None]:
        jobs = await store.jobs.page(before=None, limit=10)
        for job in jobs:
            assert await store.jobs.get(job.id) == job
            assert await store.jobs.keyed("default", job.definition.key) == job
        return {job.id: next_run_at(job, clock.now()) for job in jobs}

    assert next_run_at(kept, clock.now()) == at
    assert await dues() == {kept.id: at, cancelled.id: at, paused.id: at}
    await store.runs.cancel(cancelled.id, occurrence(at), now=clock.now())
    await pause(store, clock, paused)
    moved = await edit(store, clock, kept, schedule=Once(at + HOUR))
    assert next_run_at(moved, clock.now()) == at + HOUR
    assert await dues() == {kept.id: at + HOUR, cancelled.id: None, paused.id: None}
    resumed = await resume(store, clock, paused)
    renamed = await edit(store, clock, cancelled, name="renamed")
    assert [next_run_at(each, clock.now()) for each in (resumed, renamed)] == [at, None]
    clock.advance(HOUR)
    [run] = await promote(store, clock, node)
    await store.runs.finish(
        node, [failed(run, clock, retry_at=clock.now() + HOUR)], now=clock.now()
    )
    assert await dues() == {kept.id: at + HOUR, cancelled.id: None, paused.id: None}


async def test_a_one_off_whose_instant_has_passed_runs_at_once(store, clock):
    node = await a_node(store, clock)
    at = clock.now() - DAY

    await a_one_off(store, clock, at=at)

    assert [run.due for run in await promote(store, clock, node)] == [at]


async def test_a_one_off_runs_once(store, clock):
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now())
    [run] = await promote(store, clock, node)
    await finish(store, clock, node, run)

    clock.advance(DAY)
    await edit(store, clock, job, name="renamed")
    await pause(store, clock, job)
    await resume(store, clock, job)

    assert await promote(store, clock, node) == []
    [only] = await ledger_of(store, clock, job.id)
    assert only.status is Status.SUCCEEDED


async def test_an_edit_moves_the_instant(store, clock):
    node = await a_node(store, clock)
    first, second = clock.now() + MINUTE, clock.now() + HOUR
    job = await a_one_off(store, clock, at=first)

    await edit(store, clock, job, schedule=Once(second))
    clock.advance(MINUTE)

    assert await promote(store, clock, node) == []
    with pytest.raises(NotFound):
        await view(store, clock, RunKey(job.id, occurrence(first)))
    [waiting] = await ledger_of(store, clock, job.id)
    assert (waiting.run, waiting.version) == (occurrence(second), 2)


async def test_an_instant_can_be_moved_away_and_back(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + MINUTE
    job = await a_one_off(store, clock, at=at)

    await edit(store, clock, job, schedule=Once(at + HOUR))
    await edit(store, clock, job, schedule=Once(at))
    clock.advance(DAY)

    assert [(run.due, run.version) for run in await promote(store, clock, node)] == [(at, 3)]


async def test_an_instant_that_has_run_does_not_run_again_when_it_is_moved_back_to(store, clock):
    node = await a_node(store, clock)
    at = clock.now()
    job = await a_one_off(store, clock, at=at)
    await finish(store, clock, node, *await promote(store, clock, node))

    await edit(store, clock, job, schedule=Once(at + DAY))
    await edit(store, clock, job, schedule=Once(at))
    clock.advance(2 * DAY)

    assert await promote(store, clock, node) == []
    assert [seen.status for seen in await ledger_of(store, clock, job.id)] == [Status.SUCCEEDED]


@pytest.mark.parametrize("first_fate", [Status.SUCCEEDED, Status.SKIPPED])
async def test_an_instant_with_a_fate_is_not_skipped_when_it_is_moved_back_to(
    store, clock, first_fate
):
    node = await a_node(store, clock)
    at = clock.now() + SECOND
    job = await a_one_off(store, clock, at=at, paused=first_fate is Status.SKIPPED)
    clock.advance(MINUTE)
    await finish(store, clock, node, *await promote(store, clock, node))
    await resume(store, clock, job)

    await edit(store, clock, job, schedule=Once(at + DAY), paused=True)
    await edit(store, clock, job, schedule=Once(at))
    await resume(store, clock, job)

    assert [seen.status for seen in await ledger_of(store, clock, job.id)] == [first_fate]


async def test_an_edit_gives_the_waiting_run_the_new_queue_and_priority(store, clock):
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now() + MINUTE)

    await edit(store, clock, job, queue="mail", priority=9)
    clock.advance(MINUTE)

    [run] = await promote(store, clock, node)
    assert (run.lane, run.priority, run.version) == ("default|mail|", 9, 2)


async def test_a_finished_one_off_can_be_given_another_instant(store, clock):
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now())
    [first] = await promote(store, clock, node)
    await finish(store, clock, node, first)

    again = clock.now() + MINUTE
    await edit(store, clock, job, schedule=Once(again))
    clock.advance(MINUTE)
    [second] = await promote(store, clock, node)

    assert second.run == occurrence(again)
    assert len(await ledger_of(store, clock, job.id)) == 2


async def test_a_pause_takes_the_waiting_run_away_and_a_resume_puts_it_back(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + HOUR
    job = await a_one_off(store, clock, at=at)

    await pause(store, clock, job)
    while_paused = await ledger_of(store, clock, job.id)
    clock.advance(MINUTE)
    await resume(store, clock, job)
    clock.advance(HOUR)

    assert while_paused == []
    assert [(run.due, run.version) for run in await promote(store, clock, node)] == [(at, 3)]


async def test_a_one_off_that_fell_due_while_paused_is_skipped(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + MINUTE
    job = await a_one_off(store, clock, at=at)
    await pause(store, clock, job)

    clock.advance(HOUR)
    assert await promote(store, clock, node) == []
    await resume(store, clock, job)

    assert await promote(store, clock, node) == []
    [record] = await ledger_of(store, clock, job.id)
    assert (record.status, record.reason) == (Status.SKIPPED, "paused")
    assert (record.run, record.due, record.until) == (occurrence(at), at, at)
    assert record.count == 1


async def test_a_one_off_made_paused_runs_when_it_is_resumed_in_time(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + MINUTE
    job = await a_one_off(store, clock, at=at, paused=True)

    await resume(store, clock, job)
    clock.advance(MINUTE)

    assert [run.due for run in await promote(store, clock, node)] == [at]


async def test_a_run_due_before_the_edit_stays_with_the_old_instant(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + MINUTE
    job = await a_one_off(store, clock, at=at)
    clock.advance(2 * MINUTE)  # nobody has promoted it yet

    await edit(store, clock, job, name="renamed")

    assert [run.due for run in await promote(store, clock, node)] == [at]


async def test_a_deleted_one_off_ends_cancelled(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + MINUTE
    job = await a_one_off(store, clock, at=at)

    await delete(store, clock, job)
    clock.advance(MINUTE)

    assert await promote(store, clock, node) == []
    ended = await view(store, clock, RunKey(job.id, occurrence(at)))
    assert (ended.status, ended.reason) == (Status.CANCELLED, "job deleted")


async def test_a_cancelled_one_off_is_not_put_back_by_an_edit(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + HOUR
    job = await a_one_off(store, clock, at=at)
    await store.runs.cancel(job.id, occurrence(at), now=clock.now())

    await edit(store, clock, job, name="renamed")
    clock.advance(HOUR)

    assert await promote(store, clock, node) == []
    assert await status_of(store, clock, RunKey(job.id, occurrence(at))) is Status.CANCELLED


async def test_a_retry_of_a_one_off_is_left_alone_by_an_edit(store, clock):
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now())
    [run] = await promote(store, clock, node)
    retry_at = clock.now() + MINUTE
    await store.runs.finish(node, [failed(run, clock, retry_at=retry_at)], now=clock.now())

    clock.advance(SECOND)
    await edit(store, clock, job, handler_url="http://127.0.0.1:9/mended")
    clock.advance(MINUTE)

    [again] = await promote(store, clock, node)
    assert (again.run, again.attempt, again.version) == (run.run, 2, 2)


async def test_a_one_off_counts_as_waiting_until_it_is_claimed(store, clock):
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now() + MINUTE)

    before = await standing_of(store, clock, job)
    clock.advance(MINUTE)
    [run] = await promote(store, clock, node)
    claimed = await standing_of(store, clock, job)
    retry_at = clock.now() + MINUTE
    await store.runs.finish(node, [failed(run, clock, retry_at=retry_at)], now=clock.now())
    retried = await standing_of(store, clock, job)

    assert (before.waiting, claimed.waiting, retried.waiting) == (True, False, False)


async def test_a_one_off_that_is_claimed_ahead_and_then_moved_runs_at_both_instants(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + SECOND
    job = await a_one_off(store, clock, at=at)
    promoted = await store.runs.promote(
        frozenset({job.shard}), until=at, lessee=Lessee(node, 1), limit=1, now=clock.now()
    )

    await edit(store, clock, job, schedule=Once(at + HOUR))
    clock.advance(DAY)

    assert [run.due for run in promoted.leased] == [at]
    assert [run.due for run in await promote(store, clock, node)] == [at + HOUR]


async def test_a_one_off_that_must_not_be_late_is_missed_after_its_window(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + MINUTE
    job = await a_one_off(store, clock, at=at, catch_up="none", catch_up_window_us=10 * SECOND)
    clock.advance(MINUTE + 11 * SECOND)

    assert await promote(store, clock, node) == []

    ended = await view(store, clock, RunKey(job.id, occurrence(at)))
    assert (ended.status, ended.due) == (Status.MISSED, at)


async def test_a_one_off_that_must_not_be_late_runs_within_its_window(store, clock):
    node = await a_node(store, clock)
    at = clock.now() + MINUTE
    await a_one_off(store, clock, at=at, catch_up="none", catch_up_window_us=10 * SECOND)
    clock.advance(MINUTE + 9 * SECOND)

    assert [run.due for run in await promote(store, clock, node)] == [at]


async def test_a_retry_is_not_missed_because_the_window_of_the_first_attempt_is_over(store, clock):
    node = await a_node(store, clock)
    await a_one_off(store, clock, at=clock.now(), catch_up="none", catch_up_window_us=10 * SECOND)
    [run] = await promote(store, clock, node)
    retry_at = clock.now() + HOUR
    await store.runs.finish(node, [failed(run, clock, retry_at=retry_at)], now=clock.now())

    clock.advance(HOUR)

    assert [again.attempt for again in await promote(store, clock, node)] == [2]
