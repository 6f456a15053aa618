"""Jobs with a fixed delay that are paused, edited or deleted: there is one chain, or none."""

from __future__ import annotations

from onthedot.core import editing
from onthedot.core.audit import AuditBalance
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.model import Once, occurrence
from onthedot.core.schedules import Every, FixedDelay
from onthedot.core.states import Status
from onthedot.core.traits import FIXED_DELAY
from onthedot.usecases.audit_walk import audit_job
from tests.support.builders import (
    a_definition,
    a_job,
    a_node,
    claim,
    delete,
    edit,
    finish,
    ledger_of,
    pause,
    promote,
    resume,
    standing_of,
)
from tests.support.chains import QUARTER, a_chain, fates_of, the_link, waiting_of


async def test_a_pause_holds_the_next_one_back_and_a_resume_brings_it(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    due = job.link

    await pause(store, clock, job)
    held = await waiting_of(store, clock, job)
    clock.advance(MINUTE)
    resumed = await resume(store, clock, job)

    assert (held, resumed.link) == ([], due)
    assert (await the_link(store, clock, node, job)).due == due


async def test_what_fell_due_in_a_pause_is_skipped_and_the_next_counts_from_its_end(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    due = job.link

    await pause(store, clock, job)
    clock.advance(HOUR)
    nothing = await promote(store, clock, node)
    await resume(store, clock, job)

    [coming, skipped] = await ledger_of(store, clock, job.id)
    assert nothing == []
    assert (skipped.status, skipped.due, skipped.reason) == (Status.SKIPPED, due, "paused")
    assert (coming.status, coming.due) == (Status.SCHEDULED, clock.now() + QUARTER)


async def test_a_run_that_ends_during_a_pause_leaves_the_next_one_parked(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    clock.advance(2 * SECOND)
    await pause(store, clock, job)

    clock.advance(MINUTE)
    await finish(store, clock, node, run)
    parked = clock.now() + QUARTER
    held = await waiting_of(store, clock, job)
    clock.advance(MINUTE)
    resumed = await resume(store, clock, job)

    assert (held, resumed.link) == ([], parked)
    assert await waiting_of(store, clock, job) == [parked]


async def test_a_resume_while_the_run_goes_on_makes_no_second_one(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    clock.advance(2 * SECOND)

    await pause(store, clock, job)
    clock.advance(HOUR)
    await resume(store, clock, job)
    during = await waiting_of(store, clock, job)
    await finish(store, clock, node, run)

    assert during == []
    assert await waiting_of(store, clock, job) == [clock.now() + QUARTER]
    assert await fates_of(store, clock, job) == [Status.SUCCEEDED, Status.SCHEDULED]


async def test_an_edit_of_something_else_leaves_the_instant(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)

    clock.advance(MINUTE)
    edited = await edit(store, clock, job, name="renamed", queue="mail", priority=9)
    run = await the_link(store, clock, node, job)

    assert edited.link == job.link == run.due
    assert (run.version, run.priority, run.lane) == (2, 9, "default|mail|")
    assert run.traits == FIXED_DELAY


async def test_a_new_delay_counts_from_the_edit(store, clock):
    job = await a_chain(store, clock)

    clock.advance(MINUTE)
    current = await standing_of(store, clock, job)
    await edit(store, clock, job, schedule=FixedDelay(HOUR))

    assert current.waiting
    assert not current.live
    assert await waiting_of(store, clock, job) == [clock.now() + HOUR]


async def test_a_new_delay_counts_from_the_end_of_the_run_that_is_under_way(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    clock.advance(2 * SECOND)

    current = await standing_of(store, clock, job)
    await edit(store, clock, job, schedule=FixedDelay(HOUR), priority=7)
    during = await waiting_of(store, clock, job)
    clock.advance(MINUTE)
    await finish(store, clock, node, run)

    assert (current.live, current.waiting, during) == (True, False, [])
    assert await waiting_of(store, clock, job) == [clock.now() + HOUR]
    assert (await the_link(store, clock, node, job)).priority == 7


async def test_another_schedule_ends_the_chain(store, clock):
    node = await a_node(store, clock)
    waits = await a_chain(store, clock)
    await edit(store, clock, waits, schedule=Every(HOUR))
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    clock.advance(2 * SECOND)

    edited = await edit(store, clock, job, schedule=Every(HOUR))
    await finish(store, clock, node, run)

    assert edited.link is None
    assert await waiting_of(store, clock, job) == await waiting_of(store, clock, waits) == []
    clock.advance(HOUR)
    assert {run.job for run in await claim(store, clock, node)} == {waits.id, job.id}


async def test_a_run_of_the_schedule_before_starts_no_second_chain(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=Every(MINUTE))
    clock.advance(MINUTE)
    [run] = await claim(store, clock, node)

    await edit(store, clock, job, schedule=FixedDelay(QUARTER))
    first = await waiting_of(store, clock, job)
    clock.advance(MINUTE)
    await finish(store, clock, node, run)

    assert len(first) == 1
    assert await waiting_of(store, clock, job) == first


async def test_there_and_back_again_makes_one_chain(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    run = await the_link(store, clock, node, job)
    clock.advance(2 * SECOND)

    await edit(store, clock, job, schedule=Once(clock.now() + HOUR))
    await edit(store, clock, job, schedule=FixedDelay(QUARTER))
    begun = await waiting_of(store, clock, job)
    await finish(store, clock, node, run)

    assert len(begun) == 1
    assert await waiting_of(store, clock, job) == begun


async def test_a_deleted_job_does_not_go_on(store, clock):
    node = await a_node(store, clock)
    waits, job = await a_chain(store, clock), await a_chain(store, clock)
    await delete(store, clock, waits)
    run = await the_link(store, clock, node, job)

    clock.advance(2 * SECOND)
    await delete(store, clock, job)
    await finish(store, clock, node, run)

    assert await fates_of(store, clock, waits) == [Status.CANCELLED]
    assert await fates_of(store, clock, job) == [Status.SUCCEEDED]


async def test_it_ends_after_as_many_as_were_asked_for(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock, max_runs=2)

    for _ in range(2):
        run = await the_link(store, clock, node, job)
        await finish(store, clock, node, run)
    over = await store.jobs.get(job.id)
    again = await edit(store, clock, job, max_runs=3)

    assert over.link is None
    assert await fates_of(store, clock, job) == 2 * [Status.SUCCEEDED] + [Status.SCHEDULED]
    assert again.link == clock.now() + QUARTER


async def test_it_ends_with_the_last_instant_allowed(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock, end_at=clock.now() + 2 * QUARTER)

    run = await the_link(store, clock, node, job)
    clock.advance(1)
    await finish(store, clock, node, run)

    assert (await store.jobs.get(job.id)).link is None
    assert await fates_of(store, clock, job) == [Status.SUCCEEDED]


async def test_many_are_made_at_once_with_their_first_links(store, clock):
    node = await a_node(store, clock)
    wanted = [a_definition(schedule=FixedDelay(QUARTER)), a_definition(schedule=Every(HOUR))]

    chained, _ = await store.jobs.create_many(wanted, now=clock.now())
    run = await the_link(store, clock, node, await store.jobs.get(chained))
    await finish(store, clock, node, run)

    assert (await store.jobs.get(chained)).link == clock.now() + QUARTER


async def test_an_instant_that_has_a_fate_already_is_passed_by(store, clock):
    node = await a_node(store, clock)
    job = await a_chain(store, clock)
    taken = job.link or 0
    clock.advance(MINUTE)
    await store.runs.cancel(job.id, occurrence(taken), now=clock.now())

    await edit(store, clock, job, schedule=FixedDelay(taken - clock.now()))

    assert await waiting_of(store, clock, job) == [taken + 1]
    assert (await the_link(store, clock, node, job)).due == taken + 1


async def audited(store, clock, job) -> AuditBalance:
    balance, reached = await audit_job(store, job.id, after=0, until=clock.now(), most=1_000)
    assert reached is None
    return balance


async def test_its_books_balance_through_every_change(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=Every(QUARTER))
    clock.advance(QUARTER)
    await finish(store, clock, node, *await claim(store, clock, node))
    await edit(store, clock, job, schedule=FixedDelay(QUARTER))
    for _ in range(3):
        run = await the_link(store, clock, node, job)
        clock.advance(MINUTE)
        await finish(store, clock, node, run)
    link = (await store.jobs.get(job.id)).link
    await store.runs.cancel(job.id, occurrence(link or 0), now=clock.now())
    await pause(store, clock, job)
    clock.advance(HOUR)
    await resume(store, clock, job)
    run = await the_link(store, clock, node, job)
    clock.advance(2 * SECOND)
    under_way = await audited(store, clock, job)
    await edit(store, clock, job, schedule=Every(HOUR))
    await finish(store, clock, node, run)
    clock.advance(MINUTE)

    balance = await audited(store, clock, job)

    assert under_way.faults == balance.faults == {}
    assert under_way.live == {"queued": 1}
    assert balance.ran == {"succeeded": 5, "cancelled": 1}
    assert (balance.skipped, balance.live, balance.due) == ({"paused": 1}, {}, 7)


async def test_the_audit_tells_of_a_chain_that_is_broken(store, clock):
    job = await a_chain(store, clock)
    paused = await a_chain(store, clock, paused=True)
    due = job.link

    def losing(current: CurrentJob) -> Change:
        """As a fault might: the run is taken away, and the chain still names it."""
        change = editing.edit(current, current.job.definition)
        return change._replace(run=None)

    fine = await audited(store, clock, job)
    await store.jobs.change(job.id, losing, now=clock.now())
    broken = await audited(store, clock, job)
    await edit(store, clock, job, name="mended")

    assert fine.faults == {}
    assert broken.faults == {"unaccounted": 1}
    assert [(fault.first, fault.kind) for fault in broken.listed] == [(due, "unaccounted")]
    assert (await audited(store, clock, job)).faults == {}
    assert (await audited(store, clock, paused)).faults == {}
