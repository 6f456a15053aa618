"""Runs that are no occurrences: triggers and enqueues, at once or later."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.model import NUMBER_BITS, NUMBER_MAX, created_run, is_occurrence, occurrence
from onthedot.core.states import Status
from onthedot.errors import NotFound
from tests.support.builders import (
    a_held_run,
    a_job,
    a_node,
    a_run,
    claim,
    every,
    finish,
    keys_of,
    lease,
    ledger_of,
    promote,
    view,
)


def created_at(run: int) -> int:
    return run >> NUMBER_BITS


async def a_full_microsecond(store, clock, job):
    await asyncio.gather(*(a_run(store, clock, job) for _ in range(NUMBER_MAX)))


async def test_a_run_that_is_due_is_unowned(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, queue="mail", priority=2)

    key = await a_run(store, clock, job, payload='{"to": "ü"}')

    seen = await view(store, clock, key)
    assert (seen.status, seen.due, seen.at, seen.attempt) == (
        Status.QUEUED,
        clock.now(),
        clock.now(),
        1,
    )
    [run] = await lease(store, clock, node)
    assert (run.job, run.run, run.payload) == (*key, '{"to": "ü"}')
    assert (run.lane, run.priority, run.version, run.rescues) == ("default|mail|", 2, 1, 0)


async def test_a_run_that_is_due_later_waits(store, clock):
    node = await a_node(store, clock)
    due = clock.now() + HOUR

    key = await a_run(store, clock, due=due, payload='"later"')

    assert (await view(store, clock, key)).status is Status.SCHEDULED
    assert await lease(store, clock, node) == []
    clock.advance(HOUR)
    [run] = await promote(store, clock, node)
    assert (run.job, run.run, run.due, run.payload) == (*key, due, '"later"')


async def test_a_run_that_was_due_long_ago_is_unowned_and_keeps_its_due_instant(store, clock):
    node = await a_node(store, clock)
    due = clock.now() - HOUR

    await a_run(store, clock, due=due)

    assert [run.due for run in await lease(store, clock, node)] == [due]


async def test_a_run_without_payload_of_its_own_has_none(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, payload='"the job\'s"')

    run = await a_held_run(store, clock, node, job)

    assert run.payload is None


async def test_enqueue_says_which_job_and_run_it_made(store, clock):
    job = await a_job(store, clock)

    made = await store.runs.enqueue(job.id, due=clock.now(), payload=None, now=clock.now())

    assert made.job == job
    assert created_at(made.run) == clock.now()
    assert made.repeat is None


async def test_the_number_of_a_run_is_the_instant_of_its_creation_not_of_its_due(store, clock):
    key = await a_run(store, clock, due=clock.now() + HOUR)

    assert created_at(key.run) == clock.now()
    assert not is_occurrence(key.run)


async def test_many_runs_of_one_microsecond_have_numbers_of_their_own(store, clock):
    job = await a_job(store, clock)

    due = [await a_run(store, clock, job) for _ in range(30)]
    later = [await a_run(store, clock, job, due=clock.now() + MINUTE) for _ in range(30)]

    numbers = {key.run for key in [*due, *later]}
    assert len(numbers) == 60
    assert {created_at(number) for number in numbers} == {clock.now()}
    seen = [each.run for each in await ledger_of(store, clock, job.id)]
    assert seen == sorted(numbers, reverse=True)


async def test_more_runs_than_a_microsecond_has_numbers_are_all_made(store, clock):
    job = await a_job(store, clock)

    keys = await asyncio.gather(*(a_run(store, clock, job) for _ in range(NUMBER_MAX + 2)))

    numbers = {key.run for key in keys}
    assert len(numbers) == NUMBER_MAX + 2
    assert numbers > {created_run(clock.now(), n) for n in range(1, NUMBER_MAX + 1)}
    assert not any(is_occurrence(number) for number in numbers)


async def test_the_number_of_a_finished_run_is_not_given_again(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    await a_full_microsecond(store, clock, job)
    await finish(store, clock, node, *await lease(store, clock, node))

    again = await a_run(store, clock, job)

    assert created_at(again.run) == clock.now() + 1
    assert len(await ledger_of(store, clock, job.id)) == NUMBER_MAX + 1


async def test_the_numbers_of_two_jobs_are_independent(store, clock):
    first, second = await a_job(store, clock), await a_job(store, clock)
    await a_full_microsecond(store, clock, first)

    key = await a_run(store, clock, second)

    assert created_at(key.run) == clock.now()


async def test_a_trigger_at_the_instant_of_an_occurrence_is_a_run_of_its_own(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    due = clock.advance(60 * SECOND)

    triggered = await a_run(store, clock, job)
    [fired] = await claim(store, clock, node)

    assert fired.run == occurrence(due) != triggered.run
    assert created_at(triggered.run) == due
    assert len(await ledger_of(store, clock, job.id)) == 2


async def test_a_run_of_an_unknown_job_is_refused(store, clock):
    with pytest.raises(NotFound):
        await store.runs.enqueue(999_999, due=clock.now(), payload=None, now=clock.now())


async def test_large_payloads_come_back_whole(store, clock):
    node = await a_node(store, clock)
    payload = '"' + "ab✓" * 21_000 + '"'

    run = await a_held_run(store, clock, node, payload=payload)

    assert run.payload == payload


async def test_runs_enqueued_together_are_all_leased(store, clock):
    node = await a_node(store, clock)
    keys = [await a_run(store, clock) for _ in range(20)]

    runs = await lease(store, clock, node)

    assert sorted(keys_of(runs)) == sorted(keys)
