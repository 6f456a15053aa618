"""Who may take a run: workers of its queue and, if it calls a function, those that have it."""

from __future__ import annotations

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.model import CALLBACKS, Lanes
from onthedot.core.traits import AT_MOST_ONCE
from onthedot.store.claims import Lessee
from tests.support.builders import (
    ALL_SHARDS,
    PLENTY,
    a_job,
    a_node,
    a_run,
    edit,
    every,
    plan,
)

BILLING = Lanes((), frozenset({"shop.bill"}))


async def test_a_run_of_a_function_waits_for_a_worker_that_has_it(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, handler_url="", handler="shop.bill")
    run = await a_run(store, clock, job)

    without = await store.runs.lease(node, CALLBACKS, limit=PLENTY, now=clock.now())
    others = Lanes((), frozenset({"shop.mail"}))
    with_another = await store.runs.lease(node, others, limit=PLENTY, now=clock.now())
    [leased] = await store.runs.lease(node, BILLING, limit=PLENTY, now=clock.now())

    assert (without, with_another) == ([], [])
    assert (leased.job, leased.run) == (run.job, run.run)


async def test_runs_that_nobody_can_execute_stand_in_nobodys_way(store, clock):
    node = await a_node(store, clock)
    stuck = await a_job(store, clock, handler_url="", handler="gone", priority=9)
    for _ in range(5):
        await a_run(store, clock, stuck)
    callback = await a_run(store, clock, await a_job(store, clock, priority=0))

    leased = await store.runs.lease(node, CALLBACKS, limit=1, now=clock.now())

    assert [(run.job, run.run) for run in leased] == [(callback.job, callback.run)]


@pytest.mark.parametrize("lanes", [CALLBACKS, BILLING])
async def test_a_claim_leases_functions_only_to_a_node_that_has_them(store, clock, lanes):
    node = await a_node(store, clock)
    callback = await a_job(store, clock, schedule=every(10))
    function = await a_job(store, clock, schedule=every(10), handler_url="", handler="shop.bill")
    clock.advance(10 * SECOND)

    planned = await plan(store, clock)
    fired = await store.clock.fire(planned, lessee=Lessee(node, 9, lanes), now=clock.now())

    expected = {callback.id, function.id} if lanes is BILLING else {callback.id}
    assert {run.job for run in fired} == expected


@pytest.mark.parametrize("lanes", [CALLBACKS, BILLING])
async def test_a_promotion_leases_functions_only_to_a_node_that_has_them(store, clock, lanes):
    node = await a_node(store, clock)
    job = await a_job(store, clock, handler_url="", handler="shop.bill")
    await store.runs.enqueue(job.id, due=clock.now() + SECOND, payload=None, now=clock.now())
    clock.advance(SECOND)

    lessee = Lessee(node, PLENTY, lanes)
    promoted = await store.runs.promote(
        ALL_SHARDS, until=clock.now(), lessee=lessee, limit=PLENTY, now=clock.now()
    )

    assert promoted.moved == 1
    assert len(promoted.leased) == (lanes is BILLING)


@pytest.mark.parametrize("delay", [0, SECOND])
async def test_a_run_that_nobody_holds_follows_an_edit_into_its_lane(store, clock, delay):
    node = await a_node(store, clock)
    job = await a_job(store, clock, handler_url="", handler="gone")
    await store.runs.enqueue(job.id, due=clock.now() + delay, payload=None, now=clock.now())

    await edit(store, clock, job, handler="shop.bill")
    clock.advance(delay)
    gone = Lessee(node, PLENTY, Lanes((), frozenset({"gone"})))
    await store.runs.promote(
        ALL_SHARDS, until=clock.now(), lessee=gone, limit=PLENTY, now=clock.now()
    )

    assert await store.runs.lease(node, gone.lanes, limit=PLENTY, now=clock.now()) == []
    [leased] = await store.runs.lease(node, BILLING, limit=PLENTY, now=clock.now())
    assert (leased.version, leased.lane) == (2, "default|default|shop.bill")


async def test_a_held_run_that_is_given_back_stands_in_the_lane_of_the_edit(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, handler_url="", handler="gone")
    await a_run(store, clock, job)
    gone = Lanes((), frozenset({"gone"}))
    await store.runs.lease(node, gone, limit=PLENTY, now=clock.now())

    await edit(store, clock, job, handler="shop.bill")
    await store.runs.release(node, await store.runs.owned(node), now=clock.now())
    await store.runs.lease(node, gone, limit=PLENTY, now=clock.now())
    await store.runs.release(node, await store.runs.owned(node), now=clock.now())

    assert len(await store.runs.lease(node, BILLING, limit=PLENTY, now=clock.now())) == 1


async def test_an_edit_writes_a_changed_policy_to_runs_that_nobody_holds(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, retries=0)
    held = await a_run(store, clock, job)
    await store.runs.lease(node, CALLBACKS, limit=PLENTY, now=clock.now())
    free = await a_run(store, clock, job)
    later = clock.now() + SECOND
    await store.runs.enqueue(job.id, due=later, payload=None, now=clock.now())

    await edit(store, clock, job, guarantee="at_most_once")

    # What is held was leased under the old promise, and is rescued by it.
    assert await traits_in(store, "run") == {held.run: 0, free.run: AT_MOST_ONCE}
    assert [*(await traits_in(store, "waiting")).values()] == [AT_MOST_ONCE]


async def traits_in(store, table: str) -> dict[int, int]:
    statement = f"select run, traits from {table}"
    database = store.upkeep._database
    if hasattr(database, "rows"):
        return dict(await database.rows(statement))
    return dict(await database.read(lambda db: db.execute(statement).fetchall()))
