"""What a pause holds back, and how it is accounted for."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot.core.editing import Change, CurrentJob, create, delete, edit
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND, Instant, parse_instant
from onthedot.core.model import Definition, Job, Record, Schedule
from onthedot.core.schedules import Cron, Every
from onthedot.core.states import Status

NOW = parse_instant("2026-03-02T12:00:00Z", field="now")
CREATED = NOW - 10 * DAY - 17 * SECOND
MINUTELY, HOURLY = Cron.parse("* * * * *"), Cron.parse("0 * * * *")
SCHEDULES: list[Schedule] = [MINUTELY, HOURLY, Every(45 * SECOND), Every(7 * DAY), None]
JOB = 33


def a_job(schedule: Schedule, **fields: Any) -> Job:
    given = Definition(
        name="report", handler_url="http://127.0.0.1:9/", schedule=schedule, **fields
    )
    job = create(JOB, given, now=CREATED).job
    assert job is not None
    return job


def current(job: Job, *, now: Instant = NOW, horizon: Instant = 0) -> CurrentJob:
    return CurrentJob(job=job, horizon=horizon, waiting=False, now=now)


def changed(job: Job, *, now: Instant = NOW, horizon: Instant = 0, **changes: Any) -> Change:
    return edit(current(job, now=now, horizon=horizon), job.definition._replace(**changes))


def paused(schedule: Schedule, *, since: Instant) -> Job:
    job = changed(a_job(schedule), now=since, paused=True).job
    assert job is not None
    return job


def skipped(job: Job, first: Instant, last: Instant, count: int | None) -> Record:
    return Record(job.id, job.version, Status.SKIPPED, first, last, count, "paused")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_pause_takes_the_job_out_of_the_clock_from_the_cut_on(schedule):
    change = changed(a_job(schedule), horizon=NOW + SECOND, paused=True)

    assert change.job is not None
    assert (change.job.version, change.job.skipping_from) == (2, NOW + SECOND)
    assert (change.entry, change.run, change.drop, change.record) == (None, None, None, None)


@pytest.mark.parametrize(
    ("schedule", "first", "last", "count", "entry"),
    [
        (MINUTELY, NOW - 59 * MINUTE, NOW, 60, NOW + MINUTE),
        (HOURLY, NOW, NOW, 1, NOW + HOUR),
        (Every(MINUTE), NOW - HOUR + 43 * SECOND, NOW - 17 * SECOND, 60, NOW + 43 * SECOND),
    ],
)
def test_a_resume_leaves_one_record_of_what_the_pause_held_back(
    schedule, first, last, count, entry
):
    job = paused(schedule, since=NOW - HOUR)

    change = changed(job, paused=False)

    assert change.record == skipped(job, first, last, count)
    assert change.entry == entry
    assert change.job is not None
    assert (change.job.version, change.job.skipping_from) == (3, None)


def test_a_pause_in_which_nothing_was_due_leaves_no_record():
    job = paused(HOURLY, since=NOW - 59 * MINUTE)

    change = changed(job, now=NOW - 1, paused=False)

    assert change.record is None
    assert change.entry == NOW


@pytest.mark.parametrize(
    ("since", "until", "count"),
    [
        (NOW, NOW + HOUR, 1),  # due when it began: the old version's; due when it ended: held back
        (NOW - 1, NOW + HOUR, 2),
        (NOW, NOW + HOUR - 1, 0),
        (NOW - 1, NOW + HOUR - 1, 1),
    ],
)
def test_a_pause_begins_after_its_cut_and_ends_with_that_of_the_resume(since, until, count):
    change = changed(paused(HOURLY, since=since), now=until, paused=False)

    assert (change.record.count if change.record else 0) == count
    assert change.entry == NOW + HOUR * (2 if until == NOW + HOUR else 1)


def test_a_resume_skips_what_its_own_cut_covers():
    job = paused(HOURLY, since=NOW - MINUTE)

    change = changed(job, now=NOW - SECOND // 2, horizon=NOW, paused=False)

    assert change.record == skipped(job, NOW, NOW, 1)
    assert change.entry == NOW + HOUR


def test_a_pause_too_long_to_count_still_has_a_first_and_a_last():
    job = paused(MINUTELY, since=NOW)

    change = changed(job, now=NOW + 365 * DAY, paused=False)

    assert change.record == skipped(job, NOW + MINUTE, NOW + 365 * DAY, None)


def test_moving_a_paused_job_records_what_the_old_schedule_held_back():
    job = paused(HOURLY, since=NOW - 3 * HOUR)

    moved = changed(job, schedule=MINUTELY)
    assert moved.job is not None
    resumed = changed(moved.job, now=NOW + 5 * MINUTE, paused=False)

    assert moved.record == skipped(job, NOW - 2 * HOUR, NOW, 3)
    assert moved.entry is None
    assert moved.job.skipping_from == NOW
    assert resumed.record == skipped(moved.job, NOW + MINUTE, NOW + 5 * MINUTE, 5)


def test_an_edit_that_leaves_the_schedule_alone_does_not_split_the_record_of_a_pause():
    job = paused(HOURLY, since=NOW - 3 * HOUR)

    renamed = changed(job, name="renamed")
    assert renamed.job is not None
    resumed = changed(renamed.job, now=NOW + 2 * HOUR, paused=False)

    records = [change.record for change in (renamed, resumed) if change.record]
    assert [(r.first, r.last, r.count) for r in records] == [(NOW - 2 * HOUR, NOW + 2 * HOUR, 5)]


def test_a_paused_job_without_schedule_holds_nothing_back():
    job = paused(None, since=NOW - DAY)

    given_one = changed(job, schedule=HOURLY)
    assert given_one.job is not None
    resumed = changed(given_one.job, now=NOW + 90 * MINUTE, paused=False)

    assert changed(job, paused=False).record is None
    assert (given_one.record, given_one.entry) == (None, None)
    assert resumed.record == skipped(given_one.job, NOW + HOUR, NOW + HOUR, 1)


def test_a_paused_job_whose_schedule_is_taken_away_records_what_was_held_back():
    job = paused(HOURLY, since=NOW - HOUR)

    change = changed(job, schedule=None)

    assert change.record == skipped(job, NOW, NOW, 1)
    assert change.entry is None


def test_pausing_twice_and_resuming_twice_loses_and_doubles_nothing():
    job = paused(HOURLY, since=NOW)
    again = changed(job, now=NOW + 90 * MINUTE, paused=True)
    assert again.job is not None
    resumed = changed(again.job, now=NOW + 150 * MINUTE, paused=False)
    assert resumed.job is not None
    once_more = changed(resumed.job, now=NOW + 160 * MINUTE, paused=False)

    held = [c.record for c in (again, resumed, once_more) if c.record]
    assert sum(record.count or 0 for record in held) == 2
    assert (held[0].first, held[-1].last) == (NOW + HOUR, NOW + 2 * HOUR)
    assert once_more.entry == NOW + 3 * HOUR


def test_a_job_created_paused_counts_its_interval_from_its_creation_all_the_same():
    job = a_job(Every(HOUR), paused=True)

    resumed = changed(job, now=CREATED + 90 * MINUTE, paused=False)

    assert resumed.record == skipped(job, CREATED + HOUR, CREATED + HOUR, 1)
    assert resumed.entry == CREATED + 2 * HOUR


def test_an_edit_of_every_together_with_a_resume_sets_a_new_anchor():
    change = changed(paused(Every(HOUR), since=NOW - DAY), schedule=Every(MINUTE), paused=False)

    assert change.entry == NOW + MINUTE


def test_an_edit_of_every_while_paused_sets_the_anchor_then_and_not_at_the_resume():
    moved = changed(paused(Every(DAY), since=NOW - HOUR), schedule=Every(HOUR)).job
    assert moved is not None

    resumed = changed(moved, now=NOW + 150 * MINUTE, paused=False)

    assert resumed.record == skipped(moved, NOW + HOUR, NOW + 2 * HOUR, 2)
    assert resumed.entry == NOW + 3 * HOUR


def test_deleting_a_paused_job_records_what_its_pause_held_back():
    job = paused(HOURLY, since=NOW - 2 * HOUR)

    change = delete(current(job))

    assert change == Change(job=None, cut=NOW, record=skipped(job, NOW - HOUR, NOW, 2))
