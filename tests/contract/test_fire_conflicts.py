"""Two schedulers, a user and a grave: a plan is carried out whole or refused whole."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.firing import plan_firings
from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.states import Status
from onthedot.errors import NodeDead, Taken
from tests.support.builders import (
    ALL_SHARDS,
    PLENTY,
    a_job,
    a_node,
    claim,
    delete,
    edit,
    every,
    fire,
    jobs_in_every_shard,
    kill,
    ledger_of,
    pause,
    plan,
    standing_of,
)


async def everything(store, clock, *jobs):
    """All that a refused plan must leave as it was."""
    entries = await store.clock.peek(ALL_SHARDS, until=clock.now() + HOUR, limit=PLENTY)
    return entries, [await ledger_of(store, clock, job.id) for job in jobs]


async def test_of_two_plans_from_one_peek_the_second_is_refused(store, clock):
    first, second = await a_node(store, clock), await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(HOUR)
    plans = [await plan(store, clock), await plan(store, clock)]
    won = await fire(store, clock, first, plans[0])
    before = await everything(store, clock, job)

    with pytest.raises(Taken):
        await fire(store, clock, second, plans[1])

    assert len(won) == 2
    assert await everything(store, clock, job) == before
    assert await store.runs.owned(second) == []


async def test_a_plan_is_refused_whole_if_one_of_its_entries_is_gone(store, clock):
    node = await a_node(store, clock)
    taken = await a_job(store, clock, schedule=every(60))
    left = await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)
    both = await plan(store, clock)
    await fire(store, clock, node, await plan_of(store, clock, taken))
    before = await everything(store, clock, taken, left)

    with pytest.raises(Taken):
        await fire(store, clock, node, both)

    assert await everything(store, clock, taken, left) == before
    assert [run.job for run in await claim(store, clock, node)] == [left.id]


@pytest.mark.parametrize("change", [edit, pause, delete])
async def test_a_cut_that_came_after_the_peek_refuses_the_plan(store, clock, change):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)
    planned = await plan(store, clock)
    await change(store, clock, job)
    before = await everything(store, clock, job)

    with pytest.raises(Taken):
        await fire(store, clock, node, planned)

    assert await everything(store, clock, job) == before
    assert await store.runs.owned(node) == []


async def test_a_delete_after_the_peek_refuses_a_plan_that_knew_of_an_earlier_cut(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(62 * SECOND)
    await edit(store, clock, job, name="renamed")
    planned = await plan(store, clock)
    await delete(store, clock, job)

    with pytest.raises(Taken):
        await fire(store, clock, node, planned)

    assert await claim(store, clock, node) == []
    [record] = await ledger_of(store, clock, job.id)
    assert (record.status, record.reason) == (Status.SKIPPED, "job deleted")


async def test_a_refused_plan_succeeds_when_it_is_made_again(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    due = clock.advance(60 * SECOND)
    planned = await plan(store, clock)
    await edit(store, clock, job, name="renamed")
    with pytest.raises(Taken):
        await fire(store, clock, node, planned)

    runs = await claim(store, clock, node)

    assert [(run.version, run.due) for run in runs] == [(1, due)]


async def test_an_edit_of_one_job_does_not_refuse_a_plan_for_another(store, clock):
    node = await a_node(store, clock)
    edited = await a_job(store, clock, schedule=every(60))
    fired = await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)
    planned = await plan_of(store, clock, fired)

    await edit(store, clock, edited, name="renamed")

    assert [run.job for run in await fire(store, clock, node, planned)] == [fired.id]


async def test_schedulers_that_claim_at_once_fire_an_occurrence_once(store, clock):
    nodes = [await a_node(store, clock) for _ in range(4)]
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)

    answers = await asyncio.gather(
        *(claim(store, clock, node) for node in nodes), return_exceptions=True
    )

    lost = [answer for answer in answers if isinstance(answer, BaseException)]
    assert all(isinstance(error, Taken) for error in lost), lost
    runs = [run for answer in answers if isinstance(answer, list) for run in answer]
    assert len(runs) == 1
    assert len(await ledger_of(store, clock, job.id)) == 1


async def test_a_dead_node_cannot_fire(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(HOUR)
    planned = await plan(store, clock)
    await kill(store, clock, node)
    before = await everything(store, clock, job)

    with pytest.raises(NodeDead):
        await fire(store, clock, node, planned)

    assert await everything(store, clock, job) == before
    current = await standing_of(store, clock, job)
    assert current.horizon < planned.until


async def test_a_claim_raises_the_horizon_to_its_end(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)

    await claim(store, clock, node, ahead=SECOND)

    current = await standing_of(store, clock, job)
    assert current.horizon == clock.now() + SECOND
    assert current.cut == clock.now() + SECOND


async def test_a_claim_never_lowers_the_horizon(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)
    await claim(store, clock, node, ahead=30 * SECOND)
    horizon = clock.now() + 30 * SECOND
    # An entry behind the horizon brings the shard into a claim that ends before it.
    await jobs_in_every_shard(store, clock, schedule=every(1))
    clock.advance(SECOND)

    runs = await claim(store, clock, node, ahead=0)

    assert job.shard in {run.job % 16 for run in runs}
    assert (await standing_of(store, clock, job)).horizon == horizon


async def test_a_claim_leaves_the_horizon_of_other_shards_alone(store, clock):
    node = await a_node(store, clock)
    jobs = await jobs_in_every_shard(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)

    await fire(store, clock, node, await plan_of(store, clock, jobs[5]))

    assert (await standing_of(store, clock, jobs[5])).horizon == clock.now() + SECOND
    assert (await standing_of(store, clock, jobs[6])).horizon <= clock.now()


async def test_a_refused_plan_writes_no_record_of_what_was_missed(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60), catch_up="all")
    clock.advance(HOUR)
    planned = await plan(store, clock)
    await edit(store, clock, job, name="renamed")
    assert planned.runs
    assert planned.later

    with pytest.raises(Taken):
        await fire(store, clock, node, planned)

    assert await ledger_of(store, clock, job.id) == []
    clock.advance(MINUTE)
    await claim(store, clock, node)
    statuses = {view.status for view in await ledger_of(store, clock, job.id)}
    assert statuses == {Status.QUEUED, Status.SCHEDULED}


async def plan_of(store, clock, job):
    """A plan for the entries of one job alone."""
    until = clock.now() + SECOND
    peeked = await store.clock.peek(ALL_SHARDS, until=until, limit=PLENTY)
    rules = await store.clock.rules([entry.rule for entry in peeked.entries])
    entries = [entry for entry in peeked.entries if entry.job == job.id]
    return plan_firings(
        entries, peeked.cuts, rules, now=clock.now(), until=until, source=peeked.source
    )
