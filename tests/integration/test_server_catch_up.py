"""A server that was away for some seconds: what was due meanwhile is run or missed, by policy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.integration.test_server_kit import SECOND_US, Json, Stage, finished, lateness_us
from tests.support.receiver import Receiver
from tests.support.rest import eventually, instant_us
from tests.support.server import Server

AWAY_S = 4
POLICIES = ("latest", "all", "none")


@dataclass(frozen=True)
class Outage:
    """The runs of each job, oldest first, after the server was away; `begun` when it came back."""

    stage: Stage
    runs: dict[str, list[Json]]
    stopped: int
    begun: int
    exit_code: int
    files: set[str]

    def of(self, name: str, status: str) -> list[Json]:
        return [run for run in self.runs[name] if run["status"] == status]


def now_us() -> int:
    return time.time_ns() // 1000


def prepare(stage: Stage) -> dict[str, Json]:
    jobs = {name: stage.job(name=name, every=1, catchUp=name, catchUpWindow=1) for name in POLICIES}
    jobs["late"] = stage.job(name="late", every=1)
    jobs["one-off"] = stage.job(name="one-off", delay=4, catchUpWindow=1)
    jobs["no one-off"] = stage.job(name="no one-off", delay=4, catchUp="none", catchUpWindow=1)
    jobs["retried"] = stage.job("/fail-times/1", name="retried", backoff={"initial": 4, "max": 4})
    stage.trigger(jobs["retried"])
    stage.called(jobs["retried"])
    stage.called(jobs["late"])
    jobs["in progress"] = stage.job("/slow/0.5", name="in progress", retries=0)
    stage.trigger(jobs["in progress"])
    stage.called(jobs["in progress"])
    return jobs


def settled(stage: Stage, job: Json, *, after: int) -> list[Json]:
    """The runs of a job once none is live that was due before its first run after the outage."""

    def is_settled(runs: list[Json]) -> bool:
        done = finished(runs)
        if job["every"] is None:
            return len(done) == len(runs)
        recent = [run for run in done if instant_us(run["scheduledFor"]) > after]
        return bool(recent) and all(
            run in done for run in runs if instant_us(run["scheduledFor"]) <= after
        )

    return stage.when_runs(job, is_settled, "the end of every old run")[::-1]


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outage]:
    with Receiver() as receiver, Server(tmp_path_factory.mktemp("outage")) as server:
        stage = Stage(server, receiver)
        jobs = prepare(stage)
        exit_code = server.terminate()
        files = {path.name for path in server.database.parent.iterdir()}
        stopped = now_us()
        eventually(lambda: now_us() > stopped + AWAY_S * SECOND_US, "the end of the outage")
        server.start()
        begun = now_us()
        runs = {name: settled(stage, job, after=begun) for name, job in jobs.items()}
        yield Outage(stage, runs, stopped, begun, exit_code, files)


def dues(runs: list[Json]) -> list[int]:
    """Every instant that is accounted for, ranges spread out."""
    found: list[int] = []
    for run in runs:
        first = instant_us(run["scheduledFor"])
        last = instant_us(run["until"] or run["scheduledFor"])
        found += range(first, last + 1, SECOND_US)
    return found


def test_a_server_that_is_told_to_stop_ends_with_0(outage):
    assert outage.exit_code == 0


def test_a_stopped_server_leaves_one_file_and_its_lock(outage):
    assert outage.files == {"onthedot.db", "onthedot.db.lock", "server.log"}


@pytest.mark.parametrize("name", [*POLICIES, "late"])
def test_every_instant_is_in_the_ledger_exactly_once(outage, name):
    found = dues(outage.runs[name])

    assert sorted(found) == list(range(min(found), max(found) + 1, SECOND_US))


@pytest.mark.parametrize("name", [*POLICIES, "late", "one-off"])
def test_nothing_started_before_its_instant(outage, name):
    assert all(lateness_us(run) >= 0 for run in outage.of(name, "succeeded"))


def test_catch_up_all_runs_everything_oldest_first(outage):
    runs = outage.of("all", "succeeded")

    assert outage.of("all", "missed") == []
    # Those younger than the window are merely late: they do not queue behind the older ones.
    old = outage.begun - 2 * SECOND_US
    caught = [run for run in runs if outage.stopped < instant_us(run["scheduledFor"]) < old]
    assert len(caught) >= AWAY_S - 3
    starts = [instant_us(run["startedAt"]) for run in caught]
    assert starts == sorted(starts)


@pytest.mark.parametrize("name", ["latest", "none"])
def test_what_is_missed_is_one_record_with_its_reason(outage, name):
    [missed] = outage.of(name, "missed")

    first, last = instant_us(missed["scheduledFor"]), instant_us(missed["until"])
    assert missed["count"] == (last - first) // SECOND_US + 1 >= AWAY_S - 3
    assert f"catchUp is {name}" in missed["reason"]
    assert (missed["startedAt"], missed["attempt"]) == (None, 0)


def test_an_occurrence_younger_than_the_window_is_late_and_runs(outage):
    assert outage.of("late", "missed") == []
    away = [
        run
        for run in outage.of("late", "succeeded")
        if outage.stopped < instant_us(run["scheduledFor"]) < outage.begun
    ]
    assert len(away) >= AWAY_S - 1, outage.runs["late"]
    assert max(lateness_us(run) for run in away) > 2 * SECOND_US


def test_a_one_off_whose_instant_passed_meanwhile_runs(outage):
    [run] = outage.runs["one-off"]

    assert run["status"] == "succeeded"
    assert instant_us(run["startedAt"]) > outage.stopped


def test_a_one_off_without_catch_up_is_missed(outage):
    [run] = outage.runs["no one-off"]

    assert run["status"] == "missed"
    assert run["reason"]


def test_a_retry_that_waits_survives_the_restart_under_the_same_key(outage):
    [run] = outage.runs["retried"]

    assert (run["status"], run["attempt"], run["rescues"]) == ("succeeded", 2, 0)
    calls = outage.stage.receiver.calls_of(run["runId"])
    assert [call.attempt for call in calls] == [1, 2]


def test_a_stop_waits_for_the_runs_in_progress(outage):
    [run] = outage.runs["in progress"]

    assert (run["status"], run["attempt"], run["rescues"]) == ("succeeded", 1, 0)
    [call] = outage.stage.receiver.calls_of(run["runId"])
    assert call.answered_ns is not None
    assert call.answered_ns // 1000 < outage.stopped


def test_what_does_not_end_within_the_grace_period_is_run_again_and_burns_nothing(tmp_path):
    with Receiver() as receiver, Server(tmp_path, options=("--grace", "0.3")) as server:
        stage = Stage(server, receiver)
        job = stage.job("/slow/0.8", retries=0)
        run_id = stage.trigger(job)
        stage.called(job)

        assert server.terminate() == 0
        server.start()

        run = stage.over(run_id)
        assert (run["status"], run["attempt"]) == ("succeeded", 1)
        assert [call.attempt for call in stage.calls(job)] == [1, 1]
