"""Idempotency keys: a repeat is given the kept answer and changes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from onthedot.core.instants import DAY, HOUR, SECOND
from onthedot.errors import IdempotencyMismatch, KeyTaken, NotFound
from onthedot.store.values import Created
from tests.support.builders import (
    a_definition,
    a_job,
    a_receipt,
    delete,
    every,
    ledger_of,
    prune,
)


async def create(store, clock, receipt, **fields):
    return await store.jobs.create(a_definition(**fields), now=clock.now(), receipt=receipt)


async def enqueue(store, clock, job, receipt):
    return await store.runs.enqueue(
        job.id, due=clock.now(), payload=None, now=clock.now(), receipt=receipt
    )


async def jobs_in(store):
    return await store.jobs.page(before=None, limit=100)


async def test_a_repeated_create_returns_the_kept_answer_and_makes_nothing(store, clock):
    made = await create(store, clock, a_receipt())
    clock.advance(HOUR)

    again = await create(store, clock, a_receipt())

    assert (made.job.version, made.repeat) == (1, None)
    assert again == Created(repeat=f"job {made.job.id}, runs [] ✓")
    assert await jobs_in(store) == [made.job]


async def test_a_repeated_enqueue_returns_the_kept_answer_and_makes_nothing(store, clock):
    job = await a_job(store, clock)
    made = await enqueue(store, clock, job, a_receipt())
    clock.advance(HOUR)

    again = await enqueue(store, clock, job, a_receipt())

    assert made.repeat is None
    assert again == Created(repeat=f"job {job.id}, runs [{made.run}] ✓")
    assert [view.run for view in await ledger_of(store, clock, job.id)] == [made.run]


async def test_the_answer_is_the_one_that_was_first_given(store, clock):
    made = await create(store, clock, a_receipt())
    talkative = replace(a_receipt(), answer=lambda job, run: "something else")

    again = await create(store, clock, talkative)

    assert again.repeat == f"job {made.job.id}, runs [] ✓"


async def test_the_same_key_for_another_request_is_refused(store, clock):
    made = await create(store, clock, a_receipt(fingerprint="one"))

    with pytest.raises(IdempotencyMismatch):
        await create(store, clock, a_receipt(fingerprint="two"), name="another")

    assert await jobs_in(store) == [made.job]


async def test_a_key_used_for_a_create_is_refused_for_a_trigger(store, clock):
    made = await create(store, clock, a_receipt(fingerprint="create"))

    with pytest.raises(IdempotencyMismatch):
        await enqueue(store, clock, made.job, a_receipt(fingerprint="trigger"))

    assert await ledger_of(store, clock, made.job.id) == []


async def test_other_keys_make_other_jobs(store, clock):
    first = await create(store, clock, a_receipt("a"))
    second = await create(store, clock, a_receipt("b"))

    assert first.job.id != second.job.id
    assert len(await jobs_in(store)) == 2


async def test_a_repeated_create_does_not_collide_with_its_own_job_key(store, clock):
    await create(store, clock, a_receipt(), key="nightly")

    again = await create(store, clock, a_receipt(), key="nightly")

    assert again.repeat is not None
    assert len(await jobs_in(store)) == 1


async def test_a_refused_create_keeps_no_receipt(store, clock):
    holder = await a_job(store, clock, key="nightly")
    with pytest.raises(KeyTaken):
        await create(store, clock, a_receipt(), key="nightly")

    await delete(store, clock, holder)
    made = await create(store, clock, a_receipt(), key="nightly")

    assert made.repeat is None
    assert await jobs_in(store) == [made.job]


async def test_a_job_whose_answer_cannot_be_made_is_not_made(store, clock):
    speechless = replace(a_receipt(), answer=lambda job, run: str(1 // 0))

    with pytest.raises(ZeroDivisionError):
        await create(store, clock, speechless, schedule=every(60))

    assert await jobs_in(store) == []
    made = await create(store, clock, a_receipt())
    assert made.repeat is None


async def test_a_refused_enqueue_keeps_no_receipt(store, clock):
    job = await a_job(store, clock)
    await delete(store, clock, job)
    with pytest.raises(NotFound):
        await enqueue(store, clock, job, a_receipt())

    made = await enqueue(store, clock, await a_job(store, clock), a_receipt())

    assert made.repeat is None
    assert made.run is not None


async def test_a_repeat_is_answered_even_if_the_job_was_deleted_since(store, clock):
    created = await create(store, clock, a_receipt("create"))
    enqueued = await enqueue(store, clock, created.job, a_receipt("trigger"))
    await delete(store, clock, created.job)

    create_again = await create(store, clock, a_receipt("create"))
    enqueue_again = await enqueue(store, clock, created.job, a_receipt("trigger"))

    assert create_again.repeat == f"job {created.job.id}, runs [] ✓"
    assert enqueue_again.repeat == f"job {created.job.id}, runs [{enqueued.run}] ✓"
    assert await jobs_in(store) == []


async def test_of_requests_sent_at_once_one_is_made_and_the_others_are_repeats(store, clock):
    answers = await asyncio.gather(*(create(store, clock, a_receipt()) for _ in range(8)))

    [made] = [answer.job for answer in answers if answer.job is not None]
    repeats = [answer.repeat for answer in answers if answer.repeat is not None]
    assert repeats == [f"job {made.id}, runs [] ✓"] * 7
    assert await jobs_in(store) == [made]


async def test_a_receipt_is_forgotten_when_its_time_is_over(store, clock):
    made = await create(store, clock, a_receipt())
    used = clock.now()
    clock.advance(DAY)

    kept = await prune(store, keys_before=used)
    still = await create(store, clock, a_receipt())
    went = await prune(store, keys_before=used + SECOND)
    again = await create(store, clock, a_receipt(fingerprint="another request"))

    assert (kept, went) == (0, 1)
    assert still.repeat is not None
    assert again.repeat is None
    assert again.job.id > made.job.id
