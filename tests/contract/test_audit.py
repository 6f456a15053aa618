"""The audit: what the ledger holds, against what was due, over all versions of a job."""

from __future__ import annotations

from random import Random

import pytest

from onthedot.core.audit import AuditBalance
from onthedot.core.firing import set_aside
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND
from onthedot.core.model import Job, occurrence
from onthedot.core.schedules import Cron
from onthedot.errors import NotFound
from onthedot.store.claims import Lessee
from onthedot.store.contract import Store
from onthedot.usecases.audit_walk import START, WalkPart, audit_all, audit_job
from tests.support.accounts import Story
from tests.support.builders import (
    a_job,
    a_node,
    a_one_off,
    a_run,
    claim,
    delete,
    edit,
    every,
    finish,
    pause,
    plan,
    promote,
    resume,
)
from tests.support.clock import ManualClock

PLENTY = 10_000


async def audited(
    store: Store, clock: ManualClock, job: Job, *, most: int = PLENTY
) -> AuditBalance:
    """The whole books of a job, in parts if there is too much for one."""
    whole, after = AuditBalance(), 0
    until = clock.now()
    for _ in range(1_000):
        balance, reached = await audit_job(store, job.id, after=after, until=until, most=most)
        whole.add(balance)
        if reached is None:
            return whole
        assert reached > after
        after = reached
    raise AssertionError("the audit never ends")


def total(balance: AuditBalance) -> int:
    parts = (balance.ran, balance.skipped, balance.missed, balance.live)
    return sum(part.total() for part in parts) + balance.faults["unaccounted"]


async def test_every_due_instant_has_its_fate(store: Store, clock: ManualClock) -> None:
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))

    for _ in range(3):
        clock.advance(10 * SECOND)
        [held] = await claim(store, clock, node)
        await finish(store, clock, node, held)
    clock.advance(10 * SECOND)
    await claim(store, clock, node)
    balance = await audited(store, clock, job)

    assert balance.due == 4
    assert balance.ran == {"succeeded": 3}
    assert balance.live == {"queued": 1}
    assert not balance.faults


async def test_what_a_pause_held_back_and_what_was_missed_is_told_by_reason(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60), catch_up="none")

    clock.advance(10 * MINUTE)
    await claim(store, clock, node)
    await pause(store, clock, job)
    clock.advance(5 * MINUTE)
    held = await audited(store, clock, job)
    await resume(store, clock, job)
    over = await audited(store, clock, job)

    assert (held.due, held.live["paused"]) == (15, 5)
    assert over.skipped == {"paused": 5}
    assert over.missed == {"nobody fired it in time": over.missed.total()}
    assert (over.due, total(over)) == (15, 15)
    assert not held.faults
    assert not over.faults


async def test_what_waits_in_the_clock_is_not_lost(store: Store, clock: ManualClock) -> None:
    job = await a_job(store, clock, schedule=every(60))

    clock.advance(3 * MINUTE)
    balance = await audited(store, clock, job)

    assert (balance.due, balance.live) == (3, {"unfired": 3})
    assert not balance.faults


async def test_an_entry_that_vanished_is_found(store: Store, clock: ManualClock) -> None:
    """Its instants are due and nobody will ever fire them."""
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(MINUTE)

    planned = await plan(store, clock)
    planned.runs.clear()
    planned.nexts[:] = [None]
    await store.clock.fire(planned, lessee=_nobody(node), now=clock.now())
    clock.advance(2 * MINUTE)
    balance = await audited(store, clock, job)

    assert (balance.due, balance.faults) == (3, {"unaccounted": 3})
    [fault] = balance.listed
    assert (fault.first, fault.last) == (job.anchor + MINUTE, job.anchor + 3 * MINUTE)


async def test_a_record_of_what_was_never_due_is_found(store: Store, clock: ManualClock) -> None:
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(MINUTE)

    planned = await plan(store, clock)
    [run] = planned.runs
    strange = run.due - SECOND
    planned.runs.append(run._replace(run=occurrence(strange), due=strange, at=strange))
    await store.clock.fire(planned, lessee=_nobody(node), now=clock.now())
    balance = await audited(store, clock, job)

    assert (balance.due, balance.faults) == (1, {"surplus": 1})
    assert balance.listed[0].first == strange


async def test_an_entry_set_aside_is_told_and_missed_when_the_job_is_mended(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(MINUTE)

    peeked = await store.clock.peek(frozenset(range(16)), until=clock.now(), limit=10)
    broken = set_aside(peeked.entries[0], "a test", clock.now(), [], peeked.source)
    await store.clock.fire(broken, lessee=_nobody(node), now=clock.now())
    clock.advance(MINUTE)
    waiting = await audited(store, clock, job)
    await edit(store, clock, job, name="mended")
    mended = await audited(store, clock, job)

    assert waiting.live == {"set aside": 2}
    assert mended.missed == {"it could not be fired": 2}
    assert not mended.faults


async def test_triggered_runs_stand_in_no_schedule(store: Store, clock: ManualClock) -> None:
    """A manual trigger never consumes an occurrence, and is none."""
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))

    await a_run(store, clock, job)
    clock.advance(MINUTE)
    made = await claim(store, clock, node)
    balance = await audited(store, clock, job)

    assert [run.due for run in made] == [clock.now()]
    assert (balance.due, balance.live.total()) == (1, 1)
    assert not balance.faults


async def test_one_offs_are_due_once_however_often_they_are_edited(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now() + HOUR)

    await edit(store, clock, job, name="renamed")
    await pause(store, clock, job)
    before = await audited(store, clock, job)
    clock.advance(2 * HOUR)
    held = await audited(store, clock, job)
    await resume(store, clock, job)
    await promote(store, clock, node)
    over = await audited(store, clock, job)

    assert before.due == 0
    assert held.live == {"paused": 1}
    assert (over.due, over.skipped) == (1, {"paused": 1})
    assert not over.faults


async def test_the_books_of_a_deleted_job_balance(store: Store, clock: ManualClock) -> None:
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    one_off = await a_one_off(store, clock, at=clock.now() + SECOND)

    clock.advance(3 * MINUTE)
    await delete(store, clock, job)
    await delete(store, clock, one_off)
    await claim(store, clock, node)
    clock.advance(HOUR)

    assert (await audited(store, clock, job)).skipped == {"job deleted": 3}
    assert (await audited(store, clock, one_off)).ran == {"cancelled": 1}


async def test_an_unknown_job_has_no_books(store: Store, clock: ManualClock) -> None:
    with pytest.raises(NotFound):
        await audit_job(store, 4711, after=0, until=clock.now(), most=1)


async def test_the_books_are_read_in_parts_and_add_up(store: Store, clock: ManualClock) -> None:
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=Cron.parse("* * * * *"), catch_up="none")

    clock.advance(HOUR)
    await claim(store, clock, node)
    clock.advance(MINUTE)
    await claim(store, clock, node)
    whole = await audited(store, clock, job)
    parts = await audited(store, clock, job, most=7)

    assert (whole.due, whole.missed, whole.live) == (parts.due, parts.missed, parts.live)
    assert whole.due == 61
    assert not parts.faults


async def test_what_lies_before_the_edge_of_retention_is_not_asked_for(
    store: Store, clock: ManualClock
) -> None:
    """A record that reaches over the edge stays, wherever it begins."""
    await store.upkeep.prepare(now=clock.now())
    job = await a_job(store, clock, schedule=Cron.parse("0 * * * *"))
    await pause(store, clock, job)
    clock.advance(2 * DAY)
    await resume(store, clock, job)

    edge = clock.now() - DAY
    for _ in range(3):
        await store.upkeep.prune(before=edge, keys_before=edge, limit=PLENTY)
    balance = await audited(store, clock, job)

    assert (balance.due, balance.skipped) == (24, {"paused": 24})
    assert not balance.faults


@pytest.mark.parametrize("seed", range(3))
async def test_after_anything_that_may_happen_the_books_balance(
    store: Store, clock: ManualClock, seed: int
) -> None:
    story = Story(store, clock, await a_node(store, clock), Random(seed))
    await story.begin(3)

    for step in range(60):
        await story.step()
        if step % 20 == 19:
            assert not (await everything(store, clock)).balance.faults
    await story.end()

    ended = await everything(store, clock, most=1_000)
    assert not ended.balance.faults
    assert ended.balance.due == total(ended.balance) > 0
    assert ended.jobs == 3


async def everything(store: Store, clock: ManualClock, *, most: int = PLENTY) -> WalkPart:
    """Later than every instant that is claimed ahead, after a clock that was set back, too."""
    whole, place, until = WalkPart(AuditBalance(), {}, 0, None), START, clock.now()
    for _ in range(1_000):
        part = await audit_all(store, place, until=until, most=most)
        whole.balance.add(part.balance)
        whole = WalkPart(whole.balance, whole.faulty | part.faulty, whole.jobs + part.jobs, None)
        if part.place is None:
            return whole
        place = part.place
    raise AssertionError("the audit never ends")


def _nobody(node: int) -> Lessee:
    return Lessee(node, 0)
