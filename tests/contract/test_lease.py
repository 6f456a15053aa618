"""Taking unowned runs: by priority, by age, by queue; and showing that they run."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from onthedot.core.instants import MINUTE, SECOND
from onthedot.core.states import Status
from onthedot.errors import NodeDead
from tests.support.builders import (
    a_held_run,
    a_job,
    a_node,
    a_run,
    a_running_run,
    edit,
    failed,
    keys_of,
    kill,
    lease,
    promote,
    ref,
    some_runs,
    status_of,
    view,
)


async def test_a_leased_run_is_held_by_the_node_and_by_nobody_else(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    await a_run(store, clock)

    [run] = await lease(store, clock, node)

    assert await lease(store, clock, other) == []
    assert await store.runs.owned(node) == [ref(run)]
    assert await store.runs.owned(other) == []


async def test_a_lease_stays_within_its_limit(store, clock):
    node = await a_node(store, clock)
    await some_runs(store, clock, 5)

    sizes = [len(await lease(store, clock, node, limit=2)) for _ in range(4)]

    assert sizes == [2, 2, 1, 0]
    assert len(set(await store.runs.owned(node))) == 5


async def test_a_higher_priority_comes_first(store, clock):
    node = await a_node(store, clock)
    jobs = [await a_job(store, clock, priority=p) for p in (5, 9, 0, 7)]
    for job in jobs:
        await a_run(store, clock, job)

    order = [(await lease(store, clock, node, limit=1))[0].priority for _ in jobs]

    assert order == [9, 7, 5, 0]


async def test_within_a_priority_the_older_comes_first(store, clock):
    node = await a_node(store, clock)
    now = clock.advance(MINUTE)
    keys = {age: await a_run(store, clock, due=now - age * SECOND) for age in (10, 30, 20)}

    order = [keys_of(await lease(store, clock, node, limit=1))[0] for _ in keys]

    assert order == [keys[30], keys[20], keys[10]]


@pytest.mark.parametrize("queue", ["default", "another"])
@pytest.mark.parametrize(("ahead_s", "first"), [(59, 6), (61, 5)])
async def test_sixty_seconds_of_waiting_outweigh_one_level_of_priority(
    store, clock, ahead_s, first, queue
):
    node = await a_node(store, clock)
    low = await a_job(store, clock, priority=5)
    high = await a_job(store, clock, priority=6, queue=queue)
    await a_run(store, clock, low)
    clock.advance(ahead_s * SECOND)
    await a_run(store, clock, high)
    clock.advance(10 * SECOND)

    [run] = await lease(store, clock, node, limit=1)

    assert run.priority == first


async def test_nothing_starves_behind_the_highest_priority(store, clock):
    node = await a_node(store, clock)
    low, high = await a_job(store, clock, priority=0), await a_job(store, clock, priority=9)
    patient = await a_run(store, clock, low)

    taken = []
    for _ in range(24):  # there is always a fresh one of the highest priority
        clock.advance(MINUTE)
        await some_runs(store, clock, 2, high)
        taken += await lease(store, clock, node, limit=1)

    assert patient in keys_of(taken)


async def test_a_lease_takes_only_from_the_queues_it_names(store, clock):
    node = await a_node(store, clock)
    keys = {
        queue: await a_run(store, clock, await a_job(store, clock, queue=queue))
        for queue in ("mail", "reports", "default", "pdf")
    }

    named = await lease(store, clock, node, "mail", "pdf")
    unknown = await lease(store, clock, node, "nobody", "")
    rest = await lease(store, clock, node)

    assert sorted(keys_of(named)) == sorted([keys["mail"], keys["pdf"]])
    assert unknown == []
    assert sorted(keys_of(rest)) == sorted([keys["reports"], keys["default"]])


async def test_priority_rules_across_queues(store, clock):
    node = await a_node(store, clock)
    for queue, priority in (("a", 3), ("b", 8), ("c", 5)):
        await a_run(store, clock, await a_job(store, clock, queue=queue, priority=priority))

    every_queue = await lease(store, clock, node, limit=1)
    two_queues = await lease(store, clock, node, "a", "c", limit=1)

    assert [run.priority for run in (*every_queue, *two_queues)] == [8, 5]


async def test_a_waiting_run_is_not_leased(store, clock):
    node = await a_node(store, clock)
    await a_run(store, clock, due=clock.now() + 1)
    due = await a_run(store, clock)

    assert keys_of(await lease(store, clock, node)) == [due]


async def test_a_leased_run_takes_the_current_version_of_its_job(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    key = await a_run(store, clock, job, payload='"mine"')
    await edit(store, clock, job, handler_url="http://127.0.0.1:9/mended", payload='"new"')

    [run] = await lease(store, clock, node)

    assert (run.version, run.payload) == (2, '"mine"')
    assert (await view(store, clock, key)).version == 2


async def test_every_lease_of_a_run_has_a_higher_fence(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    fences = [run.fence]
    for _ in range(3):
        await store.runs.release(node, [ref(run)], now=clock.now())
        [run] = await lease(store, clock, node)
        fences.append(run.fence)

    # Giving back raises it, and so does taking: two steps each time.
    assert all(later >= earlier + 2 for earlier, later in pairwise(fences))


async def test_nodes_that_lease_at_once_share_the_runs(store, clock):
    nodes = [await a_node(store, clock) for _ in range(4)]
    keys = await some_runs(store, clock, 40)

    leases = await asyncio.gather(*(lease(store, clock, node, limit=15) for node in nodes))

    assert sorted(key for runs in leases for key in keys_of(runs)) == sorted(keys)


async def test_a_dead_node_leases_nothing(store, clock):
    node = await a_node(store, clock)
    key = await a_run(store, clock)
    await kill(store, clock, node)

    with pytest.raises(NodeDead):
        await lease(store, clock, node)

    assert await store.runs.owned(node) == []
    assert keys_of(await lease(store, clock, await a_node(store, clock))) == [key]


async def test_a_started_run_is_seen_as_running(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    held = await status_of(store, clock, run)

    began = clock.advance(SECOND)
    await store.runs.started(node, {ref(run): began})
    clock.advance(SECOND)

    assert held is Status.QUEUED
    seen = await view(store, clock, run)
    assert (seen.status, seen.started_at, seen.finished_at) == (Status.RUNNING, began, None)


async def test_only_the_holder_can_say_that_a_run_has_started(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    await store.runs.started(other, {ref(run): clock.now()})
    await store.runs.started(node, {ref(run)._replace(fence=run.fence + 1): clock.now()})
    await store.runs.started(node, {ref(run)._replace(run=run.run + 1): clock.now()})

    assert await status_of(store, clock, run) is Status.QUEUED


async def test_a_run_that_left_its_node_is_not_seen_as_running_any_more(store, clock):
    node = await a_node(store, clock)
    run = await a_running_run(store, clock, node)

    await store.runs.release(node, [ref(run)], now=clock.now())
    released = await view(store, clock, run)
    await lease(store, clock, node)
    leased_again = await view(store, clock, run)

    for seen in (released, leased_again):
        assert (seen.status, seen.started_at) == (Status.QUEUED, None)


async def test_the_next_attempt_has_not_started_because_the_last_one_had(store, clock):
    node = await a_node(store, clock)
    run = await a_running_run(store, clock, node)
    outcome = failed(run, clock, retry_at=clock.now() + SECOND)
    await store.runs.finish(node, [outcome], now=clock.now())

    waiting = await view(store, clock, run)
    clock.advance(SECOND)
    await promote(store, clock, node)
    held = await view(store, clock, run)

    assert (waiting.status, waiting.started_at) == (Status.SCHEDULED, None)
    assert (held.status, held.started_at) == (Status.QUEUED, None)


async def test_a_dead_node_starts_nothing(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await kill(store, clock, node)

    with pytest.raises(NodeDead):
        await store.runs.started(node, {ref(run): clock.now()})

    assert await status_of(store, clock, run) is Status.QUEUED
