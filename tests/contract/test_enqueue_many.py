"""Many runs that are no occurrences, made at once: all of them or none."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.instants import HOUR
from onthedot.core.model import NUMBER_MAX
from onthedot.core.states import Status
from onthedot.errors import IdempotencyMismatch, NotFound
from onthedot.store.values import Created, EnqueueRequest
from tests.support.builders import (
    a_job,
    a_node,
    a_receipt,
    a_run,
    lease,
    ledger_of,
)


def asked(clock, *payloads):
    return [EnqueueRequest(clock.now(), payload) for payload in payloads]


async def test_many_runs_are_made_in_the_order_asked_for(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)

    made = await store.runs.enqueue_many(job.id, asked(clock, '"a"', None, '"c"'), now=clock.now())

    assert made.job == job
    assert list(made.runs) == sorted(set(made.runs))
    runs = await lease(store, clock, node)
    assert [(run.run, run.payload) for run in runs] == list(
        zip(made.runs, ('"a"', None, '"c"'), strict=True)
    )


async def test_each_has_an_instant_of_its_own(store, clock):
    job = await a_job(store, clock)
    later = clock.now() + HOUR

    made = await store.runs.enqueue_many(
        job.id, [EnqueueRequest(later), EnqueueRequest(clock.now())], now=clock.now()
    )

    seen = {view.run: view for view in await ledger_of(store, clock, job.id)}
    waiting, due = (seen[run] for run in made.runs)
    assert (waiting.status, waiting.due) == (Status.SCHEDULED, later)
    assert (due.status, due.due) == (Status.QUEUED, clock.now())


async def test_more_than_a_microsecond_holds_are_made_beside_those_that_are_there(store, clock):
    job = await a_job(store, clock)
    there = await a_run(store, clock, job)
    many = [EnqueueRequest(clock.now())] * (NUMBER_MAX + 10)

    made = await store.runs.enqueue_many(job.id, many, now=clock.now())

    assert len({*made.runs, there.run}) == NUMBER_MAX + 11
    assert list(made.runs) == sorted(made.runs)


async def test_one_that_cannot_be_made_leaves_none(store, clock):
    job = await a_job(store, clock)
    beyond = 1 << 70  # no store can hold such an instant

    with pytest.raises(Exception, match=r"(?i)int|range|large"):
        await store.runs.enqueue_many(
            job.id, [EnqueueRequest(clock.now()), EnqueueRequest(beyond)], now=clock.now()
        )

    assert await ledger_of(store, clock, job.id) == []


async def test_runs_of_an_unknown_job_are_refused(store, clock):
    with pytest.raises(NotFound):
        await store.runs.enqueue_many(999_999, asked(clock, None), now=clock.now())


async def test_a_repeat_makes_nothing_and_returns_the_kept_answer(store, clock):
    job = await a_job(store, clock)
    many = asked(clock, '"a"', '"b"')
    made = await store.runs.enqueue_many(job.id, many, now=clock.now(), receipt=a_receipt())

    again = await store.runs.enqueue_many(job.id, many, now=clock.now(), receipt=a_receipt())

    assert again == Created(repeat=f"job {job.id}, runs {list(made.runs)} ✓")
    assert len(await ledger_of(store, clock, job.id)) == 2
    receipt = a_receipt(fingerprint="another request")
    with pytest.raises(IdempotencyMismatch):
        await store.runs.enqueue_many(job.id, many, now=clock.now(), receipt=receipt)


async def test_those_who_ask_at_once_get_runs_of_their_own(store, clock):
    job = await a_job(store, clock)
    many = [EnqueueRequest(clock.now())] * 50

    made = await asyncio.gather(
        *(store.runs.enqueue_many(job.id, many, now=clock.now()) for _ in range(4))
    )

    assert len({run for each in made for run in each.runs}) == 200
