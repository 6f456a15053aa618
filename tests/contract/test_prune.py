"""Forgetting: old history, versions, nodes and one-offs go in steps; what matters still stays."""

from __future__ import annotations

import pytest

from onthedot.core.firing import VersionRef
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND
from onthedot.core.states import Status
from onthedot.errors import NodeDead, NotFound
from onthedot.store.values import Rescued
from tests.support.builders import (
    a_definition,
    a_held_run,
    a_job,
    a_node,
    a_one_off,
    a_receipt,
    a_retry,
    a_run,
    a_running_run,
    claim,
    delete,
    edit,
    every,
    failed,
    finish,
    key_of,
    keys_of,
    kill,
    lease,
    ledger_of,
    pause,
    promote,
    prune,
    resume,
    some_runs,
    status_of,
    view,
)


async def test_history_finished_before_is_forgotten_and_younger_history_stays(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    old, young = await some_runs(store, clock, 2, job)
    held = {run.run: run for run in await lease(store, clock, node)}
    await finish(store, clock, node, held[old.run])
    before = clock.advance(DAY)
    await finish(store, clock, node, held[young.run])

    went = await prune(store, before=before)

    assert went == 1
    assert keys_of(await ledger_of(store, clock, job.id)) == [young]
    with pytest.raises(NotFound):
        await view(store, clock, old)
    assert await store.jobs.get(job.id) == job


async def test_pruning_goes_in_steps(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    await some_runs(store, clock, 7, job)
    await finish(store, clock, node, *await lease(store, clock, node))
    before = clock.advance(DAY)

    steps = [await store.upkeep.prune(before=before, keys_before=0, limit=3) for _ in range(4)]

    assert steps == [3, 3, 1, 0]
    assert await ledger_of(store, clock, job.id) == []


async def test_a_step_stays_within_its_limit_whatever_it_forgets(store, clock):
    node, gone = await a_node(store, clock), await a_node(store, clock)
    await kill(store, clock, gone)
    await store.runs.rescue(limit=10, now=clock.now())
    for n in range(2):
        receipt = a_receipt(f"key {n}")
        made = await store.jobs.create(a_definition(), now=clock.now(), receipt=receipt)
        await edit(store, clock, made.job, name="renamed")
        await a_one_off(store, clock, at=clock.now())
    await finish(store, clock, node, *await promote(store, clock, node))
    now = clock.advance(DAY)

    steps = [await store.upkeep.prune(before=now, keys_before=now, limit=3) for _ in range(9)]

    assert max(steps) <= 3
    # Two keys, two versions, two runs, two one-offs and a node.
    assert sum(steps) == 9
    assert steps[-1] == 0


async def test_what_was_finished_by_a_clock_that_ran_ahead_does_not_stop_the_pruning(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    early, late = await some_runs(store, clock, 2, job)
    held = {run.run: run for run in await lease(store, clock, node)}
    clock.advance(365 * DAY)
    await finish(store, clock, node, held[early.run])
    clock.set_back(365 * DAY)
    await finish(store, clock, node, held[late.run])
    before = clock.advance(DAY)

    went = await prune(store, before=before, limit=1)

    assert went == 1
    assert keys_of(await ledger_of(store, clock, job.id)) == [early]


async def test_what_is_not_over_is_never_forgotten(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    running = await a_running_run(store, clock, node, job)
    waiting = await a_run(store, clock, job, due=clock.now() + HOUR)
    unowned = await a_run(store, clock, job)
    clock.advance(365 * DAY)

    await prune(store, before=clock.now())

    assert await status_of(store, clock, running) is Status.RUNNING
    assert await status_of(store, clock, unowned) is Status.QUEUED
    assert keys_of(await promote(store, clock, node)) == [waiting]


async def test_a_run_that_waits_for_a_retry_survives_its_first_attempt(store, clock):
    node = await a_node(store, clock)
    run = await a_retry(store, clock, node, wait_us=30 * DAY)
    clock.advance(30 * DAY)

    await prune(store, before=clock.now())

    [again] = await promote(store, clock, node)
    assert (again.run, again.attempt) == (run.run, 2)
    await finish(store, clock, node, again)
    assert await status_of(store, clock, run) is Status.SUCCEEDED


async def test_old_ranges_are_forgotten_and_young_ones_stay(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    for _ in range(2):
        await pause(store, clock, job)
        clock.advance(HOUR)
        await resume(store, clock, job)
        clock.advance(DAY)
    [young, _] = await ledger_of(store, clock, job.id)

    await prune(store, before=clock.now() - DAY - HOUR)

    assert await ledger_of(store, clock, job.id) == [young]


async def test_dead_letters_stay(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await store.runs.finish(node, [failed(run, clock, error="HTTP 500")], now=clock.now())
    clock.advance(365 * DAY)

    await prune(store, before=clock.now())

    [letter] = (await store.ledger.overview(limit=10, now=clock.now())).failed
    assert (key_of(letter), letter.status) == (key_of(run), Status.FAILED)
    assert letter.error == "HTTP 500"


async def test_versions_that_ended_before_are_forgotten_and_the_current_one_stays(store, clock):
    job = await a_job(store, clock, name="first")
    await edit(store, clock, job, name="second")
    before = clock.advance(DAY)
    await edit(store, clock, job, name="third")

    went = await prune(store, before=before)

    refs = [VersionRef(job.id, version) for version in (1, 2, 3)]
    assert went == 1
    assert (await store.jobs.execution_specs(refs)).keys() == set(refs[1:])


async def test_dead_nodes_are_forgotten_after_their_time(store, clock):
    old, young, alive = [await a_node(store, clock) for _ in range(3)]
    await kill(store, clock, old)
    before = clock.advance(DAY)
    await store.nodes.leave(young, now=clock.now())
    await store.runs.rescue(limit=10, now=clock.now())

    went = await prune(store, before=before)

    assert went == 1
    assert [node.number for node in await store.nodes.all()] == [alive, young]


async def test_a_dead_node_is_not_forgotten_before_its_runs_are_rescued(store, clock):
    node, heir = await a_node(store, clock), await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await kill(store, clock, node)
    clock.advance(365 * DAY)
    await store.nodes.beat(heir, now=clock.now())

    await prune(store, before=clock.now())

    assert await store.runs.rescue(limit=10, now=clock.now()) == Rescued(1)
    assert keys_of(await lease(store, clock, heir)) == [key_of(run)]
    with pytest.raises(NodeDead):
        await store.nodes.beat(node, now=clock.now())


async def test_a_one_off_goes_with_its_history(store, clock):
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now())
    runs = await promote(store, clock, node)
    finished = clock.advance(DAY)
    await finish(store, clock, node, *runs)

    too_early = await prune(store, before=finished)
    kept = await store.jobs.get(job.id)
    await prune(store, before=clock.advance(DAY))

    assert (too_early, kept.id) == (0, job.id)
    with pytest.raises(NotFound):
        await store.jobs.get(job.id)
    assert await store.jobs.page(before=None, limit=10) == []


async def test_the_key_of_a_forgotten_one_off_is_free(store, clock):
    node = await a_node(store, clock)
    gone = await a_one_off(store, clock, at=clock.now(), key="migrate")
    await finish(store, clock, node, *await promote(store, clock, node))
    await prune(store, before=clock.advance(DAY))

    job = await a_one_off(store, clock, at=clock.now(), key="migrate")

    assert job.id > gone.id


async def test_a_one_off_that_was_skipped_goes_too(store, clock):
    job = await a_one_off(store, clock, at=clock.now() + MINUTE, paused=True)
    clock.advance(HOUR)
    await resume(store, clock, job)

    await prune(store, before=clock.advance(DAY))

    with pytest.raises(NotFound):
        await store.jobs.get(job.id)


@pytest.mark.parametrize("what", ["waiting", "paused", "unowned", "held", "retried"])
async def test_a_one_off_whose_run_is_not_over_stays(store, clock, what):
    node = await a_node(store, clock)
    at = clock.now() + (HOUR if what in ("waiting", "paused") else 0)
    job = await a_one_off(store, clock, at=at, paused=what == "paused")
    runs = await promote(store, clock, node, own=0 if what == "unowned" else 1)
    if what == "retried":
        outcome = failed(runs[0], clock, retry_at=clock.now() + HOUR)
        await store.runs.finish(node, [outcome], now=clock.now())

    await prune(store, before=clock.advance(DAY))

    assert (await store.jobs.get(job.id)).id == job.id


async def test_a_one_off_with_another_run_to_come_stays(store, clock):
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now())
    await finish(store, clock, node, *await promote(store, clock, node))
    triggered = await a_run(store, clock, job, due=clock.now() + 2 * DAY)

    await prune(store, before=clock.advance(DAY))
    clock.advance(DAY)

    assert (await store.jobs.get(job.id)).id == job.id
    assert keys_of(await promote(store, clock, node)) == [triggered]


async def test_recurring_and_triggered_jobs_are_never_forgotten(store, clock):
    node = await a_node(store, clock)
    recurring = await a_job(store, clock, schedule=every(10))
    triggered = await a_job(store, clock)
    clock.advance(10 * SECOND)
    await finish(store, clock, node, *await claim(store, clock, node))

    await prune(store, before=clock.advance(365 * DAY))

    assert await ledger_of(store, clock, recurring.id) == []
    assert await store.jobs.page(before=None, limit=10) == [triggered, recurring]
    assert {run.job for run in await claim(store, clock, node)} == {recurring.id}


async def test_the_history_of_a_deleted_job_is_forgotten_like_any_other(store, clock):
    job = await a_job(store, clock)
    run = await a_run(store, clock, job)
    await delete(store, clock, job)
    assert await status_of(store, clock, run) is Status.CANCELLED

    await prune(store, before=clock.advance(DAY))

    assert await ledger_of(store, clock, job.id) == []
    assert (await a_job(store, clock)).id > job.id


async def test_nothing_old_is_nothing_forgotten(store, clock):
    await a_job(store, clock, schedule=every(10))

    assert await store.upkeep.prune(before=clock.now(), keys_before=clock.now(), limit=10) == 0
