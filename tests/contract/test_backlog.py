"""How much waits, for gauges: by queue, and never counted further than asked."""

from __future__ import annotations

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.store.values import Backlog, QueueDepth
from tests.support.builders import (
    a_held_run,
    a_job,
    a_node,
    a_retry,
    a_run,
    failed,
    some_runs,
)


async def backlog(store, clock, most=1_000):
    return await store.ledger.backlog(most=most, now=clock.now())


async def test_an_empty_store_has_no_backlog(store, clock):
    assert await backlog(store, clock) == Backlog(
        queues=[],
        waiting=0,
        dead_letters=0,
        set_aside=0,
        notices=0,
        notices_given_up=0,
    )


async def test_due_runs_that_nobody_holds_are_counted_by_queue(store, clock):
    node = await a_node(store, clock)
    await a_held_run(store, clock, node)
    slow = await a_job(store, clock, queue="slow")
    since = clock.now()
    await some_runs(store, clock, 3, slow)
    clock.advance(MINUTE)
    later = clock.now()
    await some_runs(store, clock, 2)

    found = await backlog(store, clock)

    assert sorted(found.queues) == [QueueDepth("default", 2, later), QueueDepth("slow", 3, since)]


async def test_runs_to_come_and_dead_letters_are_counted_apart(store, clock):
    node = await a_node(store, clock)
    held = await a_held_run(store, clock, node)
    await store.runs.finish(node, [failed(held, clock)], now=clock.now())
    await a_retry(store, clock, node)
    await a_run(store, clock, due=clock.now() + HOUR)
    clock.advance(SECOND)

    found = await backlog(store, clock)

    assert (found.queues, found.waiting, found.dead_letters) == ([], 2, 1)


async def test_nothing_is_counted_further_than_asked(store, clock):
    await some_runs(store, clock, 5)
    job = await a_job(store, clock)
    for _ in range(3):
        await a_run(store, clock, job, due=clock.now() + HOUR)

    found = await backlog(store, clock, most=2)

    assert [depth.runs for depth in found.queues] == [2]
    assert found.waiting == 2
