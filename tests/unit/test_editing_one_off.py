"""What edits, pauses and deletions do to a job of one instant."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot.core.editing import Change, CurrentJob, create, delete, edit
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND, Instant, parse_instant
from onthedot.core.model import Definition, Job, NewRun, Once, Record, Schedule, occurrence
from onthedot.core.schedules import Cron, Every
from onthedot.core.states import Status

NOW = parse_instant("2026-03-02T12:00:00Z", field="now")
CREATED = NOW - DAY
MINUTELY, HOURLY = Cron.parse("* * * * *"), Cron.parse("0 * * * *")
JOB = 33


def a_definition(schedule: Schedule, **fields: Any) -> Definition:
    return Definition(name="report", handler_url="http://127.0.0.1:9/", schedule=schedule, **fields)


def a_job(schedule: Schedule, **fields: Any) -> Job:
    job = create(JOB, a_definition(schedule, **fields), now=CREATED).job
    assert job is not None
    return job


def current(job: Job, *, waiting: bool, now: Instant = NOW, horizon: Instant = 0) -> CurrentJob:
    return CurrentJob(job=job, horizon=horizon, waiting=waiting, now=now)


def changed(stands: CurrentJob, **changes: Any) -> Change:
    return edit(stands, stands.job.definition._replace(**changes))


def after(stands: CurrentJob, **changes: Any) -> Job:
    job = changed(stands, **changes).job
    assert job is not None
    return job


def a_run(at: Instant, *, version: int, expires: Instant | None = None) -> NewRun:
    return NewRun(JOB, occurrence(at), version, "default|default|", 0, 5, at, at, None, expires)


def skipped(at: Instant, *, version: int) -> Record:
    return Record(JOB, version, Status.SKIPPED, at, at, 1, "paused")


def held(change: Change) -> Instant | None:
    assert change.job is not None
    return change.job.skipping_from


# --- creating -----------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [NOW + DAY, NOW + 1, NOW, NOW - 1, NOW - DAY])
def test_a_new_one_off_waits_for_its_instant_or_runs_at_once_if_it_has_passed(at):
    change = create(JOB, a_definition(Once(at), queue="mail", priority=8), now=NOW)

    expected = NewRun(JOB, occurrence(at), 1, "default|mail|", 0, 8, at, at, None, None)
    assert change.run == expected
    assert (change.entry, change.drop, change.record) == (None, None, None)


@pytest.mark.parametrize(
    ("at", "expires"),
    [(NOW + HOUR, NOW + HOUR + MINUTE), (NOW, NOW + MINUTE), (NOW - DAY, NOW + MINUTE)],
)
def test_with_catch_up_none_it_may_be_late_by_the_window_and_no_more(at, expires):
    change = create(JOB, a_definition(Once(at), catch_up="none"), now=NOW)

    assert change.run == a_run(at, version=1, expires=expires)


@pytest.mark.parametrize("policy", ["latest", "all"])
def test_with_any_other_policy_it_runs_however_late(policy):
    change = create(JOB, a_definition(Once(NOW - DAY), catch_up=policy), now=NOW)

    assert change.run == a_run(NOW - DAY, version=1)


@pytest.mark.parametrize("at", [NOW + HOUR, NOW - HOUR])
def test_a_one_off_created_paused_makes_no_run(at):
    change = create(JOB, a_definition(Once(at), paused=True), now=NOW)

    assert held(change) == NOW
    assert (change.run, change.entry, change.drop, change.record) == (None, None, None, None)


def test_a_one_off_created_paused_and_resumed_in_time_runs():
    job = a_job(Once(NOW + HOUR), paused=True)

    change = changed(current(job, waiting=False), paused=False)

    assert change.run == a_run(NOW + HOUR, version=2)
    assert (change.drop, change.record, held(change)) == (None, None, None)


@pytest.mark.parametrize("at", [NOW, NOW - HOUR, CREATED, CREATED - HOUR])
def test_a_one_off_created_paused_and_resumed_too_late_is_skipped(at):
    job = a_job(Once(at), paused=True)

    change = changed(current(job, waiting=False), paused=False)

    assert change.record == skipped(at, version=1)
    assert (change.run, change.drop, held(change)) == (None, None, None)


# --- editing ------------------------------------------------------------------------------------


def test_an_edit_in_time_replaces_the_waiting_run():
    job = a_job(Once(NOW + HOUR))

    change = changed(current(job, waiting=True), queue="mail", catch_up="none")

    assert change.drop == occurrence(NOW + HOUR)
    assert change.run == a_run(NOW + HOUR, version=2, expires=NOW + HOUR + MINUTE)._replace(
        lane="default|mail|"
    )
    assert (change.record, change.entry, held(change)) == (None, None, None)


@pytest.mark.parametrize(("cut", "stays"), [(-1, False), (0, True), (1, True)])
@pytest.mark.parametrize("paused", [False, True])
def test_a_waiting_run_due_up_to_the_cut_stays_the_old_versions(cut, stays, paused):
    job = a_job(Once(NOW))

    change = changed(
        current(job, waiting=True, now=NOW - SECOND, horizon=NOW + cut), name="x", paused=paused
    )

    assert change.drop == (None if stays else occurrence(NOW))
    assert change.run == (None if stays or paused else a_run(NOW, version=2))
    assert held(change) == (NOW + cut if paused and not stays else None)


def test_an_overdue_run_stays_when_the_job_is_given_another_instant():
    job = a_job(Once(NOW - MINUTE))

    change = changed(current(job, waiting=True), schedule=Once(NOW + HOUR))

    assert (change.drop, change.record) == (None, None)
    assert change.run == a_run(NOW + HOUR, version=2)


@pytest.mark.parametrize("at", [NOW - DAY, NOW - MINUTE, NOW, NOW + SECOND // 2])
@pytest.mark.parametrize("to", [{"name": "x"}, {"paused": True}, {"retries": 0}])
def test_a_one_off_whose_run_was_claimed_is_not_made_again(at, to):
    job = a_job(Once(at))

    change = changed(current(job, waiting=False), **to)
    assert change.job is not None
    resumed = changed(current(change.job, waiting=False, now=NOW + DAY), paused=False)

    for each in (change, resumed):
        assert (each.run, each.drop, each.record, each.entry, held(each)) == (
            None,
            None,
            None,
            None,
            None,
        )


def test_an_instant_that_is_moved_takes_its_waiting_run_along():
    job = a_job(Once(NOW + HOUR))

    change = changed(current(job, waiting=True), schedule=Once(NOW + DAY))

    assert change.drop == occurrence(NOW + HOUR)
    assert change.run == a_run(NOW + DAY, version=2)
    assert change.record is None


def test_an_instant_that_is_moved_into_the_past_runs_at_once():
    job = a_job(Once(NOW + HOUR))

    change = changed(current(job, waiting=True), schedule=Once(NOW - DAY))

    assert change.drop == occurrence(NOW + HOUR)
    assert change.run == a_run(NOW - DAY, version=2)


def test_a_finished_one_off_can_be_given_another_instant():
    job = a_job(Once(NOW - HOUR))

    change = changed(current(job, waiting=False), schedule=Once(NOW + HOUR))

    assert change.run == a_run(NOW + HOUR, version=2)
    assert (change.drop, change.record) == (None, None)


# --- pausing and resuming -----------------------------------------------------------------------


def test_a_pause_takes_the_waiting_run_away_and_a_resume_in_time_brings_it_back():
    job = a_job(Once(NOW + HOUR))

    pause = changed(current(job, waiting=True), paused=True)
    assert pause.job is not None
    resume = changed(current(pause.job, waiting=False, now=NOW + HOUR - 1), paused=False)

    assert (pause.drop, held(pause)) == (occurrence(NOW + HOUR), NOW)
    assert (pause.run, pause.record) == (None, None)
    assert resume.run == a_run(NOW + HOUR, version=3)
    assert (resume.drop, resume.record, held(resume)) == (None, None, None)


@pytest.mark.parametrize("late", [0, 1, DAY])
def test_an_instant_that_passes_during_a_pause_is_skipped(late):
    job = after(current(a_job(Once(NOW + HOUR)), waiting=True), paused=True)

    change = changed(current(job, waiting=False, now=NOW + HOUR + late), paused=False)

    assert change.record == skipped(NOW + HOUR, version=2)
    assert (change.run, change.drop, held(change)) == (None, None, None)


def test_an_instant_that_passed_during_a_pause_is_recorded_once():
    job = after(current(a_job(Once(NOW + HOUR)), waiting=True), paused=True)

    renamed = changed(current(job, waiting=False, now=NOW + DAY), name="renamed")
    assert renamed.job is not None
    resumed = changed(current(renamed.job, waiting=False, now=NOW + 2 * DAY), paused=False)

    [record] = [change.record for change in (renamed, resumed) if change.record]
    assert (record.status, record.first, record.last) == (Status.SKIPPED, NOW + HOUR, NOW + HOUR)
    assert (renamed.run, resumed.run) == (None, None)


def test_an_edit_during_a_pause_keeps_holding_the_instant_back():
    job = after(current(a_job(Once(NOW + HOUR)), waiting=True), paused=True)

    renamed = changed(current(job, waiting=False, now=NOW + MINUTE), name="renamed")
    assert renamed.job is not None
    resumed = changed(current(renamed.job, waiting=False, now=NOW + DAY), paused=False)

    assert (renamed.run, renamed.drop, renamed.record) == (None, None, None)
    assert resumed.record == skipped(NOW + HOUR, version=3)


def test_paused_then_moved_then_resumed_runs_at_the_new_instant_only():
    job = after(current(a_job(Once(NOW + HOUR)), waiting=True), paused=True)

    moved = changed(current(job, waiting=False, now=NOW + MINUTE), schedule=Once(NOW + DAY))
    assert moved.job is not None
    resumed = changed(current(moved.job, waiting=False, now=NOW + 2 * HOUR), paused=False)

    assert (moved.record, moved.run, moved.drop) == (None, None, None)
    assert resumed.run == a_run(NOW + DAY, version=4)
    assert resumed.record is None


def test_moved_after_its_instant_has_passed_in_the_pause_both_are_accounted_for():
    job = after(current(a_job(Once(NOW + HOUR)), waiting=True), paused=True)

    moved = changed(current(job, waiting=False, now=NOW + DAY), schedule=Once(NOW + 2 * DAY))
    assert moved.job is not None
    resumed = changed(current(moved.job, waiting=False, now=NOW + 3 * DAY), paused=False)

    assert moved.record == skipped(NOW + HOUR, version=2)
    assert resumed.record == skipped(NOW + 2 * DAY, version=3)


def test_moved_into_the_past_while_paused_is_skipped_at_the_resume():
    job = after(current(a_job(Once(NOW + HOUR)), waiting=True), paused=True)

    moved = changed(current(job, waiting=False), schedule=Once(NOW - DAY))
    assert moved.job is not None
    resumed = changed(current(moved.job, waiting=False), paused=False)

    assert (moved.record, moved.run) == (None, None)
    assert resumed.record == skipped(NOW - DAY, version=3)
    assert resumed.run is None


def test_moved_and_resumed_in_one_edit_runs_at_the_new_instant():
    job = after(current(a_job(Once(NOW + HOUR)), waiting=True), paused=True)

    change = changed(
        current(job, waiting=False, now=NOW + DAY), schedule=Once(NOW + 2 * DAY), paused=False
    )

    assert change.record == skipped(NOW + HOUR, version=2)
    assert change.run == a_run(NOW + 2 * DAY, version=3)
    assert held(change) is None


def test_moved_and_paused_in_one_edit_holds_the_new_instant_back():
    job = a_job(Once(NOW + HOUR))

    change = changed(current(job, waiting=True), schedule=Once(NOW + DAY), paused=True)

    assert (change.drop, held(change)) == (occurrence(NOW + HOUR), NOW)
    assert (change.run, change.record) == (None, None)


# --- becoming something else --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "entry"),
    [(MINUTELY, NOW + MINUTE), (Every(HOUR), NOW + HOUR), (None, None)],
)
def test_a_one_off_that_becomes_something_else_loses_its_waiting_run(schedule, entry):
    change = changed(current(a_job(Once(NOW + DAY)), waiting=True), schedule=schedule)

    assert (change.drop, change.entry) == (occurrence(NOW + DAY), entry)
    assert (change.run, change.record) == (None, None)


@pytest.mark.parametrize("schedule", [MINUTELY, Every(HOUR), None])
def test_whatever_becomes_a_one_off_gets_a_waiting_run(schedule):
    change = changed(current(a_job(schedule), waiting=False), schedule=Once(NOW + HOUR))

    assert change.run == a_run(NOW + HOUR, version=2)
    assert (change.entry, change.drop, change.record) == (None, None, None)


def test_a_paused_recurring_job_that_becomes_a_one_off_records_and_goes_on_holding():
    job = after(current(a_job(HOURLY), waiting=False, now=NOW - HOUR), paused=True)

    moved = changed(current(job, waiting=False), schedule=Once(NOW + HOUR))
    assert moved.job is not None
    resumed = changed(current(moved.job, waiting=False, now=NOW + DAY), paused=False)

    assert moved.record == skipped(NOW, version=2)
    assert resumed.record == skipped(NOW + HOUR, version=3)


def test_an_instant_that_was_claimed_ahead_is_not_given_to_a_recurring_version_too():
    at = NOW + MINUTE
    stands = current(a_job(Once(at)), waiting=False, now=at - SECOND // 2, horizon=at)

    change = changed(stands, schedule=MINUTELY)

    assert change.entry is not None
    assert change.entry > at


@pytest.mark.parametrize("at", [NOW - 5 * MINUTE, NOW])
@pytest.mark.parametrize("paused", [False, True])
def test_an_occurrence_that_the_old_version_accounts_for_is_not_given_to_a_one_off_too(at, paused):
    change = changed(current(a_job(MINUTELY), waiting=False), schedule=Once(at), paused=paused)

    assert (change.run, held(change)) == (None, None)


@pytest.mark.parametrize("at", [NOW - 5 * MINUTE - 1, NOW + MINUTE, CREATED])
def test_an_instant_that_is_not_one_of_the_old_version_makes_a_run(at):
    change = changed(current(a_job(MINUTELY), waiting=False), schedule=Once(at))

    assert change.run == a_run(at, version=2)


def test_an_occurrence_that_a_pause_held_back_is_not_given_to_a_one_off_too():
    paused = after(current(a_job(HOURLY), waiting=False, now=NOW - 3 * HOUR), paused=True)
    renamed = after(current(paused, waiting=False, now=NOW), name="renamed")

    moved = changed(
        current(renamed, waiting=False, now=NOW + HOUR), schedule=Once(NOW - HOUR), paused=False
    )

    assert moved.record is not None
    assert moved.record.first <= NOW - HOUR <= moved.record.last
    assert moved.run is None


# --- deleting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [NOW - DAY, NOW, NOW + DAY])
@pytest.mark.parametrize("waiting", [True, False])
def test_deleting_a_one_off_leaves_its_run_to_the_store(at, waiting):
    change = delete(current(a_job(Once(at)), waiting=waiting, horizon=NOW + SECOND))

    assert change == Change(job=None, cut=NOW + SECOND)


@pytest.mark.parametrize(("now", "passed"), [(NOW + HOUR - 1, False), (NOW + HOUR, True)])
def test_deleting_a_paused_one_off_records_its_instant_if_it_has_passed(now, passed):
    job = after(current(a_job(Once(NOW + HOUR)), waiting=True), paused=True)

    change = delete(current(job, waiting=False, now=now))

    assert change.record == (skipped(NOW + HOUR, version=2) if passed else None)
