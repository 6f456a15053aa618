"""Giving runs back, and taking them from the dead: the attempt is kept, the old fence is not."""

from __future__ import annotations

from itertools import pairwise

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.states import Status
from onthedot.errors import NodeDead
from onthedot.store.claims import Finished
from onthedot.store.values import Rescued
from tests.support.builders import (
    a_held_run,
    a_job,
    a_node,
    a_running_run,
    claim,
    delete,
    every,
    key_of,
    keys_of,
    kill,
    lease,
    promote,
    ref,
    some_runs,
    status_of,
    succeeded,
    view,
)


async def test_a_released_run_is_unowned_and_keeps_its_attempt(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    run = await a_held_run(store, clock, node, payload='"mine"')

    released = await store.runs.release(node, [ref(run)], now=clock.now())

    assert released == 1
    assert await store.runs.owned(node) == []
    assert await status_of(store, clock, run) is Status.QUEUED
    [again] = await lease(store, clock, other)
    assert again == run._replace(fence=again.fence)
    assert again.fence > run.fence


async def test_who_released_a_run_can_no_longer_finish_it(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await store.runs.release(node, [ref(run)], now=clock.now())

    while_unowned = await store.runs.finish(node, [succeeded(run, clock)], now=clock.now())
    [again] = await lease(store, clock, node)
    with_old_fence = await store.runs.finish(node, [succeeded(run, clock)], now=clock.now())

    assert while_unowned == with_old_fence == Finished(0, 0, 1, None)
    assert await store.runs.owned(node) == [ref(again)]


async def test_only_what_a_node_still_holds_is_released(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    await some_runs(store, clock, 3)
    runs = await lease(store, clock, node)

    by_another = await store.runs.release(other, [ref(runs[0])], now=clock.now())
    wrong_fence = ref(runs[0])._replace(fence=runs[0].fence + 1)
    mixed = await store.runs.release(
        node, [wrong_fence, ref(runs[1]), ref(runs[2])], now=clock.now()
    )
    twice = await store.runs.release(node, [ref(runs[1])], now=clock.now())

    assert (by_another, mixed, twice) == (0, 2, 0)
    assert await store.runs.owned(node) == [ref(runs[0])]


async def test_a_run_released_before_its_instant_is_leased_only_then(store, clock):
    node = await a_node(store, clock)
    await a_job(store, clock, schedule=every(10))
    clock.advance(10 * SECOND - 1)
    [run] = await claim(store, clock, node)

    await store.runs.release(node, [ref(run)], now=clock.now())

    assert await lease(store, clock, node) == []
    clock.advance(1)
    assert keys_of(await lease(store, clock, node)) == [key_of(run)]


async def test_a_released_run_that_was_asked_to_end_ends(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await store.runs.cancel(run.job, run.run, now=clock.now())
    [signal] = await store.runs.signals(node)

    released = await store.runs.release(node, [ref(run)], now=clock.now())

    assert released == 1
    seen = await view(store, clock, run)
    assert (seen.status, seen.reason) == (Status.CANCELLED, signal.reason)
    assert seen.finished_at == clock.now()
    assert await store.runs.signals(node) == []
    assert await lease(store, clock, node) == []


async def test_a_dead_node_releases_nothing(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await kill(store, clock, node)

    with pytest.raises(NodeDead):
        await store.runs.release(node, [ref(run)], now=clock.now())

    assert await store.runs.owned(node) == [ref(run)]


async def test_a_rescued_run_keeps_its_attempt_and_counts_the_rescue(store, clock):
    node, heir = await a_node(store, clock), await a_node(store, clock)
    run = await a_running_run(store, clock, node)
    await kill(store, clock, node)

    rescued = await store.runs.rescue(limit=10, now=clock.now())

    assert rescued == Rescued(1)
    seen = await view(store, clock, run)
    assert (seen.status, seen.attempt, seen.rescues) == (Status.QUEUED, 1, 1)
    assert seen.started_at is None
    assert await store.runs.owned(node) == []
    [again] = await lease(store, clock, heir)
    assert again == run._replace(rescues=1, fence=again.fence)
    assert again.fence > run.fence


async def test_the_runs_of_a_dead_node_stay_its_own_until_they_are_rescued(store, clock):
    node, heir = await a_node(store, clock), await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    await kill(store, clock, node)

    assert await store.runs.owned(node) == [ref(run)]
    assert await lease(store, clock, heir) == []


async def test_the_living_are_not_rescued(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)

    assert await store.runs.rescue(limit=10, now=clock.now()) == Rescued(0)

    assert await store.runs.owned(node) == [ref(run)]


async def test_rescue_goes_in_steps_until_the_dead_hold_nothing(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    await some_runs(store, clock, 5)
    assert len(await lease(store, clock, node, limit=3)) == 3
    assert len(await lease(store, clock, other)) == 2
    await kill(store, clock, node, other)

    steps = [await store.runs.rescue(limit=2, now=clock.now()) for _ in range(4)]

    assert [step.taken for step in steps] == [2, 2, 1, 0]
    heir = await a_node(store, clock)
    assert len(await lease(store, clock, heir)) == 5


async def test_a_node_that_left_is_rescued_too(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await store.nodes.leave(node, now=clock.now())

    assert await store.runs.rescue(limit=10, now=clock.now()) == Rescued(1)

    assert await status_of(store, clock, run) is Status.QUEUED


async def test_a_new_node_inherits_nothing_from_a_dead_one(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await kill(store, clock, node)
    heir = await a_node(store, clock)

    finished = await store.runs.finish(heir, [succeeded(run, clock)], now=clock.now())

    assert finished == Finished(0, 0, 1, None)
    assert await store.runs.owned(heir) == []


async def test_a_run_is_rescued_as_often_as_its_nodes_die(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    fences = [run.fence]
    for _ in range(3):
        await kill(store, clock, node)
        await store.runs.rescue(limit=10, now=clock.now())
        node = await a_node(store, clock)
        [run] = await lease(store, clock, node)
        fences.append(run.fence)

    assert (run.rescues, run.attempt) == (3, 1)
    # The rescue raises it, and so does the next lease: two steps each time.
    assert all(later >= earlier + 2 for earlier, later in pairwise(fences))


async def test_a_rescued_run_that_was_asked_to_end_ends(store, clock):
    node = await a_node(store, clock)
    run = await a_running_run(store, clock, node)
    await store.runs.cancel(run.job, run.run, now=clock.now())
    [signal] = await store.runs.signals(node)
    await kill(store, clock, node)

    assert await store.runs.rescue(limit=10, now=clock.now()) == Rescued(1)

    seen = await view(store, clock, run)
    assert (seen.status, seen.reason) == (Status.CANCELLED, signal.reason)
    assert await store.runs.signals(node) == []
    assert await store.runs.rescue(limit=10, now=clock.now()) == Rescued(0)


async def test_the_run_of_a_deleted_job_is_not_rescued_to_run_again(store, clock):
    node, heir = await a_node(store, clock), await a_node(store, clock)
    job = await a_job(store, clock)
    run = await a_held_run(store, clock, node, job)
    await kill(store, clock, node)
    await delete(store, clock, job)

    await store.runs.rescue(limit=10, now=clock.now())

    assert await lease(store, clock, heir) == []
    assert await promote(store, clock, heir) == []
    seen = await view(store, clock, run)
    assert (seen.status, seen.reason) == (Status.CANCELLED, "job deleted")
