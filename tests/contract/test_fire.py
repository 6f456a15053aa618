"""Carrying out a plan: runs, records, what is put back, what waits, what is over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onthedot.core.firing import Plan, plan_firings
from onthedot.core.instants import DAY, HOUR, INSTANT_MAX, MILLISECOND, MINUTE, SECOND
from onthedot.core.model import Lanes, LeasedRun, occurrence, queue_of
from onthedot.core.states import Status
from onthedot.store.claims import Lessee
from tests.support.builders import (
    ALL_SHARDS,
    PLENTY,
    RunKey,
    a_job,
    a_node,
    claim,
    edit,
    every,
    finish,
    fire,
    key_of,
    keys_of,
    lease,
    ledger_of,
    plan,
    promote,
    status_of,
    view,
)


async def test_a_due_occurrence_becomes_a_run_and_the_next_one_is_put_back(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    due = clock.advance(60 * SECOND)

    runs = await claim(store, clock, node)

    assert [(run.job, run.run, run.due) for run in runs] == [(job.id, occurrence(due), due)]
    peeked = await store.clock.peek(ALL_SHARDS, until=due + DAY, limit=PLENTY)
    assert [(entry.job, entry.due) for entry in peeked.entries] == [(job.id, due + 60 * SECOND)]


async def test_a_fresh_run_says_what_the_job_and_the_plan_say(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60), queue="mail", priority=7)
    due = clock.advance(60 * SECOND)

    [run] = await claim(store, clock, node)

    assert run == LeasedRun(
        job=job.id,
        run=occurrence(due),
        version=1,
        lane="default|mail|",
        traits=0,
        priority=7,
        due=due,
        at=due,
        attempt=1,
        rescues=0,
        fence=run.fence,
        payload=None,
    )
    await finish(store, clock, node, run)
    assert await status_of(store, clock, run) is Status.SUCCEEDED


async def test_the_first_own_runs_in_order_of_their_instant_are_leased_to_the_node(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    jobs = [await a_job(store, clock, schedule=every(s)) for s in (17, 12, 15, 10, 16, 11, 14, 13)]
    start = clock.now()
    clock.advance(17 * SECOND)

    own = await claim(store, clock, node, own=3)

    assert sorted(run.due - start for run in own) == [10 * SECOND, 11 * SECOND, 12 * SECOND]
    assert sorted(await store.runs.owned(node)) == sorted((r.job, r.run, r.fence) for r in own)
    rest = await lease(store, clock, other)
    assert {run.job for run in rest} == {job.id for job in jobs} - {run.job for run in own}


async def test_a_claim_that_owns_nothing_makes_every_run_unowned(store, clock):
    node = await a_node(store, clock)
    await a_job(store, clock, schedule=every(10))
    clock.advance(30 * SECOND)

    own = await claim(store, clock, node, own=0)

    assert own == []
    assert await store.runs.owned(node) == []
    assert len(await lease(store, clock, node)) == 3


async def test_an_unowned_run_that_was_claimed_ahead_is_not_leased_before_its_instant(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    due = clock.now() + 10 * SECOND
    clock.advance(10 * SECOND - 1)

    await claim(store, clock, node, own=0)

    assert await lease(store, clock, node) == []
    assert await status_of(store, clock, RunKey(job.id, occurrence(due))) is Status.SCHEDULED
    clock.advance(1)
    assert [run.due for run in await lease(store, clock, node)] == [due]


async def test_missed_occurrences_are_one_record(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    start = clock.now()
    clock.advance(HOUR)

    runs = await claim(store, clock, node)

    assert [run.due - start for run in runs] == [59 * MINUTE, 60 * MINUTE]
    missed = (await ledger_of(store, clock, job.id))[-1]
    assert (missed.status, missed.run) == (Status.MISSED, occurrence(start + MINUTE))
    assert (missed.due, missed.until) == (start + MINUTE, start + 58 * MINUTE)
    assert missed.count == 58
    assert missed.version == 1
    assert missed.reason is not None
    assert "catchUp is latest" in missed.reason


async def test_a_range_too_long_to_count_has_no_count(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(HOUR)
    planned = await plan(store, clock)
    planned.records[0] = replace(planned.records[0], count=None)

    await fire(store, clock, node, planned)

    record = (await ledger_of(store, clock, job.id))[-1]
    assert (record.status, record.count) == (Status.MISSED, None)


async def test_later_runs_wait_for_their_instant(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60), catch_up="all")
    now = clock.advance(HOUR)

    await claim(store, clock, node)

    waiting = [view for view in await ledger_of(store, clock, job.id) if view.at > now + SECOND]
    assert [view.status for view in waiting] == [Status.SCHEDULED] * 7
    assert max(view.at for view in waiting) == now + 57 * 20 * MILLISECOND
    assert await promote(store, clock, node) == []
    clock.advance(2 * SECOND)
    promoted = await promote(store, clock, node)
    assert sorted(keys_of(promoted)) == sorted(keys_of(waiting))


async def test_a_caught_up_run_keeps_its_due_instant(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60), catch_up="all")
    start = clock.now()
    now = clock.advance(HOUR)

    await claim(store, clock, node)

    oldest = (await ledger_of(store, clock, job.id))[-1]
    assert (oldest.run, oldest.due) == (occurrence(start + MINUTE), start + MINUTE)
    assert oldest.at == now


async def test_a_version_that_has_ended_leaves_the_clock_with_its_cut(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    await edit(store, clock, job, name="renamed")
    clock.advance(60 * SECOND)

    await claim(store, clock, node)

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + DAY, limit=PLENTY)
    assert [(entry.job, entry.version) for entry in peeked.entries] == [(job.id, 2)]
    assert peeked.cuts == []


async def test_a_schedule_that_is_over_is_disarmed_and_its_job_stays(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(150 * 365 * 24 * 3600))
    clock.advance(150 * 365 * DAY)

    [run] = await claim(store, clock, node)

    assert run.due == clock.now()
    peeked = await store.clock.peek(ALL_SHARDS, until=INSTANT_MAX, limit=PLENTY)
    assert peeked.entries == []
    assert (await store.jobs.get(job.id)).id == job.id


async def test_a_job_whose_schedule_was_over_can_be_given_another(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(150 * 365 * 24 * 3600))
    clock.advance(150 * 365 * DAY)
    await claim(store, clock, node)

    await edit(store, clock, job, schedule=every(60))
    clock.advance(60 * SECOND)

    assert [run.due for run in await claim(store, clock, node)] == [clock.now()]


async def test_a_broken_entry_is_set_aside_and_the_others_go_on(store, clock):
    node = await a_node(store, clock)
    broken = await a_job(store, clock, schedule=every(60), queue="unreadable")
    sound = await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)
    planned = await a_plan_that_cannot_read(store, clock, queue="unreadable")
    assert [each.entry.job for each in planned.broken] == [broken.id]

    runs = await fire(store, clock, node, planned)

    assert [run.job for run in runs] == [sound.id]
    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + DAY, limit=PLENTY)
    assert [entry.job for entry in peeked.entries] == [sound.id]
    assert (await store.ledger.overview(limit=10, now=clock.now())).set_aside == 1
    assert await store.ledger.set_aside(broken.id) == planned.broken[0].why
    assert (await store.jobs.get(broken.id)).id == broken.id


async def test_an_edit_arms_a_job_again_whose_entry_was_set_aside(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60), queue="unreadable")
    clock.advance(60 * SECOND)
    await fire(store, clock, node, await a_plan_that_cannot_read(store, clock, queue="unreadable"))

    await edit(store, clock, job, queue="readable")
    clock.advance(60 * SECOND)

    assert [run.version for run in await claim(store, clock, node)] == [2]
    assert await store.ledger.set_aside(job.id) is None


async def test_a_firing_does_not_touch_the_definition(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)

    assert len(await claim(store, clock, node)) == 1

    assert await store.jobs.get(job.id) == job


async def test_an_empty_plan_is_carried_out(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))

    assert await fire(store, clock, node, Plan(clock.now() + SECOND, [])) == []

    assert await ledger_of(store, clock, job.id) == []


@pytest.mark.parametrize("count", [1, 250])
async def test_a_claim_makes_all_of_its_runs_at_once(store, clock, count):
    node = await a_node(store, clock)
    jobs = [await a_job(store, clock, schedule=every(60)) for _ in range(count)]
    clock.advance(60 * SECOND)

    runs = await claim(store, clock, node)

    assert {run.job for run in runs} == {job.id for job in jobs}
    assert len(await store.runs.owned(node)) == count


async def test_a_run_is_seen_in_the_ledger_under_the_version_that_fired_it(store, clock):
    node = await a_node(store, clock)
    await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)

    [run] = await claim(store, clock, node)

    seen = await view(store, clock, run)
    assert (key_of(seen), seen.version, seen.due) == (key_of(run), 1, run.due)
    assert (seen.status, seen.attempt, seen.rescues) == (Status.QUEUED, 1, 0)


async def a_plan_that_cannot_read(store, clock, *, queue: str) -> Plan:
    """The plan of a scheduler that finds the rules of one queue missing."""
    until = clock.now() + SECOND
    peeked = await store.clock.peek(ALL_SHARDS, until=until, limit=PLENTY)
    rules = await store.clock.rules([entry.rule for entry in peeked.entries])
    readable = {number: rule for number, rule in rules.items() if queue_of(rule.lane) != queue}
    return plan_firings(
        peeked.entries,
        peeked.cuts,
        readable,
        now=clock.now(),
        until=until,
        source=peeked.source,
    )


async def test_only_runs_of_the_given_queues_are_leased_to_the_claiming_node(store, clock):
    node = await a_node(store, clock)
    for queue in ("mail", "reports", "mail"):
        await a_job(store, clock, schedule=every(10), queue=queue)
    clock.advance(10 * SECOND)

    planned = await plan(store, clock)
    fired = await store.clock.fire(
        planned, lessee=Lessee(node, 9, Lanes(("mail",))), now=clock.now()
    )

    assert [queue_of(run.lane) for run in fired] == ["mail", "mail"]
    assert [queue_of(run.lane) for run in await lease(store, clock, node)] == ["reports"]


async def test_the_horizon_is_how_far_any_shard_was_claimed_and_never_goes_back(store, clock):
    node = await a_node(store, clock)
    await a_job(store, clock, schedule=every(60))
    before = await store.clock.horizon()
    due = clock.advance(60 * SECOND)

    await claim(store, clock, node)
    claimed = await store.clock.horizon()
    clock.set_back(HOUR)
    await a_job(store, clock, schedule=every(60))

    assert before < due <= claimed
    assert await store.clock.horizon() == claimed
