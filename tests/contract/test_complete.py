"""What a function writes together with the completion of its run: all of it, once, or nothing."""

from __future__ import annotations

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.model import RunRef
from onthedot.core.states import Status
from onthedot.errors import LeaseLost, NodeDead, StatementFailed
from onthedot.store.claims import Finished
from onthedot.store.transactions import Statement
from onthedot.store.values import Rescued
from tests.support.builders import (
    a_held_run,
    a_job,
    a_node,
    failed,
    kill,
    lease,
    ref,
    status_of,
    succeeded,
    view,
)

INSTALL = Statement("create table invoice (customer integer primary key, cents integer)")
COUNT = Statement("select count(*) as n from invoice")


async def a_table(store, clock, node: int) -> None:
    run = await a_held_run(store, clock, node)
    drop = Statement("drop table if exists invoice")
    await complete(store, clock, run, drop, INSTALL)


async def complete(store, clock, run, *statements: Statement) -> None:
    await store.runs.complete(
        ref(run), run.attempt, statements, started=clock.now(), now=clock.now()
    )


def invoice(customer: int, cents: int = 900) -> Statement:
    return Statement(f"insert into invoice (customer, cents) values ({customer}, {cents})")


async def written(store) -> int:
    return int((await store.runs.query(COUNT)).rows[0][0])


async def test_what_is_written_and_the_success_come_together(store, clock):
    node = await a_node(store, clock)
    await a_table(store, clock, node)
    run = await a_held_run(store, clock, node)

    await complete(store, clock, run, invoice(1), invoice(2))

    seen = await view(store, clock, run)
    assert (seen.status, seen.attempt, seen.node) == (Status.SUCCEEDED, 1, node)
    assert (seen.started_at, seen.finished_at) == (clock.now(), clock.now())
    assert await written(store) == 2
    assert await store.runs.owned(node) == []


async def test_values_are_bound_and_many_are_one_statement(store, clock):
    node = await a_node(store, clock)
    await a_table(store, clock, node)
    run = await a_held_run(store, clock, node)

    insert = Statement("insert into invoice (customer, cents) values ($1, $2)", [(7, 1), (8, 2)])
    await complete(store, clock, run, insert)

    read = Statement("select customer, cents from invoice where cents > $1 order by 1", [(1,)])
    assert await store.runs.query(read) == (["customer", "cents"], [[8, 2]])


async def test_a_finish_that_follows_is_a_repeat_whatever_it_says(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await complete(store, clock, run)

    again = await store.runs.finish(node, [succeeded(run, clock)], now=clock.now())
    retry = failed(run, clock, retry_at=clock.now() + SECOND)
    never = await store.runs.finish(node, [retry], now=clock.now())

    assert again == never == Finished(0, 1, 0, None)
    assert await status_of(store, clock, run) is Status.SUCCEEDED


async def test_a_statement_that_fails_leaves_nothing_behind_and_the_run_held(store, clock):
    node = await a_node(store, clock)
    await a_table(store, clock, node)
    run = await a_held_run(store, clock, node)

    with pytest.raises(StatementFailed, match=r"unique|UNIQUE"):
        await complete(store, clock, run, invoice(1), invoice(2), invoice(1))

    assert await written(store) == 0
    assert await store.runs.owned(node) == [ref(run)]
    await complete(store, clock, run, invoice(1))


async def test_who_has_lost_the_lease_writes_nothing(store, clock):
    node, heir = await a_node(store, clock), await a_node(store, clock)
    await a_table(store, clock, heir)
    run = await a_held_run(store, clock, node)
    await kill(store, clock, node)
    with pytest.raises(NodeDead):
        await complete(store, clock, run, invoice(1))
    assert await store.runs.rescue(limit=10, now=clock.now()) == Rescued(1)

    with pytest.raises(LeaseLost):
        await complete(store, clock, run, invoice(1))
    [again] = await lease(store, clock, heir)
    with pytest.raises(LeaseLost):
        await complete(store, clock, run, invoice(1))
    await complete(store, clock, again, invoice(1))

    assert await written(store) == 1
    assert (await view(store, clock, run)).rescues == 1


@pytest.mark.parametrize(("fence", "attempt"), [(1, 0), (-1, 0), (0, 1), (0, -1)])
async def test_fence_and_attempt_must_both_be_those_of_the_lease(store, clock, fence, attempt):
    node = await a_node(store, clock)
    await a_table(store, clock, node)
    run = await a_held_run(store, clock, node)
    other = run._replace(fence=run.fence + fence, attempt=run.attempt + attempt)

    with pytest.raises(LeaseLost):
        await complete(store, clock, other, invoice(1))

    assert await written(store) == 0
    assert await store.runs.owned(node) == [ref(run)]


async def test_a_run_is_completed_once(store, clock):
    node = await a_node(store, clock)
    await a_table(store, clock, node)
    run = await a_held_run(store, clock, node)
    await complete(store, clock, run, invoice(1))

    with pytest.raises(LeaseLost):
        await complete(store, clock, run, invoice(2))

    assert await written(store) == 1


async def test_a_cancel_that_comes_too_late_leaves_no_wish_behind(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await store.runs.cancel(run.job, run.run, now=clock.now())

    await complete(store, clock, run)

    assert await status_of(store, clock, run) is Status.SUCCEEDED
    assert await store.runs.signals(node) == []


async def test_nobody_completes_what_nobody_holds(store, clock):
    job = await a_job(store, clock)
    made = await store.runs.enqueue(job.id, due=clock.now(), payload=None, now=clock.now())

    with pytest.raises(LeaseLost):
        await store.runs.complete(
            RunRef(job.id, made.run, 0), 1, [], started=clock.now(), now=clock.now()
        )


async def test_what_cannot_be_read_is_refused(store):
    with pytest.raises(StatementFailed):
        await store.runs.query(Statement("select nonsense from nowhere"))
