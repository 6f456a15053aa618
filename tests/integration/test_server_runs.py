"""Runs over HTTP: triggers, what a run tells of itself, the list of runs, idempotency keys."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from tests.integration.test_server_kit import SECOND_US, check_problem, finished, lateness_us
from tests.support.rest import eventually, instant_us

RUN_FIELDS = {
    "runId",
    "backfillOf",
    "jobId",
    "status",
    "scheduledFor",
    "startedAt",
    "finishedAt",
    "nodeId",
    "attempt",
    "error",
    "output",
    "reason",
    "until",
    "count",
    "rescues",
    "redriveOf",
    "progress",
    "version",
}


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def test_a_trigger_is_accepted_and_its_run_succeeds(stage):
    job = stage.job("/echo", payload={"from": "the job"})

    reply = stage.rest.post(f"/v1/jobs/{job['jobId']}/trigger")

    assert reply.status == 202
    assert reply.headers["location"] == f"/v1/runs/{reply.json['runId']}"
    run = stage.over(reply.json["runId"])
    assert set(run) == RUN_FIELDS | {"attempts", "nominal", "notBefore"}
    assert (run["status"], run["attempt"], run["rescues"]) == ("succeeded", 1, 0)
    assert run["jobId"] == job["jobId"]
    assert run["scheduledFor"] == reply.json["scheduledFor"]
    assert run["output"] == '{"from":"the job"}'
    assert [run[name] for name in ("error", "reason", "until", "count")] == [None] * 4
    assert run["scheduledFor"] <= run["startedAt"] <= run["finishedAt"]


def test_a_trigger_with_a_payload_sends_that_one(stage):
    job = stage.job("/echo", payload={"from": "the job"})

    assert stage.over(stage.trigger(job, payload=[1, "two"]))["output"] == '[1,"two"]'
    assert stage.over(stage.trigger(job, payload=None))["output"] == "null"
    assert stage.over(stage.trigger(job))["output"] == '{"from":"the job"}'


def test_a_job_without_a_payload_sends_an_empty_object(stage):
    assert stage.ran("/echo")["output"] == "{}"


def test_a_payload_of_exactly_64_kb_is_sent_whole(stage):
    payload = "x" * (64 * 1024 - 2)
    job = stage.job("/ok", payload=payload)

    stage.over(stage.trigger(job))

    assert stage.calls(job)[0].json == payload


def test_a_trigger_with_a_delay_waits_and_starts_on_the_dot(stage):
    job = stage.job()

    run_id = stage.trigger(job, delay=0.4)

    assert stage.run(run_id)["status"] == "scheduled"
    run = stage.over(run_id)
    assert run["status"] == "succeeded"
    assert 0 <= lateness_us(run) < SECOND_US


def test_a_trigger_for_an_instant_runs_at_that_instant(stage):
    job = stage.job()
    at = in_seconds(0.4)

    run = stage.over(stage.trigger(job, runAt=at))

    assert instant_us(run["scheduledFor"]) == instant_us(at)
    assert lateness_us(run) >= 0


def test_a_trigger_for_an_instant_that_has_passed_runs_at_once(stage):
    job = stage.job()

    run = stage.over(stage.trigger(job, runAt="2020-01-01T00:00:00Z"), within_s=3)

    assert run["status"] == "succeeded"
    assert run["scheduledFor"] == "2020-01-01T00:00:00Z"


def test_a_trigger_works_while_the_job_is_paused(stage):
    job = stage.job(every=1, paused=True)

    assert stage.over(stage.trigger(job))["status"] == "succeeded"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"runAt": "2030-01-01T00:00:00Z", "delay": 5}, "delay"),
        ({"delay": -1}, "delay"),
        ({"delay": "soon"}, "delay"),
        ({"runAt": "tomorrow"}, "runAt"),
        ({"when": 5}, "when"),
        ({"payload": "x" * 65_536}, "payload"),
    ],
)
def test_a_wrong_trigger_is_refused_and_makes_no_run(stage, body, field):
    job = stage.job()

    check_problem(stage.rest.post(f"/v1/jobs/{job['jobId']}/trigger", body), 422, field)

    assert stage.runs(job) == []


def test_runs_are_listed_newest_first_with_the_live_ones_among_them(stage):
    job = stage.job("/slow/5", timeout=30)
    first = stage.trigger(job)
    second = stage.trigger(job, delay=3600)
    third = stage.trigger(job)
    stage.called(job, 2)

    running = stage.when(first, lambda run: run["status"] == "running", "the start")
    runs = stage.runs(job)

    assert [run["runId"] for run in runs] == [third, second, first]
    assert all(set(run) == RUN_FIELDS for run in runs)
    assert runs[1]["status"] == "scheduled"
    assert runs[0]["status"] in ("queued", "running")
    assert running["startedAt"] is not None
    assert running["finishedAt"] is None


def test_runs_are_listed_page_by_page(stage):
    job = stage.job()
    made = [stage.trigger(job) for _ in range(7)]

    first = stage.rest.get(f"/v1/jobs/{job['jobId']}/runs", limit=3).json
    stage.trigger(job)
    rest = stage.rest.get(
        f"/v1/jobs/{job['jobId']}/runs", limit=10, cursor=first["nextCursor"]
    ).json

    assert [run["runId"] for run in first["runs"] + rest["runs"]] == made[::-1]
    assert rest["nextCursor"] is None


def test_a_cursor_is_url_safe_and_belongs_to_one_list(stage):
    job, other = stage.job(), stage.job()
    for _ in range(2):
        stage.trigger(job)
    cursor = stage.rest.get(f"/v1/jobs/{job['jobId']}/runs", limit=1).json["nextCursor"]

    assert cursor.replace("-", "").replace("_", "").isalnum()
    for path in (f"/v1/jobs/{other['jobId']}/runs", "/v1/jobs"):
        check_problem(stage.rest.get(path, cursor=cursor), 422, "cursor")


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "many", "1.5", ""])
def test_a_limit_is_a_whole_number_from_1_to_1000(stage, limit):
    job = stage.job()

    for path in ("/v1/jobs", f"/v1/jobs/{job['jobId']}/runs"):
        check_problem(stage.rest.get(path, limit=limit), 422, "limit")
        assert stage.rest.get(path, limit=1000).status == 200


def test_a_one_off_in_the_past_runs_at_once(stage):
    job = stage.job(runAt="2020-01-01T00:00:00Z")

    [run] = stage.when_runs(job, finished, "the end", within_s=3)

    assert run["status"] == "succeeded"
    assert run["scheduledFor"] == "2020-01-01T00:00:00Z"
    assert stage.get_job(job)["nextRunAt"] is None


def test_a_job_with_a_delay_runs_once_at_its_instant(stage):
    job = stage.job(delay=0.5)

    [run] = stage.when_runs(job, finished, "the end")

    assert run["scheduledFor"] == job["runAt"]
    assert lateness_us(run) >= 0


def test_an_interval_job_runs_at_every_instant_and_never_before_one(stage):
    job = stage.job(every=1)

    runs = stage.when_runs(job, lambda runs: len(finished(runs)) >= 2, "two runs")

    ran = finished(runs)[::-1][:2]
    anchor = instant_us(job["createdAt"])
    dues = [instant_us(run["scheduledFor"]) - anchor for run in ran]
    assert dues == [SECOND_US, 2 * SECOND_US]
    assert all(lateness_us(run) >= 0 for run in ran)
    assert all(call.at_ns // 1000 >= call.scheduled_for_us for call in stage.calls(job))


def test_the_same_idempotency_key_creates_one_job(stage):
    body = {"name": "once", "handlerUrl": f"{stage.receiver.url}/ok", "delay": 3600}
    key = {"Idempotency-Key": uuid.uuid4().hex}

    first = stage.rest.post("/v1/jobs", body, key)
    again = stage.rest.post("/jobs", body, key)

    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    assert again.headers["idempotency-replayed"] == "true"
    named = [job for job in stage.rest.pages("/v1/jobs", "jobs") if job["name"] == "once"]
    assert len(named) == 1
    check_problem(
        stage.rest.post("/v1/jobs", {**body, "name": "twice"}, key), 422, "Idempotency-Key"
    )
    stage.made.append(first.json["jobId"])


def test_the_same_idempotency_key_triggers_one_run(stage):
    job = stage.job()
    path = f"/v1/jobs/{job['jobId']}/trigger"
    key = {"Idempotency-Key": uuid.uuid4().hex}

    first = stage.rest.post(path, {"payload": 1}, key)
    again = stage.rest.post(path, {"payload": 1}, key)

    assert (first.status, again.status) == (202, 202)
    assert again.body == first.body
    stage.over(first.json["runId"])
    assert len(stage.runs(job)) == 1
    check_problem(stage.rest.post(path, {"payload": 2}, key), 422, "Idempotency-Key")
    other = stage.job()
    elsewhere = stage.rest.post(f"/v1/jobs/{other['jobId']}/trigger", {"payload": 1}, key)
    check_problem(elsewhere, 422, "Idempotency-Key")


def test_a_refused_request_does_not_use_up_its_idempotency_key(stage):
    key = {"Idempotency-Key": uuid.uuid4().hex}
    body = {"name": "mended", "handlerUrl": f"{stage.receiver.url}/ok"}

    check_problem(stage.rest.post("/v1/jobs", {**body, "retries": -1}, key), 422, "retries")

    reply = stage.rest.post("/v1/jobs", body, key)
    assert reply.status == 201
    stage.made.append(reply.json["jobId"])


def test_the_history_of_a_deleted_job_is_still_there(stage):
    job = stage.job()
    run = stage.over(stage.trigger(job))

    assert stage.rest.delete(f"/v1/jobs/{job['jobId']}").status == 204

    assert stage.run(run["runId"]) == run


def test_deleting_a_job_cancels_what_waits_and_stops_what_runs(stage):
    job = stage.job("/hang", retries=5)
    running, waiting = stage.trigger(job), stage.trigger(job, delay=3600)
    [call] = stage.called(job)

    assert stage.rest.delete(f"/v1/jobs/{job['jobId']}").status == 204

    assert stage.run(waiting)["status"] == "cancelled"
    assert stage.run(waiting)["reason"] == "job deleted"
    stopped = stage.over(running, within_s=3)
    assert (stopped["status"], stopped["reason"]) == ("cancelled", "job deleted")
    eventually(lambda: call.abandoned_ns, "the end of the call")
