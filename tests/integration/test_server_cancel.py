"""Cancel: 200 it never starts, 202 its holder is told, 409 it is over, 404 it is unknown."""

from __future__ import annotations

import time

from tests.integration.test_server_kit import SECOND_US, check_problem
from tests.support.rest import eventually, instant_us


def cancel(stage, run_id):
    return stage.rest.post(f"/v1/runs/{run_id}/cancel")


def test_a_run_that_waits_is_cancelled_and_never_starts(stage):
    job = stage.job()
    run_id = stage.trigger(job, delay=1.2)
    due = instant_us(stage.run(run_id)["scheduledFor"])

    reply = cancel(stage, run_id)

    assert (reply.status, reply.json) == (200, {"runId": run_id, "status": "cancelled"})
    run = stage.run(run_id)
    assert (run["status"], run["reason"]) == ("cancelled", "cancelled by request")
    assert (run["startedAt"], run["attempts"][0]["startedAt"]) == (None, None)
    eventually(lambda: time.time_ns() // 1000 > due + 300_000, "a moment after it")
    assert stage.calls(job) == []


def test_a_cancelled_run_may_be_cancelled_again(stage):
    run_id = stage.trigger(stage.job(), delay=3600)

    assert [cancel(stage, run_id).status for _ in range(2)] == [200, 200]


def test_a_running_call_is_aborted_and_its_run_cancelled_within_two_seconds(stage):
    job = stage.job("/hang", retries=5)
    run_id = stage.trigger(job)
    [call] = stage.called(job)

    asked_us = time.time_ns() // 1000
    reply = cancel(stage, run_id)

    assert reply.status == 202
    assert reply.json["runId"] == run_id
    run = stage.over(run_id, within_s=3)
    assert (run["status"], run["attempt"]) == ("cancelled", 1)
    assert run["reason"] == "cancelled by request"
    assert instant_us(run["finishedAt"]) - asked_us <= 2 * SECOND_US
    eventually(lambda: call.abandoned_ns, "the receiver sees the connection close", within_s=2)
    assert cancel(stage, run_id).status == 200


def test_a_run_seen_running_is_cancelled_with_its_start_on_record(stage):
    job = stage.job("/hang")
    run_id = stage.trigger(job)
    running = stage.when(run_id, lambda run: run["status"] == "running", "the start")

    assert cancel(stage, run_id).json == {"runId": run_id, "status": "running"}

    run = stage.over(run_id, within_s=3)
    assert (run["status"], run["startedAt"]) == ("cancelled", running["startedAt"])
    assert run["attempts"] == [
        {
            "attempt": 1,
            "status": "cancelled",
            "startedAt": run["startedAt"],
            "finishedAt": run["finishedAt"],
            "nodeId": run["nodeId"],
            "error": None,
            "output": None,
            "reason": "cancelled by request",
        }
    ]


def test_a_run_that_waits_for_its_retry_is_cancelled_for_good(stage):
    job = stage.job("/status/503", backoff={"initial": 600})
    run_id = stage.trigger(job)
    stage.when(run_id, lambda run: len(run["attempts"]) == 2, "the retry")

    assert cancel(stage, run_id).status == 200

    run = stage.run(run_id)
    assert run["status"] == "cancelled"
    assert run["attempts"][0]["error"] == "HTTP 503 Service Unavailable"


def test_a_run_that_is_over_cannot_be_cancelled(stage):
    succeeded = stage.ran("/ok")
    failed = stage.ran("/status/404")

    for run in (succeeded, failed):
        reply = cancel(stage, run["runId"])
        check_problem(reply, 409)
        assert reply.json["runStatus"] == run["status"]
        assert stage.run(run["runId"]) == run


def test_an_unknown_run_cannot_be_cancelled(stage):
    run_id = stage.ran("/ok")["runId"]
    stranger = f"{'0' * 10}-{run_id.partition('-')[2]}"

    for unknown in ("nothing", stranger, run_id[:-1]):
        check_problem(cancel(stage, unknown), 404)


def test_the_occurrence_of_a_one_off_job_can_be_cancelled(stage):
    job = stage.job(delay=3600)
    [run] = stage.runs(job)

    assert cancel(stage, run["runId"]).status == 200

    assert [run["status"] for run in stage.runs(job)] == ["cancelled"]
