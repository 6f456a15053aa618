"""Waiting runs that come up: moved to the live ones, oldest first, at the job's current version."""

from __future__ import annotations

import pytest

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.model import Lanes, queue_of
from onthedot.core.states import Status
from onthedot.errors import NodeDead
from onthedot.store.claims import Lessee, Promoted
from tests.support.builders import (
    ALL_SHARDS,
    PLENTY,
    a_job,
    a_node,
    a_one_off,
    a_retry,
    a_run,
    delete,
    edit,
    finish,
    jobs_in_every_shard,
    key_of,
    keys_of,
    kill,
    lease,
    promote,
    ref,
    status_of,
)


async def promote_until(store, clock, node, until, *, own=PLENTY, limit=PLENTY):
    return await store.runs.promote(
        ALL_SHARDS, until=until, lessee=Lessee(node, own), limit=limit, now=clock.now()
    )


async def test_runs_that_come_up_to_the_end_are_moved_and_later_ones_stay(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    due = clock.now() + MINUTE
    last = await a_run(store, clock, job, due=due)
    later = await a_run(store, clock, job, due=due + 1)

    promoted = await promote_until(store, clock, node, due)

    assert keys_of(promoted.leased) == [last]
    assert promoted.moved == 1
    assert await store.runs.owned(node) == [ref(promoted.leased[0])]
    assert await status_of(store, clock, later) is Status.SCHEDULED


async def test_the_oldest_own_are_leased_and_the_rest_is_unowned(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    keys = {s: await a_run(store, clock, due=clock.now() + s * SECOND) for s in (3, 1, 4, 2, 5)}
    clock.advance(5 * SECOND)

    promoted = await promote_until(store, clock, node, clock.now(), own=2)

    assert sorted(keys_of(promoted.leased)) == sorted([keys[1], keys[2]])
    assert promoted.moved == 5
    assert keys_of(await lease(store, clock, other)) == [keys[3], keys[4], keys[5]]


async def test_a_promotion_stays_within_its_limit_and_takes_the_oldest(store, clock):
    node = await a_node(store, clock)
    keys = {s: await a_run(store, clock, due=clock.now() + s * SECOND) for s in (3, 1, 2)}
    clock.advance(MINUTE)

    first = await promote_until(store, clock, node, clock.now(), limit=2)
    second = await promote_until(store, clock, node, clock.now(), limit=2)
    third = await promote_until(store, clock, node, clock.now(), limit=2)

    assert sorted(keys_of(first.leased)) == sorted([keys[1], keys[2]])
    assert (first.moved, second.moved) == (2, 1)
    assert keys_of(second.leased) == [keys[3]]
    assert third == Promoted([], 0)


async def test_only_the_shards_asked_for_are_moved(store, clock):
    node = await a_node(store, clock)
    jobs = await jobs_in_every_shard(store, clock)
    keys = {
        shard: await a_run(store, clock, job, due=clock.now() + SECOND)
        for shard, job in jobs.items()
    }
    clock.advance(SECOND)

    promoted = await store.runs.promote(
        frozenset({2, 13}), until=clock.now(), lessee=Lessee(node, 9), limit=9, now=clock.now()
    )

    assert sorted(keys_of(promoted.leased)) == sorted([keys[2], keys[13]])
    assert await status_of(store, clock, keys[3]) is Status.QUEUED
    assert len(await promote(store, clock, node)) == 14


async def test_a_run_promoted_ahead_is_not_leased_by_others_before_its_instant(store, clock):
    node = await a_node(store, clock)
    key = await a_run(store, clock, due=clock.now() + SECOND)

    promoted = await promote_until(store, clock, node, clock.now() + SECOND, own=0)

    assert (promoted.leased, promoted.moved) == ([], 1)
    assert await lease(store, clock, node) == []
    assert await status_of(store, clock, key) is Status.SCHEDULED
    clock.advance(SECOND)
    assert keys_of(await lease(store, clock, node)) == [key]


@pytest.mark.parametrize("own", [0, 1])
async def test_a_promoted_run_takes_the_current_version_of_its_job(store, clock, own):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    await a_run(store, clock, job, due=clock.now() + MINUTE)
    await edit(store, clock, job, handler_url="http://127.0.0.1:9/mended")
    clock.advance(MINUTE)

    promoted = await promote(store, clock, node, own=own)

    [run] = promoted or await lease(store, clock, node)
    assert run.version == 2
    assert (await store.ledger.run(run.job, run.run, now=clock.now())).version == 2


async def test_a_promoted_retry_is_the_next_attempt_under_a_higher_fence(store, clock):
    node = await a_node(store, clock)
    first = await a_retry(store, clock, node, wait_us=MINUTE)
    clock.advance(MINUTE)

    [second] = await promote(store, clock, node)

    assert (second.job, second.run) == (first.job, first.run)
    assert (second.attempt, second.at, second.due) == (2, clock.now(), first.due)
    assert second.fence >= first.fence + 2  # the retry raised it, and so did the lease
    await finish(store, clock, node, second)
    assert await status_of(store, clock, second) is Status.SUCCEEDED


async def test_promoted_runs_come_in_the_order_in_which_they_may_start(store, clock):
    node = await a_node(store, clock)
    retried = await a_retry(store, clock, node, wait_us=2 * MINUTE)
    later = await a_run(store, clock, due=clock.now() + MINUTE)
    clock.advance(2 * MINUTE)

    promoted = await promote(store, clock, node)

    assert retried.due < promoted[0].due
    assert keys_of(promoted) == [later, key_of(retried)]


async def test_a_run_is_promoted_once(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    await a_run(store, clock, due=clock.now() + SECOND)
    clock.advance(SECOND)

    first = await promote(store, clock, node)
    second = await promote(store, clock, other)

    assert len(first) == 1
    assert second == []


async def test_a_promotion_tells_when_runs_come_up_for_anybody(store, clock):
    node = await a_node(store, clock)
    await a_one_off(store, clock, at=clock.now(), catch_up="none", catch_up_window_us=SECOND)
    clock.advance(MINUTE)
    mine, others, once = (clock.now() + s * SECOND for s in (1, 2, 3))
    for due in (mine, others):
        await a_run(store, clock, due=due)
    await a_one_off(store, clock, at=once, guarantee="at_most_once", retries=0)

    promoted = await promote_until(store, clock, node, once, own=1)

    assert [run.at for run in promoted.leased] == [mine]
    assert (promoted.moved, promoted.unowned) == (4, (others, once))


async def test_an_expired_run_counts_as_moved_and_is_leased_to_nobody(store, clock):
    node = await a_node(store, clock)
    await a_one_off(store, clock, at=clock.now(), catch_up="none", catch_up_window_us=SECOND)
    fresh = await a_run(store, clock, due=clock.now() + MINUTE)
    clock.advance(MINUTE)

    promoted = await promote_until(store, clock, node, clock.now())

    assert keys_of(promoted.leased) == [fresh]
    assert promoted.moved == 2
    assert await lease(store, clock, node) == []


async def test_a_run_of_a_deleted_job_is_not_promoted(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    key = await a_run(store, clock, job, due=clock.now() + SECOND)
    await delete(store, clock, job)
    clock.advance(HOUR)

    assert await promote_until(store, clock, node, clock.now()) == Promoted([], 0)

    assert await status_of(store, clock, key) is Status.CANCELLED


async def test_a_dead_node_promotes_nothing(store, clock):
    node = await a_node(store, clock)
    key = await a_run(store, clock, due=clock.now() + SECOND)
    await kill(store, clock, node)
    clock.advance(SECOND)

    with pytest.raises(NodeDead):
        await promote(store, clock, node)

    heir = await a_node(store, clock)
    assert keys_of(await promote(store, clock, heir)) == [key]


async def test_only_runs_of_the_given_queues_are_leased_to_the_node(store, clock):
    node = await a_node(store, clock)
    for queue in ("mail", "reports", "mail"):
        job = await a_job(store, clock, queue=queue)
        await a_run(store, clock, job, due=clock.now() + SECOND)
    clock.advance(SECOND)

    promoted = await store.runs.promote(
        ALL_SHARDS,
        until=clock.now(),
        lessee=Lessee(node, 2, Lanes(("mail",))),
        limit=PLENTY,
        now=clock.now(),
    )

    assert [queue_of(run.lane) for run in promoted.leased] == ["mail", "mail"]
    assert promoted.moved == 3
    assert [queue_of(run.lane) for run in await lease(store, clock, node)] == ["reports"]
