"""What edits do to recurring and triggered-only jobs. (More: test_editing_pauses, _one_off.)"""

from __future__ import annotations

from typing import Any

import pytest

from onthedot.core.editing import (
    Change,
    CurrentJob,
    create,
    delete,
    edit,
    next_run_at,
    refuse_without_instant,
)
from onthedot.core.instants import DAY, HOUR, INSTANT_MAX, MINUTE, SECOND, Instant, parse_instant
from onthedot.core.model import Definition, Job, Once, Schedule
from onthedot.core.schedules import Cron, Every
from onthedot.errors import NeverFires

NOW = parse_instant("2026-03-02T12:00:00Z", field="now")
CREATED = NOW - 10 * DAY - 17 * SECOND
MINUTELY, HOURLY, YEARLY = (Cron.parse(e) for e in ("* * * * *", "0 * * * *", "0 0 1 1 *"))
SCHEDULES: list[Schedule] = [MINUTELY, HOURLY, Every(45 * SECOND), Every(7 * DAY), None]
RECURRING = [schedule for schedule in SCHEDULES if schedule is not None]
JOB = 33


def a_definition(schedule: Schedule, **fields: Any) -> Definition:
    return Definition(name="report", handler_url="http://127.0.0.1:9/", schedule=schedule, **fields)


def a_job(schedule: Schedule, **fields: Any) -> Job:
    job = create(JOB, a_definition(schedule, **fields), now=CREATED).job
    assert job is not None
    return job


def current(job: Job, *, now: Instant = NOW, horizon: Instant = 0) -> CurrentJob:
    return CurrentJob(job=job, horizon=horizon, waiting=False, now=now)


def changed(job: Job, *, now: Instant = NOW, horizon: Instant = 0, **changes: Any) -> Change:
    return edit(current(job, now=now, horizon=horizon), job.definition._replace(**changes))


def after(job: Job, *, now: Instant = NOW, horizon: Instant = 0, **changes: Any) -> Job:
    edited = changed(job, now=now, horizon=horizon, **changes).job
    assert edited is not None
    return edited


# --- creating -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "entry"),
    [
        (MINUTELY, NOW + MINUTE),
        (HOURLY, NOW + HOUR),
        (Every(SECOND), NOW + SECOND),
        (Every(7 * DAY), NOW + 7 * DAY),
        (None, None),
    ],
)
def test_a_new_job_begins_with_the_first_instant_after_its_creation(schedule, entry):
    change = create(JOB, a_definition(schedule), now=NOW)

    assert change.job == Job(
        id=JOB,
        version=1,
        definition=a_definition(schedule),
        anchor=NOW,
        since=NOW,
        created_at=NOW,
        updated_at=NOW,
    )
    assert (change.cut, change.entry) == (NOW, entry)
    assert (change.drop, change.run, change.record) == (None, None, None)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_job_created_paused_has_nothing_in_the_clock(schedule):
    change = create(JOB, a_definition(schedule, paused=True), now=NOW)

    assert change.job is not None
    assert change.job.skipping_from == NOW
    assert (change.entry, change.run, change.drop, change.record) == (None, None, None, None)


# --- the cut ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("horizon", "cut"), [(NOW - DAY, NOW), (NOW, NOW), (NOW + SECOND, NOW + SECOND)]
)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_cut_is_the_later_of_the_horizon_and_now(schedule, horizon, cut):
    job = a_job(schedule)

    assert changed(job, horizon=horizon, name="renamed").cut == cut
    assert changed(job, horizon=horizon, paused=True).cut == cut
    assert changed(job, horizon=horizon, schedule=YEARLY).cut == cut
    assert delete(current(job, horizon=horizon)).cut == cut


def test_a_clock_that_was_set_back_does_not_move_the_cut_back():
    job = after(a_job(MINUTELY), now=NOW + HOUR, name="renamed")

    change = changed(job, now=NOW, name="renamed again")

    assert (change.cut, change.entry) == (NOW + HOUR, NOW + HOUR + MINUTE)


@pytest.mark.parametrize("schedule", RECURRING)
@pytest.mark.parametrize("horizon", [0, NOW + SECOND])
@pytest.mark.parametrize("to", [{"name": "renamed"}, {"retries": 9}, {"queue": "mail"}])
def test_an_edit_that_leaves_the_schedule_alone_keeps_its_instants(schedule, horizon, to):
    job = a_job(schedule)

    change = changed(job, horizon=horizon, **to)

    cut = max(NOW, horizon)
    assert change.entry == schedule.after(cut, anchor=CREATED)
    definition = job.definition._replace(**to)
    assert change.job == job._replace(version=2, definition=definition, since=cut, updated_at=NOW)
    assert (change.drop, change.run, change.record) == (None, None, None)


@pytest.mark.parametrize(("due", "entry"), [(0, MINUTE), (1, 1), (-1, MINUTE - 1)])
def test_an_instant_at_the_cut_belongs_to_the_old_version(due, entry):
    job = a_job(Every(MINUTE))
    cut = CREATED + 5 * MINUTE - due

    change = changed(job, now=cut - SECOND // 2, horizon=cut, name="renamed")

    assert change.entry == cut + entry


# --- the anchor ---------------------------------------------------------------------------------


def test_an_edit_of_every_sets_a_new_anchor():
    change = changed(a_job(Every(HOUR)), schedule=Every(2 * HOUR))

    assert change.job is not None
    assert change.job.anchor == NOW
    assert change.entry == NOW + 2 * HOUR


def test_an_interval_in_place_of_something_else_is_counted_from_the_edit():
    for schedule in (MINUTELY, None):
        change = changed(a_job(schedule), schedule=Every(HOUR))

        assert change.entry == NOW + HOUR


def test_neither_pausing_nor_resuming_sets_a_new_anchor():
    job = a_job(Every(HOUR))
    pause = after(job, now=CREATED + 10 * MINUTE, paused=True)
    resume = changed(pause, now=CREATED + 20 * MINUTE, paused=False)

    assert resume.job is not None
    assert pause.anchor == resume.job.anchor == CREATED
    assert resume.entry == CREATED + HOUR


# --- moving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", SCHEDULES)
@pytest.mark.parametrize("new", SCHEDULES)
def test_a_moved_job_begins_with_its_first_instant_after_the_cut(old, new):
    change = changed(a_job(old), horizon=NOW + SECOND, schedule=new)

    if new is None:
        assert change.entry is None
    elif new == old:
        assert change.entry == new.after(NOW + SECOND, anchor=CREATED)
    else:
        assert change.entry == new.after(NOW + SECOND, anchor=NOW)
    assert (change.drop, change.run, change.record) == (None, None, None)


def test_another_timezone_moves_the_instants():
    job = a_job(Cron.parse("0 9 * * *"))

    change = changed(job, schedule=Cron.parse("0 9 * * *", "America/New_York"))

    assert change.entry == parse_instant("2026-03-02T14:00:00Z", field="at")


def test_a_schedule_that_is_over_leaves_nothing_in_the_clock():
    eve = parse_instant("2199-12-31T12:00:00Z", field="now")

    change = changed(a_job(MINUTELY), now=eve, schedule=YEARLY)

    assert change.entry is None


# --- deleting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_deleting_an_active_job_leaves_the_rest_to_its_cut(schedule):
    change = delete(current(a_job(schedule), horizon=NOW + SECOND))

    assert change == Change(job=None, cut=NOW + SECOND)


# --- what people see ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "shown"),
    [
        (MINUTELY, NOW + MINUTE),
        (Every(DAY), CREATED + 11 * DAY),
        (None, None),
        (Once(NOW + 1), NOW + 1),
        (Once(NOW), None),
    ],
)
def test_the_next_run_is_the_first_instant_after_now(schedule, shown):
    assert next_run_at(a_job(schedule), NOW) == shown
    assert next_run_at(a_job(schedule, paused=True), NOW) is None


def test_a_schedule_without_any_instant_left_is_refused():
    eve = parse_instant("2199-12-31T12:00:00Z", field="now")

    for schedule in (YEARLY, Every(DAY)):
        with pytest.raises(NeverFires) as caught:
            refuse_without_instant(a_definition(schedule), now=eve)
        assert caught.value.hint


@pytest.mark.parametrize("schedule", [MINUTELY, Every(SECOND), None, Once(0), Once(INSTANT_MAX)])
def test_a_schedule_with_an_instant_or_none_by_intention_is_taken(schedule):
    eve = parse_instant("2199-12-31T12:00:00Z", field="now")

    assert refuse_without_instant(a_definition(schedule), now=eve) is None  # type: ignore[func-returns-value]
