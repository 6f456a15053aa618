"""Jobs that code declares: what an app declares no longer is remembered, and nothing else."""

from __future__ import annotations

import asyncio

from onthedot.core.instants import HOUR
from onthedot.store.values import Undeclared
from tests.support.builders import a_job, delete


async def declare(store, clock, app, *jobs):
    return await store.jobs.declare(app, [job.id for job in jobs], now=clock.now())


async def test_what_an_app_declares_no_longer_is_gone_since_then(store, clock):
    one, two = await a_job(store, clock), await a_job(store, clock)
    assert await declare(store, clock, "shop", one, two) == []
    since = clock.advance(HOUR)

    assert await declare(store, clock, "shop", one) == [two]
    clock.advance(HOUR)
    assert await declare(store, clock, "shop", one) == [two]

    assert await store.jobs.gone(two.id) == Undeclared("shop", since)
    assert await store.jobs.gone(one.id) is None
    assert await store.jobs.undeclared(limit=10) == [two]


async def test_what_comes_back_is_gone_no_longer(store, clock):
    job = await a_job(store, clock)
    await declare(store, clock, "shop", job)
    await declare(store, clock, "shop")

    assert await declare(store, clock, "shop", job) == []
    assert await store.jobs.gone(job.id) is None


async def test_what_nobody_or_another_app_declares_is_left_alone(store, clock):
    by_hand, theirs = await a_job(store, clock), await a_job(store, clock)
    await declare(store, clock, "theirs", theirs)

    assert await declare(store, clock, "shop") == []
    assert await store.jobs.undeclared(limit=10) == []
    assert await store.jobs.gone(by_hand.id) is None


async def test_a_job_belongs_to_who_declared_it_last(store, clock):
    job = await a_job(store, clock)
    await declare(store, clock, "old", job)
    await declare(store, clock, "new", job)

    assert await declare(store, clock, "old") == []
    assert await declare(store, clock, "new") == [job]
    assert await store.jobs.gone(job.id) == Undeclared("new", clock.now())


async def test_a_deleted_job_is_forgotten(store, clock):
    job, other = await a_job(store, clock), await a_job(store, clock)
    await declare(store, clock, "shop", job, other)
    await declare(store, clock, "shop")
    await delete(store, clock, job)

    assert await store.jobs.undeclared(limit=10) == [other]
    assert await declare(store, clock, "shop") == [other]


async def test_those_gone_are_listed_newest_first_up_to_the_limit(store, clock):
    jobs = [await a_job(store, clock) for _ in range(3)]
    await declare(store, clock, "shop", *jobs)
    await declare(store, clock, "shop")

    assert await store.jobs.undeclared(limit=2) == [jobs[2], jobs[1]]


async def test_nodes_that_start_at_once_declare_the_same(store, clock):
    jobs = [await a_job(store, clock) for _ in range(5)]

    answers = await asyncio.gather(
        *(declare(store, clock, "shop", *jobs[::order]) for order in (1, -1, 1, -1))
    )

    assert answers == [[], [], [], []]
