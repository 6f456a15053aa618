"""Backfills: what never ran is run after all, and no record of an occurrence changes."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.backfilling import BackfillOptions
from onthedot.core.instants import DAY, HOUR, MINUTE, Instant
from onthedot.core.model import Job, is_occurrence
from onthedot.core.schedules import Cron
from onthedot.core.states import Status
from onthedot.errors import Invalid, NotFound
from onthedot.store.contract import Store
from onthedot.usecases import audit_walk
from onthedot.usecases.audit_walk import missing_of
from tests.contract.test_audit import audited
from tests.support.builders import (
    a_job,
    a_node,
    claim,
    delete,
    every,
    finish,
    lease,
    ledger_of,
    pause,
    prune,
    resume,
)
from tests.support.clock import ManualClock

HOURLY = Cron.parse("0 * * * *")


async def missing(store: Store, clock: ManualClock, job: Job, first: Instant) -> list[Instant]:
    return await missing_of(store, job.id, first=first, until=clock.now())


async def a_job_with_a_gap(store: Store, clock: ManualClock, node: int) -> tuple[Job, Instant]:
    """Paused for three hours, missed for two, and it ran once."""
    job = await a_job(store, clock, schedule=HOURLY, catch_up="none")
    start = clock.now()
    await pause(store, clock, job)
    clock.advance(3 * HOUR)
    await resume(store, clock, job)
    clock.advance(HOUR)
    await finish(store, clock, node, *await claim(store, clock, node))
    clock.advance(2 * HOUR + 2 * MINUTE)
    await claim(store, clock, node)
    return job, start


async def test_what_was_skipped_or_missed_is_missing_and_what_ran_is_not(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    job, start = await a_job_with_a_gap(store, clock, node)

    found = await missing(store, clock, job, start + 1)

    assert [(due - start) // HOUR for due in found] == [1, 2, 3, 5, 6]


async def test_before_it_was_made_the_first_version_says_what_would_have_been_due(
    store: Store, clock: ManualClock
) -> None:
    job = await a_job(store, clock, schedule=HOURLY)
    interval = await a_job(store, clock, schedule=every(60))

    found = await missing(store, clock, job, clock.now() - 3 * HOUR)

    assert found == [clock.now() - k * HOUR for k in (3, 2, 1, 0)]
    assert await missing(store, clock, interval, clock.now() - HOUR) == []


async def test_what_is_still_to_come_is_not_missing(store: Store, clock: ManualClock) -> None:
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(5 * MINUTE)

    assert await missing(store, clock, job, job.created_at + 1) == []


async def test_runs_are_made_so_many_at_a_time_in_order_and_with_low_priority(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    job, start = await a_job_with_a_gap(store, clock, node)
    before = await ledger_of(store, clock, job.id)
    dues = await missing(store, clock, job, start + 1)
    options = BackfillOptions(priority=1, concurrency=2, newest_first=True)

    begun = await store.backfills.begin(job.id, dues, options, now=clock.now())
    ran: list[Instant] = []
    for _ in range(9):
        await store.backfills.advance(limit=10, now=clock.now())
        assert await store.backfills.advance(limit=10, now=clock.now()) == 0
        held = await lease(store, clock, node)
        assert len(held) <= 2
        assert all(run.priority == 1 and not is_occurrence(run.run) for run in held)
        ran += [run.due for run in sorted(held, key=lambda run: -run.due)]
        await finish(store, clock, node, *held)
    [over] = await store.backfills.of_job(job.id, before=None, limit=10)

    assert ran == sorted(dues, reverse=True)
    assert (begun.total, over.made, over.ended_at) == (5, 5, clock.now())
    after = await ledger_of(store, clock, job.id)
    assert [each for each in after if is_occurrence(each.run)] == before
    made = [each for each in after if not is_occurrence(each.run)]
    assert {each.backfill_of for each in made} == {each.due for each in made} == set(dues)
    assert {each.status for each in made} == {Status.SUCCEEDED}
    assert await missing(store, clock, job, start + 1) == []
    assert not (await audited(store, clock, job)).faults


async def test_an_instant_is_backfilled_once_however_often_it_is_asked_for(
    store: Store, clock: ManualClock
) -> None:
    job = await a_job(store, clock, schedule=HOURLY)
    dues = [clock.now() - k * HOUR for k in range(5)]

    both = await asyncio.gather(
        *(store.backfills.begin(job.id, dues, BackfillOptions(), now=clock.now()) for _ in range(2))
    )
    made = await asyncio.gather(
        *(store.backfills.advance(limit=10, now=clock.now()) for _ in range(2))
    )
    made.append(await store.backfills.advance(limit=10, now=clock.now()))

    assert sorted(each.total for each in both) == [0, 5]
    assert sum(made) == 5


async def test_a_backfill_that_is_stopped_makes_no_more_and_frees_what_is_left(
    store: Store, clock: ManualClock
) -> None:
    job = await a_job(store, clock, schedule=HOURLY)
    first = clock.now() - 5 * HOUR
    dues = await missing(store, clock, job, first)
    begun = await store.backfills.begin(
        job.id, dues, BackfillOptions(concurrency=2), now=clock.now()
    )

    await store.backfills.advance(limit=10, now=clock.now())
    await store.backfills.stop(job.id, begun.number, now=clock.now())

    assert await store.backfills.advance(limit=10, now=clock.now()) == 0
    assert await missing(store, clock, job, first) == dues[2:]
    with pytest.raises(NotFound):
        await store.backfills.stop(job.id, begun.number + 1, now=clock.now())


async def test_a_backfill_ends_with_its_job(store: Store, clock: ManualClock) -> None:
    job = await a_job(store, clock, schedule=HOURLY)
    dues = await missing(store, clock, job, clock.now() - 5 * HOUR)
    await store.backfills.begin(job.id, dues, BackfillOptions(concurrency=2), now=clock.now())

    await delete(store, clock, job)

    assert await store.backfills.advance(limit=10, now=clock.now()) == 0
    [over] = await store.backfills.of_job(job.id, before=None, limit=10)
    assert over.ended_at == clock.now()
    with pytest.raises(NotFound):
        await store.backfills.begin(job.id, dues, BackfillOptions(), now=clock.now())


async def test_what_is_too_much_or_cannot_be_told_is_refused_with_the_next_step(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await a_job(store, clock, schedule=HOURLY)
    monkeypatch.setattr(audit_walk, "BACKFILL_MAX", 3)

    with pytest.raises(Invalid) as refusal:
        await missing(store, clock, job, clock.now() - DAY)
    assert "the first one until" in refusal.value.hint

    clock.advance(2 * DAY)
    edge = clock.now() - DAY
    await store.upkeep.prune(before=edge, keys_before=edge, limit=10)
    with pytest.raises(Invalid) as forgotten:
        await missing(store, clock, job, edge - HOUR)
    assert forgotten.value.field == "from"


async def test_old_backfills_are_forgotten(store: Store, clock: ManualClock) -> None:
    job = await a_job(store, clock, schedule=HOURLY)
    await store.backfills.begin(job.id, [clock.now() - HOUR], BackfillOptions(), now=clock.now())
    await store.backfills.advance(limit=10, now=clock.now())
    node = await a_node(store, clock)
    await finish(store, clock, node, *await lease(store, clock, node))
    await store.backfills.advance(limit=10, now=clock.now())

    clock.advance(DAY)
    await prune(store, before=clock.now())

    assert await store.backfills.of_job(job.id, before=None, limit=10) == []
    known = await store.backfills.known(job.id, after=0, until=clock.now(), limit=10)
    assert known == []
