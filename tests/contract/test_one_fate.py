"""An instant of one schedule may be one of another schedule of the same job: it has one fate."""

from __future__ import annotations

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.model import Once, occurrence
from onthedot.core.schedules import Cron
from onthedot.core.states import Status
from onthedot.store.claims import Lessee
from tests.support.builders import (
    ALL_SHARDS,
    PLENTY,
    a_job,
    a_node,
    a_one_off,
    claim,
    delete,
    edit,
    every,
    finish,
    ledger_of,
    promote,
)


async def test_a_one_off_claimed_ahead_is_not_fired_again_by_a_recurring_version(store, clock):
    node = await a_node(store, clock)
    clock.advance(MINUTE - clock.now() % MINUTE - SECOND // 2)
    at = clock.now() + SECOND // 2
    job = await a_one_off(store, clock, at=at)
    promoted = await store.runs.promote(
        ALL_SHARDS, until=at, lessee=Lessee(node, 1), limit=PLENTY, now=clock.now()
    )

    await edit(store, clock, job, schedule=Cron.parse("* * * * *"))
    fired = await claim(store, clock, node)
    clock.advance(MINUTE)
    fired += await claim(store, clock, node)

    assert [run.due for run in promoted.leased] == [at]
    assert [run.due for run in fired] == [at + MINUTE]


async def test_an_instant_that_was_cancelled_ahead_is_not_fired_by_a_recurring_version(
    store, clock
):
    node = await a_node(store, clock)
    at = clock.now() - clock.now() % HOUR + HOUR
    job = await a_one_off(store, clock, at=at)
    await store.runs.cancel(job.id, occurrence(at), now=clock.now())

    await edit(store, clock, job, schedule=Cron.parse("0 * * * *"))
    clock.advance(at + HOUR - clock.now())
    fired = await claim(store, clock, node)
    await finish(store, clock, node, *fired)

    assert [run.due for run in fired] == [at + HOUR]
    seen = [(view.due, view.status) for view in await ledger_of(store, clock, job.id)]
    assert sorted(seen) == [(at, Status.CANCELLED), (at + HOUR, Status.SUCCEEDED)]


async def test_an_occurrence_left_by_an_earlier_version_is_not_run_again_as_a_one_off(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    due = clock.now() + 10 * SECOND
    clock.advance(12 * SECOND)
    await edit(store, clock, job, name="renamed")

    await edit(store, clock, job, schedule=Once(due))
    runs = await claim(store, clock, node) + await promote(store, clock, node)
    await finish(store, clock, node, *runs)
    clock.advance(MINUTE)
    later = await claim(store, clock, node) + await promote(store, clock, node)

    assert [run.due for run in runs] == [due]
    assert later == []


async def test_a_delete_reaches_what_earlier_versions_left_unfired(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(12 * SECOND)
    await edit(store, clock, job, name="renamed")
    clock.advance(5 * SECOND)

    await delete(store, clock, job)
    fired = await claim(store, clock, node)

    assert fired == []
    [record] = await ledger_of(store, clock, job.id)
    assert (record.status, record.count, record.reason) == (Status.SKIPPED, 1, "job deleted")
