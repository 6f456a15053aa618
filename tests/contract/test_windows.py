"""Schedules with an end, and starts that are moved, in the clock and in the books."""

from __future__ import annotations

from onthedot.core.editing import next_run_at
from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.schedules import Every
from onthedot.core.shifting import Shift
from onthedot.core.states import Status
from onthedot.store.contract import Store
from tests.contract.test_audit import audited
from tests.support.builders import (
    a_job,
    a_node,
    a_run,
    claim,
    edit,
    finish,
    lease,
    ledger_of,
    promote,
)
from tests.support.clock import ManualClock


async def test_a_schedule_that_is_over_leaves_the_clock_and_may_go_on_after_an_edit(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=Every(MINUTE), max_runs=2)

    for _ in range(4):
        clock.advance(MINUTE)
        await finish(store, clock, node, *await claim(store, clock, node))
    over = await store.jobs.get(job.id)
    balance = await audited(store, clock, job)
    more = await edit(store, clock, job, max_runs=1)
    clock.advance(2 * MINUTE)
    again = await claim(store, clock, node)

    assert next_run_at(over, clock.now()) is None
    assert (balance.due, balance.ran) == (2, {"succeeded": 2})
    assert not balance.faults
    assert more.definition.last_at == again[0].due
    assert len(again) == 1
    assert not (await audited(store, clock, job)).faults


async def test_a_trigger_counts_for_no_limit(store: Store, clock: ManualClock) -> None:
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=Every(MINUTE), max_runs=1)

    await a_run(store, clock, job)
    await lease(store, clock, node)
    clock.advance(MINUTE)
    made = await claim(store, clock, node)

    assert [run.due for run in made] == [clock.now()]


async def test_a_run_waits_for_its_offset_and_is_the_same_occurrence(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    shift = Shift(spread_us=10 * MINUTE, jitter_us=10 * MINUTE)
    job = await a_job(store, clock, schedule=Every(HOUR), shift=shift)

    clock.advance(HOUR)
    due = clock.now()
    offset = shift.of(job.id, due)
    early = await claim(store, clock, node)
    [waiting] = await ledger_of(store, clock, job.id)
    clock.advance(offset - 1)
    not_yet = await promote(store, clock, node)
    clock.advance(1)
    [held] = await promote(store, clock, node)

    assert offset > SECOND
    assert early == not_yet == []
    assert (waiting.status, waiting.due, waiting.at) == (Status.SCHEDULED, due, due + offset)
    assert (held.due, held.at) == (due, due + offset)
    await finish(store, clock, node, held)
    assert (await audited(store, clock, job)).ran == {"succeeded": 1}
