"""Jobs with a fixed delay: whoever ends the run of one makes the next, and nobody else does."""

from __future__ import annotations

from itertools import pairwise

import pytest

from onthedot.core.instants import HOUR, MINUTE
from onthedot.core.model import CatchUpLimits, Lanes, occurrence
from onthedot.core.states import Status
from onthedot.errors import LeaseLost
from onthedot.store.values import CancelVerdict
from tests.support.builders import (
    RunKey,
    a_node,
    a_run,
    claim,
    failed,
    finish,
    kill,
    lease,
    ledger_of,
    promote,
    ref,
    status_of,
    succeeded,
)
from tests.support.chains import QUARTER, a_chain, fates_of, the_link, waiting_of


async def test_the_first_is_due_one_delay_after_the_creation(store, clock):
    node = await a_node(store, clock)
    created = clock.now()
    job = await a_chain(store, clock)

    early = await promote(store, clock, node)
    run = await the_link(store, clock, node, job)

    assert early == []
    assert (run.run, run.due, run.attempt) == (occurrence(created + QUARTER), clock.now(), 1)
    assert clock.now() == created + QUARTER
    assert await claim(store, clock, node, ahead=HOUR) == [], "nothing of it is in the clock"


async def test_the_next_counts_from_the_end_of_the_last(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)

    under_way = await store.jobs.get(job.id)
    clock.advance(7 * MINUTE)
    done = await store.runs.finish(node, [succeeded(run, clock)], now=clock.now())

    assert under_way.link == run.due
    assert (done.accepted, done.retry_at) == (1, clock.now() + QUARTER)
    assert (await store.jobs.get(job.id)).link == clock.now() + QUARTER
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_it_goes_on_turn_after_turn(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)

    for _ in range(5):
        run = await the_link(store, clock, node, job)
        clock.advance(MINUTE)
        await finish(store, clock, node, run)

    views = [view for view in await ledger_of(store, clock, job.id) if view.finished_at]
    gaps = {later.due - (earlier.finished_at or 0) for later, earlier in pairwise(views)}
    assert (len(views), gaps) == (5, {QUARTER})


async def test_an_end_that_is_told_twice_makes_one_next(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    outcome = succeeded(run, clock)

    first = await store.runs.finish(node, [outcome], now=clock.now())
    clock.advance(MINUTE)
    again = await store.runs.finish(node, [outcome], now=clock.now())

    assert (first.accepted, again.accepted, again.repeated) == (1, 0, 1)
    assert len(await waiting_of(store, clock, job)) == 1


async def test_a_stale_owner_moves_no_chain(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    await store.runs.release(node, [ref(run)], now=clock.now())
    [taken] = await lease(store, clock, other)

    late = await store.runs.finish(node, [succeeded(run, clock)], now=clock.now())

    assert (late.accepted, late.stale) == (0, 1)
    assert await waiting_of(store, clock, job) == []
    await finish(store, clock, other, taken)
    assert len(await waiting_of(store, clock, job)) == 1


async def test_a_retry_is_not_an_end(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock, retries=1)
    run = await the_link(store, clock, node, job)

    again = clock.now() + MINUTE
    await store.runs.finish(node, [failed(run, clock, retry_at=again)], now=clock.now())
    between = await store.jobs.get(job.id)
    clock.advance(MINUTE)
    [second] = await promote(store, clock, node)
    await store.runs.finish(node, [failed(second, clock)], now=clock.now())

    assert between.link == run.due
    assert (second.run, second.attempt) == (run.run, 2)
    assert await waiting_of(store, clock, job) == [again + QUARTER]


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED, Status.LOST])
async def test_it_goes_on_whatever_came_of_the_last(store, clock, status):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)

    clock.advance(MINUTE)
    outcome = succeeded(run, clock, status=status, error="no use")
    await store.runs.finish(node, [outcome], now=clock.now())

    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_it_goes_on_beside_other_runs_of_the_same_group(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    plain = await a_run(store, clock)
    clock.advance(QUARTER)
    runs = [*await promote(store, clock, node), *await lease(store, clock, node)]

    await finish(store, clock, node, *runs)

    assert {(run.job, run.run) for run in runs} == {plain, RunKey(job.id, runs[0].run)}
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_a_run_that_was_cancelled_before_its_instant_still_has_its_turn(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    due = clock.now() + QUARTER

    clock.advance(MINUTE)
    verdict = await store.runs.cancel(job.id, occurrence(due), now=clock.now())
    run = await the_link(store, clock, node, job)

    assert verdict is CancelVerdict.CANCELLED
    assert run.due == due + QUARTER
    assert await fates_of(store, clock, job) == [Status.CANCELLED, Status.QUEUED]


async def test_a_run_that_nobody_holds_is_cancelled_and_the_next_one_comes(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    await store.runs.release(node, [ref(run)], now=clock.now())

    clock.advance(MINUTE)
    await store.runs.cancel(job.id, run.run, now=clock.now())

    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_a_held_run_that_is_cancelled_and_given_back_goes_on(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    await store.runs.cancel(job.id, run.run, now=clock.now())

    clock.advance(MINUTE)
    await store.runs.release(node, [ref(run)], now=clock.now())

    assert await status_of(store, clock, run) is Status.CANCELLED
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_a_retry_that_a_cancel_forestalls_goes_on(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock, retries=3)
    run = await the_link(store, clock, node, job)
    await store.runs.cancel(job.id, run.run, now=clock.now())

    outcome = failed(run, clock, retry_at=clock.now() + HOUR)
    await store.runs.finish(node, [outcome], now=clock.now())

    assert await status_of(store, clock, run) is Status.CANCELLED
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_a_rescue_is_no_end(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)

    await kill(store, clock, node)
    await store.runs.rescue(limit=10, now=clock.now())
    during = await waiting_of(store, clock, job)
    [taken] = await lease(store, clock, other)
    await finish(store, clock, other, taken)

    assert (during, taken.run) == ([], run.run)
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_a_rescue_that_finds_a_wish_to_end_goes_on(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    await store.runs.cancel(job.id, run.run, now=clock.now())

    await kill(store, clock, node)
    await store.runs.rescue(limit=10, now=clock.now())

    assert await status_of(store, clock, run) is Status.CANCELLED
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_what_may_start_once_goes_on_when_it_is_lost(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock, guarantee="at_most_once")
    clock.advance(QUARTER)
    assert await promote(store, clock, node) == []
    [run] = await lease(store, clock, node)

    await kill(store, clock, node)
    clock.advance(MINUTE)
    await store.runs.rescue(limit=10, now=clock.now())

    assert run.at_most_once
    assert await status_of(store, clock, run) is Status.LOST
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_a_completion_within_a_transaction_goes_on(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock, handler="shop.bill", handler_url="")
    clock.advance(QUARTER)
    await promote(store, clock, node, own=0)
    [run] = await store.runs.lease(
        node, Lanes(functions=frozenset({"shop.bill"})), limit=1, now=clock.now()
    )

    started = clock.now()
    clock.advance(MINUTE)
    await store.runs.complete(ref(run), 1, [], started=started, now=clock.now())

    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]
    with pytest.raises(LeaseLost):
        await store.runs.complete(ref(run), 1, [], started=started, now=clock.now())
    assert len(await waiting_of(store, clock, job)) == 1


async def test_after_an_outage_there_is_one_run(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    due = clock.now() + QUARTER

    clock.advance(24 * HOUR)
    [run] = await promote(store, clock, node)
    await finish(store, clock, node, run)

    assert run.due == due
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]


async def test_what_is_too_late_is_missed_and_the_next_counts_from_then(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock, catch_up="none", catch_up_window_us=MINUTE)
    other = await a_chain(store, clock, catching=CatchUpLimits(age_us=HOUR))

    clock.advance(QUARTER + HOUR - MINUTE)
    [run] = await promote(store, clock, node)

    assert run.job == other.id
    assert await fates_of(store, clock, job) == [Status.MISSED, Status.SCHEDULED]
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]
    [_, missed] = await ledger_of(store, clock, job.id)
    assert (missed.attempt, missed.reason) == (
        0,
        "nobody claimed it within its window, catchUp is none",
    )


async def test_a_trigger_and_its_end_leave_the_chain_alone(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    before = await store.jobs.get(job.id)
    await a_run(store, clock, job)
    [triggered] = await lease(store, clock, node)

    await finish(store, clock, node, triggered)

    assert (await store.jobs.get(job.id)).link == before.link
    assert await waiting_of(store, clock, job) == [before.link]


async def test_a_letter_that_is_redriven_leaves_the_chain_alone(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    await store.runs.finish(node, [failed(run, clock)], now=clock.now())
    chained = await waiting_of(store, clock, job)

    await store.dead_letters.redrive(job.id, run.run, now=clock.now())
    [again] = await lease(store, clock, node)
    await finish(store, clock, node, again)

    assert await waiting_of(store, clock, job) == chained
