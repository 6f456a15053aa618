"""The outbox: a failed run whose job asks for it leaves one notice, which goes out until it is
delivered or given up."""

from __future__ import annotations

import pytest

from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND
from onthedot.core.states import Status
from onthedot.errors import NodeDead
from onthedot.store.values import Delivery, NoticeView
from tests.support.builders import (
    PLENTY,
    a_held_run,
    a_job,
    a_node,
    delete,
    edit,
    failed,
    finish,
    key_of,
    keys_of,
    kill,
    prune,
    succeeded,
)

URL = "https://example.com/pager"
LEASE = 30 * SECOND


async def fail(store, clock, node, *runs, **fields):
    outcomes = [failed(run, clock, **fields) for run in runs]
    return await store.runs.finish(node, outcomes, now=clock.now())


async def a_notice(store, clock, node, **fields):
    """A run that failed, of a job that asks to be told; returned as it was held."""
    job = await a_job(store, clock, on_failure_url=URL, **fields)
    held = await a_held_run(store, clock, node, job)
    await fail(store, clock, node, held)
    return held


async def take(store, clock, limit=PLENTY):
    return await store.outbox.take(limit=limit, until=clock.now() + LEASE, now=clock.now())


async def settle(store, clock, notice, **fields):
    delivery = Delivery(notice.job, notice.run, notice.tries, **fields)
    return await store.outbox.settle([delivery], now=clock.now())


async def test_a_run_that_failed_leaves_a_notice_with_all_that_is_said_of_it(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, name="reindex", key="shop/reindex", on_failure_url=URL)
    held = await a_held_run(store, clock, node, job)
    clock.advance(SECOND)
    await fail(store, clock, node, held, reason="out of attempts")

    [notice] = await take(store, clock)

    assert key_of(notice) == key_of(held)
    assert (notice.url, notice.job_name, notice.job_key) == (URL, "reindex", "shop/reindex")
    assert (notice.status, notice.due, notice.attempt) == (Status.FAILED, held.due, 1)
    assert notice.failed_at == clock.now()
    assert (notice.error, notice.reason) == ("HTTP 500 Internal Server Error", "out of attempts")
    assert notice.tries == 1


async def test_a_lost_run_leaves_a_notice_too(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, on_failure_url=URL)
    held = await a_held_run(store, clock, node, job)
    lost = succeeded(held, clock, status=Status.LOST, reason="nobody knows")

    await store.runs.finish(node, [lost], now=clock.now())

    assert [notice.status for notice in await take(store, clock)] == [Status.LOST]


async def test_only_a_failure_for_good_of_a_job_that_asks_leaves_a_notice(store, clock):
    node = await a_node(store, clock)
    unasked = await a_held_run(store, clock, node)
    await fail(store, clock, node, unasked)
    asking = await a_job(store, clock, on_failure_url=URL)
    good = await a_held_run(store, clock, node, asking)
    await finish(store, clock, node, good)
    again = await a_held_run(store, clock, node, asking)
    await fail(store, clock, node, again, retry_at=clock.now() + MINUTE)
    ended = await a_held_run(store, clock, node, asking)
    outcome = succeeded(ended, clock, status=Status.CANCELLED)
    await store.runs.finish(node, [outcome], now=clock.now())

    assert await take(store, clock) == []


async def test_a_failed_attempt_of_a_run_that_was_cancelled_leaves_none(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, on_failure_url=URL)
    held = await a_held_run(store, clock, node, job)
    await store.runs.cancel(held.job, held.run, now=clock.now())

    await fail(store, clock, node, held, retry_at=clock.now() + MINUTE)

    assert await take(store, clock) == []


async def test_an_outcome_that_is_repeated_or_stale_leaves_no_second_notice(store, clock):
    node = await a_node(store, clock)
    held = await a_notice(store, clock, node)
    [notice] = await take(store, clock)
    await settle(store, clock, notice)

    repeated = await fail(store, clock, node, held)
    stale = await fail(store, clock, node, held._replace(fence=held.fence - 1))

    assert (repeated.repeated, stale.stale) == (1, 1)
    clock.advance(HOUR)
    assert await take(store, clock) == []


async def test_a_dead_node_leaves_no_notice(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, on_failure_url=URL)
    held = await a_held_run(store, clock, node, job)
    await kill(store, clock, node)

    with pytest.raises(NodeDead):
        await fail(store, clock, node, held)

    assert await take(store, clock) == []


async def test_whoever_the_job_names_when_its_run_fails_is_told(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, on_failure_url=URL)
    mended = await a_held_run(store, clock, node, job)
    await edit(store, clock, job, on_failure_url="https://example.com/other")
    await fail(store, clock, node, mended)
    silenced = await a_held_run(store, clock, node, job)
    await edit(store, clock, job, on_failure_url="")
    await fail(store, clock, node, silenced)

    assert [notice.url for notice in await take(store, clock)] == ["https://example.com/other"]


async def test_a_notice_outlives_its_job(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, name="reindex", on_failure_url=URL)
    held = await a_held_run(store, clock, node, job)
    await fail(store, clock, node, held)
    await delete(store, clock, job)

    assert [notice.job_name for notice in await take(store, clock)] == ["reindex"]


async def test_what_somebody_has_taken_is_nobody_elses_until_its_lease_is_over(store, clock):
    node = await a_node(store, clock)
    held = await a_notice(store, clock, node)

    first = await take(store, clock)
    at_once = await take(store, clock)
    clock.advance(LEASE)
    later = await take(store, clock)

    assert keys_of(first) == keys_of(later) == [key_of(held)]
    assert at_once == []
    assert [notice.tries for notice in (*first, *later)] == [1, 2]


async def test_the_longest_waiting_are_taken_first_and_no_more_than_asked(store, clock):
    node = await a_node(store, clock)
    waiting = []
    for _ in range(3):
        waiting.append(await a_notice(store, clock, node))
        clock.advance(SECOND)

    found = [*await take(store, clock, limit=1), *await take(store, clock, limit=1)]

    assert keys_of(found) == keys_of(waiting[:2])


async def test_a_delivered_notice_is_gone(store, clock):
    node = await a_node(store, clock)
    held = await a_notice(store, clock, node)
    [notice] = await take(store, clock)

    assert await settle(store, clock, notice) == 1

    clock.advance(DAY)
    assert await take(store, clock) == []
    assert await store.outbox.get(held.job, held.run) is None


async def test_a_notice_that_could_not_be_delivered_waits_for_its_next_try(store, clock):
    node = await a_node(store, clock)
    held = await a_notice(store, clock, node)
    [notice] = await take(store, clock)
    next_at = clock.now() + MINUTE

    assert await settle(store, clock, notice, trouble="HTTP 503", next_at=next_at) == 1

    assert await store.outbox.get(held.job, held.run) == NoticeView(
        url=URL, tries=1, at=next_at, given_up_at=None, trouble="HTTP 503"
    )
    clock.advance(MINUTE - 1)
    assert await take(store, clock) == []
    clock.advance(1)
    assert [notice.tries for notice in await take(store, clock)] == [2]


async def test_a_notice_that_is_given_up_is_never_taken_again_and_stays_to_be_seen(store, clock):
    node = await a_node(store, clock)
    held = await a_notice(store, clock, node)
    [notice] = await take(store, clock)
    given_up_at = clock.advance(MINUTE)

    assert await settle(store, clock, notice, trouble="HTTP 503") == 1

    clock.advance(DAY)
    assert await take(store, clock) == []
    assert await settle(store, clock, notice) == 0
    assert await store.outbox.get(held.job, held.run) == NoticeView(
        url=URL, tries=1, at=None, given_up_at=given_up_at, trouble="HTTP 503"
    )


async def test_who_took_a_notice_before_somebody_else_did_has_no_say_any_more(store, clock):
    node = await a_node(store, clock)
    await a_notice(store, clock, node)
    [slow] = await take(store, clock)
    clock.advance(LEASE)
    [quick] = await take(store, clock)

    assert await settle(store, clock, slow, trouble="timed out") == 0
    assert await settle(store, clock, slow) == 0
    assert await settle(store, clock, quick) == 1


async def test_many_are_settled_together_each_for_itself(store, clock):
    node = await a_node(store, clock)
    for _ in range(4):
        await a_notice(store, clock, node)
    done, late, over, stale = sorted(await take(store, clock))
    later = clock.now() + MINUTE

    settled = await store.outbox.settle(
        [
            Delivery(done.job, done.run, done.tries),
            Delivery(late.job, late.run, late.tries, "HTTP 500", later),
            Delivery(over.job, over.run, over.tries, "HTTP 500"),
            Delivery(stale.job, stale.run, stale.tries - 1),
        ],
        now=clock.now(),
    )

    assert settled == 3
    found = [await store.outbox.get(each.job, each.run) for each in (done, late, over, stale)]
    assert [view and view.at for view in found] == [None, later, None, clock.now() + LEASE]
    assert [view is None for view in found] == [True, False, False, False]


async def test_notices_on_their_way_and_given_up_ones_are_counted(store, clock):
    node = await a_node(store, clock)
    await a_notice(store, clock, node)
    [notice] = await take(store, clock)
    await settle(store, clock, notice, trouble="HTTP 500")
    await a_notice(store, clock, node)
    await a_notice(store, clock, node)

    found = await store.ledger.backlog(most=1_000, now=clock.now())
    capped = await store.ledger.backlog(most=1, now=clock.now())

    assert (found.notices, found.notices_given_up) == (2, 1)
    assert (capped.notices, capped.notices_given_up) == (1, 1)


async def test_pruning_forgets_notices_given_up_long_ago_and_none_that_is_on_its_way(store, clock):
    node = await a_node(store, clock)
    over = await a_notice(store, clock, node)
    [notice] = await take(store, clock)
    await settle(store, clock, notice, trouble="HTTP 500")
    waiting = await a_notice(store, clock, node)
    before = clock.advance(DAY)

    await prune(store, before=before)

    assert await store.outbox.get(over.job, over.run) is None
    assert await store.outbox.get(waiting.job, waiting.run) is not None
