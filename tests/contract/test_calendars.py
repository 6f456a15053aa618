"""Calendars: named, versioned, and taken over by the jobs that follow them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from onthedot.core.instants import DAY, HOUR, format_instant, parse_instant
from onthedot.core.model import Job, NamedCalendar, occurrence
from onthedot.core.origin import Origin
from onthedot.core.schedules import Calendar, Cron
from onthedot.core.shifting import Shift
from onthedot.errors import CalendarInUse, Invalid, NotFound, VersionConflict
from onthedot.store.calendars import CalendarView
from onthedot.store.contract import Store
from onthedot.usecases.calendars import GROUP_MAX, take_over
from tests.contract.test_audit import audited
from tests.support.builders import (
    a_definition,
    a_job,
    a_node,
    a_run,
    claim,
    delete,
    edit,
    finish,
)
from tests.support.clock import ManualClock

DAILY = Cron.parse("0 9 * * *")
WEEKDAYS = Calendar.read([], ["mon-fri"])


async def a_calendar(
    store: Store, clock: ManualClock, calendar: Calendar = WEEKDAYS, name: str = "business"
) -> CalendarView:
    return await store.calendars.put(name, calendar, now=clock.now())


async def a_follower(store: Store, clock: ManualClock, view: CalendarView, **fields: Any) -> Job:
    return await a_job(store, clock, schedule=DAILY, calendar=view.named, **fields)


def on(clock: ManualClock, text: str) -> None:
    clock.advance(parse_instant(text, field="text") - clock.now())


async def test_a_calendar_is_made_changed_read_and_deleted(
    store: Store, clock: ManualClock
) -> None:
    made = await a_calendar(store, clock)
    clock.advance(HOUR)
    same = await a_calendar(store, clock)
    changed = await a_calendar(store, clock, Calendar.read(["12-25"], ["mon-fri"]))

    assert (made.version, same) == (1, made)
    assert (changed.version, changed.created_at) == (2, made.created_at)
    assert changed.updated_at == clock.now()
    assert await store.calendars.get("business") == changed
    await store.calendars.delete("business")
    with pytest.raises(NotFound):
        await store.calendars.get("business")
    with pytest.raises(NotFound):
        await store.calendars.delete("business")


async def test_calendars_are_listed_by_name(store: Store, clock: ManualClock) -> None:
    for name in ("b", "a", "c", "B"):
        await a_calendar(store, clock, name=name)

    first = await store.calendars.page(after="", limit=2)
    rest = await store.calendars.page(after=first[-1].name, limit=9)

    assert [view.name for view in first + rest] == ["B", "a", "b", "c"]


async def test_an_edit_of_a_version_that_is_not_there_any_more_is_refused(
    store: Store, clock: ManualClock
) -> None:
    await a_calendar(store, clock)
    other = Calendar.read(["12-25"], [])

    with pytest.raises(VersionConflict):
        await store.calendars.put("business", other, now=clock.now(), expected=2)
    with pytest.raises(VersionConflict):
        await store.calendars.put("nothing", other, now=clock.now(), expected=1)
    with pytest.raises(VersionConflict):
        await store.calendars.delete("business", expected=2)
    changed = await store.calendars.put("business", other, now=clock.now(), expected=1)

    assert changed.version == 2


async def test_a_job_cannot_follow_a_calendar_that_does_not_exist(
    store: Store, clock: ManualClock
) -> None:
    gone = NamedCalendar("gone", 1, WEEKDAYS)
    many = [a_definition(schedule=DAILY, calendar=gone)]
    job = await a_job(store, clock, schedule=DAILY)

    with pytest.raises(Invalid, match="does not exist"):
        await a_job(store, clock, schedule=DAILY, calendar=gone)
    with pytest.raises(Invalid, match="does not exist"):
        await edit(store, clock, job, calendar=gone)
    with pytest.raises(Invalid, match="does not exist"):
        await store.jobs.create_many(many, now=clock.now())

    assert [each.id for each in await store.jobs.page(before=None, limit=9)] == [job.id]
    assert (await store.jobs.get(job.id)).definition.calendar is None


async def test_who_names_a_calendar_that_is_gone_is_alone_refused(
    store: Store, clock: ManualClock
) -> None:
    gone = NamedCalendar("gone", 1, WEEKDAYS)
    calendars = [None, None, gone, None]

    made = await asyncio.gather(
        *(a_job(store, clock, schedule=DAILY, calendar=calendar) for calendar in calendars),
        return_exceptions=True,
    )

    assert [isinstance(each, Invalid) for each in made] == [False, False, True, False]


async def test_a_calendar_that_jobs_follow_is_not_deleted_and_the_refusal_names_them(
    store: Store, clock: ManualClock
) -> None:
    view = await a_calendar(store, clock)
    left, kept, gone = [
        await a_follower(store, clock, view, name=name) for name in ("left", "kept", "gone")
    ]
    (many,) = await store.jobs.create_many(
        [a_definition(name="many", schedule=DAILY, calendar=view.named)], now=clock.now()
    )

    with pytest.raises(CalendarInUse, match=r"'left'.*'kept'.*'gone'.*'many'"):
        await store.calendars.delete("business")
    await edit(store, clock, left, calendar=None)
    await delete(store, clock, gone)
    following = await store.calendars.followers("business", limit=9)
    await delete(store, clock, kept)
    await delete(store, clock, await store.jobs.get(many))
    await store.calendars.delete("business")

    assert [job.id for job in following] == [kept.id, many]


async def test_a_job_follows_its_calendar_and_what_is_moved_is_one_occurrence(
    store: Store, clock: ManualClock
) -> None:
    on(clock, "2027-01-07T12:00:00Z")  # a Thursday
    node = await a_node(store, clock)
    job = await a_follower(store, clock, await a_calendar(store, clock), calendar_roll="next")

    dues = []
    for _ in range(5):
        clock.advance(DAY)
        made = await claim(store, clock, node)
        await finish(store, clock, node, *made)
        dues += [format_instant(run.due)[:10] for run in made]
    balance = await audited(store, clock, job)

    assert dues == ["2027-01-08", "2027-01-11", "2027-01-12"]
    assert (balance.due, balance.ran) == (3, {"succeeded": 3})
    assert not balance.faults


async def test_an_edit_of_a_calendar_gives_its_jobs_a_new_version_and_the_books_balance(
    store: Store, clock: ManualClock
) -> None:
    on(clock, "2027-01-07T12:00:00Z")
    node = await a_node(store, clock)
    job = await a_follower(store, clock, await a_calendar(store, clock))
    other = await a_job(store, clock, schedule=DAILY)
    clock.advance(DAY)
    await finish(store, clock, node, *await claim(store, clock, node))

    changed = await a_calendar(store, clock, Calendar.read([], ["mon-fri", "2027-01-09"]))
    behind = await store.calendars.behind(limit=9)
    made = await take_over(store, now=clock.now())
    again = await take_over(store, now=clock.now())
    followed = await store.jobs.get(job.id)
    clock.advance(DAY)
    ran = await claim(store, clock, node)
    await finish(store, clock, node, *ran)

    assert (changed.version, changed.jobs, changed.behind) == (2, 1, 1)
    assert [(each.job, each.calendar.version) for each in behind] == [(job.id, 2)]
    assert (made, again) == ((1, False), (0, False))
    assert (await store.calendars.get("business")).behind == 0
    assert (followed.version, followed.definition.calendar) == (2, changed.named)
    assert (await store.jobs.get(other.id)).version == 1
    assert {run.job for run in ran} == {job.id, other.id}
    balance = await audited(store, clock, job)
    assert (balance.due, balance.faults) == (2, {})


async def test_jobs_take_a_calendar_over_in_groups(store: Store, clock: ManualClock) -> None:
    view = await a_calendar(store, clock)
    definition = a_definition(schedule=DAILY, calendar=view.named)
    await store.jobs.create_many([definition] * (GROUP_MAX + 3), now=clock.now())
    await a_calendar(store, clock, Calendar.read(["12-25"], []))

    first = await take_over(store, now=clock.now())
    left = (await store.calendars.get("business")).behind
    second = await take_over(store, now=clock.now())

    assert (first, left, second) == ((GROUP_MAX, True), 3, (3, False))


async def test_a_job_that_was_edited_meanwhile_is_not_taken_back(
    store: Store, clock: ManualClock
) -> None:
    job = await a_follower(store, clock, await a_calendar(store, clock))
    gone = await a_follower(store, clock, await store.calendars.get("business"))
    await a_calendar(store, clock, Calendar.read(["12-25"], []))
    behind = await store.calendars.behind(limit=9)
    await edit(store, clock, job, calendar=None)
    await delete(store, clock, gone)

    made = await store.jobs.remake({each.job: each.decide for each in behind}, now=clock.now())

    assert made == []
    assert (await store.jobs.get(job.id)).definition.calendar is None


async def test_a_job_that_knows_only_an_earlier_version_is_behind_from_the_beginning(
    store: Store, clock: ManualClock
) -> None:
    """Somebody read the calendar, somebody else changed it, and then the job was made."""
    old = await a_calendar(store, clock)
    changed = await a_calendar(store, clock, Calendar.read(["12-25"], []))
    job = await a_follower(store, clock, old)

    await take_over(store, now=clock.now())

    assert (await store.jobs.get(job.id)).definition.calendar == changed.named


async def test_a_paused_job_takes_its_calendar_over_and_each_part_of_the_pause_is_counted(
    store: Store, clock: ManualClock
) -> None:
    on(clock, "2027-01-07T12:00:00Z")
    job = await a_follower(store, clock, await a_calendar(store, clock), paused=True)
    clock.advance(4 * DAY)
    await a_calendar(store, clock, Calendar.read(["2027-01-12"], []))
    await take_over(store, now=clock.now())
    clock.advance(2 * DAY)

    await edit(store, clock, await store.jobs.get(job.id), paused=False)

    balance = await audited(store, clock, job)
    assert (balance.skipped, balance.faults) == ({"paused": 3}, {})  # the 8th, 11th and 13th


async def test_a_calendar_as_long_as_may_be_is_kept_in_rules_and_definitions(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    on(clock, "2027-01-07T08:30:00Z")
    days = [f"{2028 + k // 336}-{k // 28 % 12 + 1:02}-{k % 28 + 1:02}" for k in range(1000)]
    view = await a_calendar(store, clock, Calendar.read(days, []))
    job = await a_follower(store, clock, view)
    twin = await a_follower(store, clock, view, name="twin")

    clock.advance(HOUR)
    made = await claim(store, clock, node)

    assert {run.job for run in made} == {job.id, twin.id}
    assert (await store.jobs.get(job.id)).definition.calendar == view.named


async def test_a_calendar_that_changes_gives_nobody_more_runs_than_were_said(
    store: Store, clock: ManualClock
) -> None:
    on(clock, "2027-01-07T12:00:00Z")
    node = await a_node(store, clock)
    view = await a_calendar(store, clock)
    job = await a_follower(store, clock, view, max_runs=3)  # on the 8th, 11th and 12th
    clock.advance(DAY)
    await finish(store, clock, node, *await claim(store, clock, node))
    await a_calendar(store, clock, Calendar.read(["2027-01-12/2027-01-14"], ["mon-fri"]))

    await take_over(store, now=clock.now())

    followed = await store.jobs.get(job.id)
    assert followed.definition.last_at == parse_instant("2027-01-15T09:00:00Z", field="last")


async def test_a_run_tells_from_where_its_calendar_moved_it_and_how_long_it_is_held_back(
    store: Store, clock: ManualClock
) -> None:
    """The first of March 2026 is a Sunday."""
    node, view = await a_node(store, clock), await a_calendar(store, clock)
    shift = Shift(spread_us=HOUR)
    job = await a_follower(store, clock, view, calendar_roll="next")
    held_back = await a_follower(store, clock, view, shift=shift)
    on(clock, "2026-03-02T09:00:00Z")
    due = clock.now()
    await claim(store, clock, node)

    async def moved(job: Job, run: int) -> Origin:
        return (await store.ledger.story(job.id, run, now=clock.now())).moved

    # Sunday's occurrence came to Monday's own, which is nearer.
    assert await moved(job, occurrence(due)) == (None, None)
    offset = shift.of(held_back.id, due)
    assert await moved(held_back, occurrence(due)) == (None, due + offset)
    await edit(store, clock, job, schedule=Cron.parse("0 9 * * SAT"))
    on(clock, "2026-03-09T09:00:00Z")
    due = clock.now()
    await claim(store, clock, node)
    saturday = due - 2 * DAY
    assert await moved(job, occurrence(due)) == (saturday, None)
    await edit(store, clock, job, calendar=None, calendar_roll="skip")
    assert await moved(job, occurrence(due)) == (saturday, None)
    triggered = await a_run(store, clock, held_back)
    assert await moved(held_back, triggered.run) == (None, None)
    await delete(store, clock, job)
    assert await moved(job, occurrence(due)) == (saturday, None)
