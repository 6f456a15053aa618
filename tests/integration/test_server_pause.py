"""Pause, resume and edits of jobs that are due all the time: each instant has one fate.

Each story has to wait for the clock, so all of them are told at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.integration.test_server_kit import SECOND_US, Json, Stage, finished
from tests.support.rest import eventually, instant_us


@dataclass(frozen=True)
class Told:
    """A job as it was made, as it was edited, and its runs, newest first."""

    job: Json
    edited: Json
    runs: list[Json]
    calls: int
    answered: int = 0


def now_us() -> int:
    return time.time_ns() // 1000


def wait_until(instant: int) -> None:
    eventually(lambda: now_us() > instant, "that instant")


def paused_for_a_while(stage: Stage) -> Told:
    job = stage.job(every=1)
    stage.when_runs(job, lambda runs: bool(finished(runs)), "the first run")
    stage.patched(job, paused=True)
    answered = now_us()
    wait_until(answered + 2_200_000)
    resumed, resumed_at = stage.patched(job, paused=False), now_us()
    runs = stage.when_runs(
        job, lambda runs: instant_us(finished(runs)[0]["scheduledFor"]) > resumed_at, "a new run"
    )
    return Told(job, resumed, runs, len(stage.calls(job)), answered)


def made_paused(stage: Stage) -> Told:
    job = stage.job(every=1, paused=True)
    wait_until(instant_us(job["createdAt"]) + 1_500_000)
    calls = len(stage.calls(job))
    resumed = stage.patched(job, paused=False)
    stage.called(job)
    return Told(job, resumed, stage.runs(job), calls)


def one_off_paused_over_its_instant(stage: Stage) -> Told:
    job = stage.job(delay=1.5)
    stage.patched(job, paused=True)
    wait_until(instant_us(job["runAt"]) + 100_000)
    resumed = stage.patched(job, paused=False)
    runs = stage.when_runs(job, lambda runs: bool(finished(runs)), "its fate")
    return Told(job, resumed, runs, len(stage.calls(job)))


def new_interval(stage: Stage) -> Told:
    job = stage.job(every=3600)
    edited = stage.patched(job, every=1)
    runs = stage.when_runs(job, lambda runs: len(finished(runs)) >= 2, "two runs")
    return Told(job, edited, runs, len(stage.calls(job)))


def edited_all_the_time(stage: Stage) -> Told:
    job = stage.job(every=1)
    for number in range(9):
        wait_until(instant_us(job["createdAt"]) + (number + 1) * 400_000)
        stage.patched(job, name=f"edit {number}")
    runs = stage.when_runs(job, lambda runs: len(finished(runs)) >= 3, "three runs")
    return Told(job, stage.get_job(job), runs, len(stage.calls(job)))


STORIES: tuple[Callable[[Stage], Told], ...] = (
    paused_for_a_while,
    made_paused,
    one_off_paused_over_its_instant,
    new_interval,
    edited_all_the_time,
)


@pytest.fixture(scope="module")
def told(shared: Stage) -> Iterator[dict[str, Future[Told]]]:
    stage = Stage(shared.server, shared.receiver)
    with ThreadPoolExecutor(len(STORIES)) as pool:
        futures = {story.__name__: pool.submit(story, stage) for story in STORIES}
    yield futures
    stage.clean()


def test_a_pause_is_one_skipped_record_with_its_last_instant_and_its_count(told):
    runs = told["paused_for_a_while"].result().runs

    [skipped] = [run for run in runs if run["status"] == "skipped"]
    first, last = instant_us(skipped["scheduledFor"]), instant_us(skipped["until"])
    assert skipped["reason"] == "paused"
    assert skipped["count"] == (last - first) // SECOND_US + 1 >= 2
    assert (skipped["startedAt"], skipped["attempt"]) == (None, 0)


def test_a_pause_holds_within_a_second_and_every_instant_has_one_fate(told):
    story = told["paused_for_a_while"].result()

    [skipped] = [run for run in story.runs if run["status"] == "skipped"]
    first, last = instant_us(skipped["scheduledFor"]), instant_us(skipped["until"])
    ran = [instant_us(run["scheduledFor"]) for run in story.runs if run["status"] == "succeeded"]
    assert not [due for due in ran if story.answered + SECOND_US < due <= last]
    accounted = sorted([*ran, *range(first, last + 1, SECOND_US)])
    begin = instant_us(story.job["createdAt"]) + SECOND_US
    assert accounted == list(range(begin, begin + len(accounted) * SECOND_US, SECOND_US))


def test_a_job_made_paused_runs_only_after_its_resume(told):
    story = told["made_paused"].result()

    assert story.job["nextRunAt"] is None
    assert story.calls == 0
    anchor, coming = instant_us(story.job["createdAt"]), instant_us(story.edited["nextRunAt"])
    assert (coming - anchor) % SECOND_US == 0, "a resume keeps the anchor"


def test_a_paused_one_off_whose_instant_passes_is_skipped(told):
    story = told["one_off_paused_over_its_instant"].result()

    [run] = story.runs
    assert (run["status"], run["reason"]) == ("skipped", "paused")
    assert run["scheduledFor"] == story.job["runAt"]
    assert story.edited["nextRunAt"] is None
    assert story.calls == 0


def test_an_edited_interval_gets_a_new_anchor(told):
    story = told["new_interval"].result()

    anchor = instant_us(story.edited["updatedAt"])
    dues = sorted(instant_us(run["scheduledFor"]) - anchor for run in finished(story.runs))
    assert dues[:2] == [SECOND_US, 2 * SECOND_US]


def test_edits_lose_and_double_no_occurrence(told):
    story = told["edited_all_the_time"].result()

    dues = sorted(instant_us(run["scheduledFor"]) for run in story.runs)
    begin = instant_us(story.job["createdAt"]) + SECOND_US
    assert dues == list(range(begin, begin + len(dues) * SECOND_US, SECOND_US))
    assert story.edited["version"] == 10


def test_a_second_pause_changes_nothing(stage):
    job = stage.job(every=3600)

    first = stage.patched(job, paused=True)
    second = stage.patched(job, paused=True)

    assert (first["paused"], first["nextRunAt"], first["version"]) == (True, None, 2)
    assert second == first


def test_a_pause_lets_runs_that_were_made_go_on(stage):
    job = stage.job("/slow/0.5", every=3600)
    run_id, later = stage.trigger(job), stage.trigger(job, delay=0.2)
    stage.called(job)

    stage.patched(job, paused=True)

    assert stage.over(run_id)["status"] == "succeeded"
    assert stage.over(later)["status"] == "succeeded"


def test_an_edit_of_something_else_keeps_the_anchor(stage):
    job = stage.job(every=3600)

    edited = stage.patched(job, name="renamed", retries=0, payload={"new": True})

    assert edited["nextRunAt"] == job["nextRunAt"]


def test_a_one_off_can_be_moved(stage):
    job = stage.job(delay=3600)

    moved = stage.patched(job, delay=0.3)

    [run] = stage.when_runs(job, lambda runs: bool(finished(runs)), "its run")
    assert (run["status"], run["scheduledFor"]) == ("succeeded", moved["runAt"])
