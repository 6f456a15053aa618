"""Jobs over HTTP: every field, its default, its units, and the lists they are found in."""

from __future__ import annotations

import pytest

from tests.integration.test_server_kit import SECOND_US, Json, check_problem
from tests.support.rest import instant_us

EVERY_FIELD = {
    "key": "billing/nightly",
    "name": "nightly report",
    "namespace": "default",
    "owner": "team-billing",
    "payload": {"report": "nightly", "size": 12345678901234567890, "deep": [1, {"a": None}]},
    "cronExpr": "30 2 * * MON-FRI",
    "timezone": "Europe/Berlin",
    "timeout": 1.5,
    "retries": 7,
    "backoff": {"initial": 0.5, "factor": 3, "max": 90},
    "queue": "reports",
    "priority": 9,
    "guarantee": "at_least_once",
    "catchUp": "all",
    "catchUpWindow": 5,
    "overlap": "allow",
    "tags": ["billing", "nightly"],
    "paused": True,
}
DEFAULTS: Json = {
    "key": None,
    "namespace": "default",
    "owner": None,
    "payload": {},
    "cronExpr": None,
    "every": None,
    "fixedDelay": None,
    "calendar": None,
    "calendarRoll": "skip",
    "calendarVersion": None,
    "runAt": None,
    "delay": None,
    "schedule": None,
    "sentence": None,
    "normalised": None,
    "handler": None,
    "onFailure": None,
    "timezone": "UTC",
    "dstGap": None,
    "dstOverlap": None,
    "timeout": 60,
    "retries": 3,
    "backoff": {"initial": 1, "factor": 2, "max": 3600},
    "queue": "default",
    "priority": 5,
    "guarantee": "at_least_once",
    "catchUp": "latest",
    "catchUpWindow": 60,
    "catchUpMaxAge": None,
    "catchUpMax": 1000,
    "catchUpRate": 50,
    "overlap": "allow",
    "tags": [],
    "paused": False,
    "startAt": None,
    "endAt": None,
    "maxRuns": None,
    "jitter": 0,
    "spread": 0,
    "version": 1,
    "nextRunAt": None,
    "nextStartAt": None,
    "lastRunAt": None,
}


def test_every_field_that_was_given_is_shown_as_it_was_given(stage):
    job = stage.job(**EVERY_FIELD)

    shown = stage.get_job(job)
    assert shown == job
    assert EVERY_FIELD.items() <= shown.items()


def test_a_job_of_two_fields_has_the_documented_defaults(stage):
    job = stage.job(name="plain")

    assert DEFAULTS.items() <= job.items()
    assert set(job) == {*DEFAULTS, "jobId", "name", "handlerUrl", "createdAt", "updatedAt"}
    assert job["createdAt"] == job["updatedAt"]
    assert job["createdAt"].endswith("Z")


def test_the_original_contract_is_kept(stage):
    asked = {
        "name": "report",
        "cronExpr": "0 2 * * *",
        "handlerUrl": f"{stage.receiver.url}/ok",
        "payload": {"a": 1},
        "timeout": 30,
        "retries": 2,
    }

    reply = stage.rest.post("/jobs", asked)

    assert reply.status == 201
    assert asked.items() <= reply.json.items()
    assert reply.headers["location"] == f"/v1/jobs/{reply.json['jobId']}"
    stage.made.append(reply.json["jobId"])


def test_every_path_answers_with_and_without_its_prefix(stage):
    job = stage.job()
    run_id = stage.trigger(job)
    stage.over(run_id)

    for path in (f"/jobs/{job['jobId']}", f"/jobs/{job['jobId']}/runs", f"/runs/{run_id}"):
        assert stage.rest.get(path).json == stage.rest.get(f"/v1{path}").json
    for prefix in ("", "/v1"):
        rest = stage.rest
        assert rest.get(f"{prefix}/jobs").status == 200
        assert rest.post(f"{prefix}/jobs/{job['jobId']}/trigger").status == 202
        assert rest.patch(f"{prefix}/jobs/{job['jobId']}", {"owner": prefix or "x"}).status == 200
        assert rest.post(f"{prefix}/runs/{run_id}/cancel").status == 409
        mine = rest.post(f"{prefix}/jobs", {"name": "x", "handlerUrl": job["handlerUrl"]})
        assert rest.delete(f"{prefix}/jobs/{mine.json['jobId']}").status == 204


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(90, 90), (2.25, 2.25), ("PT1M30S", 90), ("PT2.25S", 2.25), ("P1DT1H", 90_000)],
)
def test_durations_are_seconds_or_iso_8601(stage, given, seconds):
    job = stage.job(every=given, catchUpWindow=given, paused=True)

    assert (job["every"], job["catchUpWindow"]) == (seconds, seconds)


def test_a_timeout_and_a_backoff_may_be_iso_8601_durations(stage):
    job = stage.job(timeout="PT2M", backoff={"initial": "PT0.5S", "max": "PT1M"})

    assert job["timeout"] == 120
    assert job["backoff"] == {"initial": 0.5, "factor": 2, "max": 60}


def test_the_first_occurrence_of_an_interval_is_one_interval_after_creation(stage):
    job = stage.job(every=3600)

    assert instant_us(job["nextRunAt"]) == instant_us(job["createdAt"]) + 3600 * SECOND_US


def test_a_delay_is_counted_from_creation_and_shown_as_an_instant(stage):
    job = stage.job(delay="PT1H")

    assert job["runAt"] == job["nextRunAt"]
    assert instant_us(job["runAt"]) == instant_us(job["createdAt"]) + 3600 * SECOND_US


def test_an_instant_with_an_offset_is_shown_in_utc(stage):
    job = stage.job(runAt="2199-01-31T10:30:00+01:00")

    assert job["runAt"] == job["nextRunAt"] == "2199-01-31T09:30:00Z"


def test_a_cron_expression_is_read_in_its_time_zone(stage):
    job = stage.job(schedule="0 9 1 1 *", timezone="Asia/Tokyo")

    assert (job["schedule"], job["normalised"]) == ("0 9 1 1 *", "0 9 1 1 *")
    assert job["nextRunAt"].endswith("-01-01T00:00:00Z")


def test_a_key_belongs_to_one_job(stage):
    first = stage.job(key="only-one")

    second = stage.rest.post(
        "/v1/jobs", {"name": "second", "key": "only-one", "handlerUrl": first["handlerUrl"]}
    )

    check_problem(second, 409, "key")
    stage.rest.delete(f"/v1/jobs/{first['jobId']}")
    assert stage.job(key="only-one")["jobId"] != first["jobId"]


def test_jobs_are_listed_newest_first_and_page_by_page(stage):
    made = [stage.job(name=f"page {number}")["jobId"] for number in range(7)]

    listed = [job["jobId"] for job in stage.rest.pages("/v1/jobs", "jobs", limit=3)]

    assert listed[:7] == made[::-1]
    assert len(set(listed)) == len(listed)


def test_a_job_made_while_pages_are_read_disturbs_none_of_them(stage):
    made = [stage.job(name=f"page {number}")["jobId"] for number in range(4)]
    first = stage.rest.get("/v1/jobs", limit=2).json

    late = stage.job(name="late")["jobId"]
    stage.rest.delete(f"/v1/jobs/{made[2]}")
    second = stage.rest.get("/v1/jobs", limit=2, cursor=first["nextCursor"]).json

    assert [job["jobId"] for job in first["jobs"]] == [made[3], made[2]]
    assert [job["jobId"] for job in second["jobs"]] == [made[1], made[0]]
    assert late not in {job["jobId"] for job in second["jobs"]}


def test_a_list_has_fifty_jobs_unless_told_otherwise(stage):
    for number in range(51):
        stage.job(name=f"many {number}")

    page = stage.rest.get("/v1/jobs").json

    assert len(page["jobs"]) == 50
    assert page["nextCursor"]
    assert len(stage.rest.get("/v1/jobs", limit=1000).json["jobs"]) > 50


def test_an_edit_is_a_new_version_of_the_same_job(stage):
    job = stage.job(every=3600, name="before", tags=["a"])

    edited = stage.patched(job, name="after", retries=0)

    assert edited["version"] == 2
    assert edited["updatedAt"] > job["updatedAt"]
    changed = {"name", "retries", "version", "updatedAt"}
    assert {name for name in job if job[name] != edited[name]} == changed
    assert stage.get_job(job) == edited


def test_an_edit_of_a_version_that_was_overtaken_is_refused(stage):
    job = stage.job()
    path = f"/v1/jobs/{job['jobId']}"
    stage.patched(job, name="overtaken")

    check_problem(stage.rest.patch(path, {"name": "late", "version": 1}), 409, "version")
    check_problem(stage.rest.patch(path, {"name": "late"}, {"If-Match": "1"}), 409, "version")

    assert stage.get_job(job)["name"] == "overtaken"
    assert stage.rest.patch(path, {"name": "seen"}, {"If-Match": '"2"'}).status == 200


def test_a_schedule_can_be_replaced_and_taken_away(stage):
    job = stage.job(cronExpr="0 9 * * *", timezone="Europe/Berlin")

    assert stage.patched(job, every=60)["cronExpr"] is None
    assert stage.patched(job, every=None)["nextRunAt"] is None
    assert stage.patched(job, delay=3600)["runAt"] is not None


def test_a_deleted_job_is_gone_and_a_second_delete_says_so(stage):
    job = stage.job(every=3600)
    path = f"/v1/jobs/{job['jobId']}"

    first = stage.rest.delete(path)

    assert (first.status, first.body) == (204, b"")
    check_problem(stage.rest.delete(path), 404)
    check_problem(stage.rest.get(path), 404)
    check_problem(stage.rest.patch(path, {"name": "x"}), 404)
    check_problem(stage.rest.get(f"{path}/runs"), 404)
    check_problem(stage.rest.post(f"{path}/trigger", {}), 404)
    assert job["jobId"] not in {j["jobId"] for j in stage.rest.pages("/v1/jobs", "jobs")}
