"""Repetitions of the calendar, in the clock and in the books."""

from __future__ import annotations

from onthedot.core.editing import next_run_at
from onthedot.core.instants import DAY, HOUR, format_instant, parse_instant
from onthedot.core.schedules import Cron, Repeat, Step
from onthedot.store.contract import Store
from tests.contract.test_audit import audited
from tests.support.builders import a_job, a_node, claim, edit, finish
from tests.support.clock import ManualClock


async def test_the_end_of_a_month_does_not_drift_in_the_clock(
    store: Store, clock: ManualClock
) -> None:
    months = Repeat(parse_instant("2031-01-31T09:00:00Z", field="start"), Step(months=1))
    clock.advance(months.start - clock.now() - HOUR)
    job = await a_job(store, clock, schedule=months, schedule_text="R/2031-01-31T09:00:00Z/P1M")

    read = await store.jobs.get(job.id)
    dues = []
    for _ in range(3):
        following = next_run_at(await store.jobs.get(job.id), clock.now())
        assert following is not None
        clock.advance(following - clock.now())
        runs = await claim(store, clock, await a_node(store, clock))
        dues += [format_instant(run.due) for run in runs]

    assert read.definition == job.definition
    assert dues == ["2031-01-31T09:00:00Z", "2031-02-28T09:00:00Z", "2031-03-31T09:00:00Z"]
    assert not (await audited(store, clock, job)).faults


async def test_a_repetition_is_over_after_its_times(store: Store, clock: ManualClock) -> None:
    node = await a_node(store, clock)
    hours = Repeat(clock.now(), Step(us=HOUR), times=2, after_start=True)
    job = await a_job(store, clock, schedule=hours)

    for _ in range(4):
        clock.advance(HOUR)
        await finish(store, clock, node, *await claim(store, clock, node))
    over = next_run_at(await store.jobs.get(job.id), clock.now())
    balance = await audited(store, clock, job)

    assert over is None
    assert (balance.due, balance.ran) == (2, {"succeeded": 2})
    assert not balance.faults


async def test_joined_times_fire_each_and_an_edit_parts_them(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    start = clock.now() - clock.now() % DAY + DAY
    clock.advance(start - clock.now())
    job = await a_job(store, clock, schedule=Cron("0 9 * * * | 30 17 * * *"))

    clock.advance(9 * HOUR)
    morning = await claim(store, clock, node)
    await finish(store, clock, node, *morning)
    await edit(store, clock, job, schedule=Cron("0 9 * * * | 30 18 * * *"))
    clock.advance(9 * HOUR + HOUR // 2)
    evening = await claim(store, clock, node)

    assert [run.due - start for run in (*morning, *evening)] == [9 * HOUR, 18 * HOUR + HOUR // 2]
    assert not (await audited(store, clock, job)).faults
