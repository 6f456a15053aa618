"""Jobs over HTTP: create, list, read, edit, pause, delete."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from onthedot.store.sqlite import open_store
from tests.integration.test_api_kit import JOB, Api, an_api, check_problem


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


async def test_a_created_job_is_answered_and_can_be_read_again(api: Api):
    said = {**JOB, "cronExpr": "*/5 * * * *", "payload": {"a": [1, None]}, "retries": 1}

    created = await api.call("POST", "/v1/jobs", said)
    read = await api.call("GET", created.headers["location"])

    assert created.status_code == 201
    assert created.json() == read.json()
    assert read.json()["payload"] == {"a": [1, None]}
    assert read.json()["nextRunAt"] == "2026-03-01T00:05:00Z"
    assert read.headers["etag"] == '"1"'


@pytest.mark.parametrize("prefix", ["", "/v1"])
async def test_every_path_answers_with_and_without_the_prefix(api: Api, prefix: str):
    job = (await api.call("POST", f"{prefix}/jobs", JOB)).json()["jobId"]
    run = (await api.call("POST", f"{prefix}/jobs/{job}/trigger")).json()["runId"]
    expected = [
        ("GET", "/jobs", 200),
        ("GET", f"/jobs/{job}", 200),
        ("PATCH", f"/jobs/{job}", 200),
        ("GET", f"/jobs/{job}/runs", 200),
        ("GET", f"/runs/{run}", 200),
        ("POST", f"/runs/{run}/cancel", 200),
        ("GET", "/overview", 200),
        ("GET", "/health", 200),
        ("GET", "/health/live", 200),
        ("GET", "/health/ready", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/docs", 200),
        ("DELETE", f"/jobs/{job}", 204),
    ]

    answered = [
        (method, path, (await api.call(method, prefix + path)).status_code)
        for method, path, _ in expected
    ]

    assert answered == expected


async def test_a_write_wakes_those_who_wait_for_it(api: Api):
    job = (await api.job(every=5))["jobId"]
    assert api.woken == ["scheduler"]

    api.woken.clear()
    await api.call("PATCH", f"/v1/jobs/{job}", {"every": 6})
    assert api.woken == ["scheduler"]

    api.woken.clear()
    await api.call("POST", f"/v1/jobs/{job}/trigger")
    assert api.woken == ["worker"]

    api.woken.clear()
    await api.call("POST", f"/v1/jobs/{job}/trigger", {"delay": 1})
    assert api.woken == ["scheduler"]

    api.woken.clear()
    await api.call("DELETE", f"/v1/jobs/{job}")
    assert "scheduler" in api.woken


async def test_a_refused_job_leaves_nothing_behind(api: Api):
    response = await api.call("POST", "/v1/jobs", {**JOB, "cronExpr": "0 0 30 2 *"})

    check_problem(response, 422, "never", at="cronExpr")
    assert (await api.call("GET", "/v1/jobs")).json() == {"jobs": [], "nextCursor": None}
    assert api.woken == []


async def test_a_key_belongs_to_one_job(api: Api):
    first = await api.job(key="billing/nightly")

    response = await api.call("POST", "/v1/jobs", {**JOB, "key": "billing/nightly"})

    check_problem(response, 409, first["jobId"], at="key")


async def test_pages_hold_every_job_once_newest_first(api: Api):
    made = [(await api.job(name=f"job {n}"))["jobId"] for n in range(7)]
    seen, cursor = [], ""
    for _ in range(10):
        page = (await api.call("GET", f"/v1/jobs?limit=3{cursor}")).json()
        seen += [job["jobId"] for job in page["jobs"]]
        if page["nextCursor"] is None:
            break
        cursor = f"&cursor={page['nextCursor']}"

    assert seen == list(reversed(made))


async def test_a_full_last_page_has_no_cursor(api: Api):
    for n in range(3):
        await api.job(name=f"job {n}")

    page = (await api.call("GET", "/v1/jobs?limit=3")).json()

    assert (len(page["jobs"]), page["nextCursor"]) == (3, None)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=ten", "limit"),
        ("limit=-1", "limit"),
        ("limit=٣", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=", "cursor"),
        ("cursor=abc", "cursor"),
        ("cursor=%00", "cursor"),
        ("cursor=é", "cursor"),
        ("cursor=am9icy4x!", "cursor"),
        ("cursor=am9icy5mZmZmZmZmZmZmZmZmZmZm", "cursor"),
        ("cursor=cnVucy4xLjE", "cursor"),
        ("limt=5", "limt"),
        ("status=failed", "status"),
    ],
)
async def test_a_wrong_query_is_refused_by_name(api: Api, query: str, field: str):
    response = await api.call("GET", f"/v1/jobs?{query}")

    check_problem(response, 422, at=field)


async def test_an_edit_is_a_new_version(api: Api):
    job = await api.job(cronExpr="0 9 * * *", tags=["a"])
    api.clock.advance(1_000_000)

    response = await api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"every": 60})

    assert response.status_code == 200
    edited = response.json()
    assert (edited["version"], edited["cronExpr"], edited["every"]) == (2, None, 60)
    assert edited["nextRunAt"] == "2026-03-01T00:01:01Z"
    assert edited["updatedAt"] == "2026-03-01T00:00:01Z"
    assert edited["tags"] == ["a"]
    assert (await api.call("GET", f"/v1/jobs/{job['jobId']}")).json() == edited


async def test_a_paused_job_has_no_next_run_until_it_is_resumed(api: Api):
    job = (await api.job(every=60))["jobId"]

    paused = (await api.call("PATCH", f"/v1/jobs/{job}", {"paused": True})).json()
    again = (await api.call("PATCH", f"/v1/jobs/{job}", {"paused": True})).json()
    resumed = (await api.call("PATCH", f"/v1/jobs/{job}", {"paused": False})).json()

    assert (paused["paused"], paused["nextRunAt"], paused["version"]) == (True, None, 2)
    assert again == paused, "a second pause is no second version"
    assert (resumed["nextRunAt"], resumed["version"]) == ("2026-03-01T00:01:00Z", 3)


async def test_an_edit_that_changes_nothing_makes_no_version_in_a_file_either(tmp_path: Path):
    store = await open_store(str(tmp_path / "onthedot.db"))
    async with an_api(store=store) as api:
        job = await api.job(every=60)

        response = await api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"every": 60})

        assert (response.status_code, response.json()) == (200, job)
    await store.upkeep.close()


async def test_an_edit_of_a_version_that_is_gone_is_refused(api: Api):
    job = (await api.job())["jobId"]
    await api.call("PATCH", f"/v1/jobs/{job}", {"name": "mine"})

    by_body = await api.call("PATCH", f"/v1/jobs/{job}", {"name": "theirs", "version": 1})
    by_header = await api.call(
        "PATCH", f"/v1/jobs/{job}", {"name": "theirs"}, headers={"If-Match": '"1"'}
    )
    deleted = await api.call("DELETE", f"/v1/jobs/{job}", headers={"If-Match": '"1"'})
    current = await api.call("PATCH", f"/v1/jobs/{job}", {"name": "third", "version": 2})

    for refused in (by_body, by_header, deleted):
        check_problem(refused, 409, "version 2", at="version")
    assert current.json()["name"] == "third"


async def test_an_unchanged_edit_of_an_old_version_is_still_a_conflict(api: Api):
    job = (await api.job())["jobId"]
    await api.call("PATCH", f"/v1/jobs/{job}", {"name": "mine"})

    response = await api.call("PATCH", f"/v1/jobs/{job}", {"name": "mine", "version": 1})

    check_problem(response, 409, at="version")


@pytest.mark.parametrize("tag", ["abc", '"0"', '"1", "2"', '"99999999999999999999"', '"2"'])
async def test_a_wrong_if_match_is_refused(api: Api, tag: str):
    job = (await api.job())["jobId"]

    response = await api.call(
        "PATCH", f"/v1/jobs/{job}", {"name": "x", "version": 1}, headers={"If-Match": tag}
    )

    check_problem(response, 422, at="If-Match")


async def test_a_refused_edit_changes_nothing(api: Api):
    job = await api.job(every=60)

    response = await api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"name": "x", "every": 0})

    check_problem(response, 422, at="every")
    assert (await api.call("GET", f"/v1/jobs/{job['jobId']}")).json() == job


async def test_a_deleted_job_is_gone_but_its_runs_can_be_read(api: Api):
    job = (await api.job())["jobId"]
    run = (await api.call("POST", f"/v1/jobs/{job}/trigger")).json()["runId"]

    first = await api.call("DELETE", f"/v1/jobs/{job}")
    second = await api.call("DELETE", f"/v1/jobs/{job}")

    assert (first.status_code, first.content) == (204, b"")
    check_problem(second, 404)
    for method, path in (("GET", ""), ("GET", "/runs"), ("PATCH", ""), ("POST", "/trigger")):
        check_problem(await api.call(method, f"/v1/jobs/{job}{path}"), 404)
    kept = (await api.call("GET", f"/v1/runs/{run}")).json()
    assert (kept["status"], kept["reason"]) == ("cancelled", "job deleted")


@pytest.mark.parametrize(
    "job", ["job-0", "job-ff", "job-1x", "7", "JOB-1", "job-" + "f" * 16, "job-01", "é", "a b"]
)
async def test_an_unknown_job_is_not_found(api: Api, job: str):
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/trigger")):
        check_problem(await api.call(method, f"/v1/jobs/{job}{path}"), 404)
    check_problem(await api.call("GET", f"/v1/jobs/{job}/runs"), 404)


async def test_a_dry_run_of_an_edit_tells_old_against_new_and_writes_nothing(api: Api):
    job = await api.job(cronExpr="0 9 * * *", name="report")
    path = f"/v1/jobs/{job['jobId']}"
    api.woken.clear()

    said = {"schedule": "every weekday at 9:30", "name": "digest"}
    told = await api.call("PATCH", f"{path}?dryRun=true", said)

    assert told.status_code == 200
    assert told.json()["version"] == 1
    changes = sorted(told.json()["changes"], key=lambda each: str(each["field"]))
    assert changes == [
        {"field": "cronExpr", "old": "0 9 * * *", "new": None},
        {"field": "name", "old": "report", "new": "digest"},
        {"field": "schedule", "old": None, "new": "every weekday at 9:30"},
    ]
    assert told.json()["old"]["sentence"] == "At 09:00 every day (UTC)"
    assert told.json()["new"]["sentence"] == "At 09:30 on Monday through Friday (UTC)"
    assert told.json()["new"]["instants"][0]["at"] == "2026-03-02T09:30:00Z"
    assert (await api.call("GET", path)).json() == job
    assert api.woken == []


async def test_a_dry_run_refuses_what_the_edit_would(api: Api):
    job = await api.job(key="mine")
    await api.job(key="taken")
    path = f"/v1/jobs/{job['jobId']}"

    check_problem(await api.call("PATCH", f"{path}?dryRun=true", {"key": "taken"}), 409, at="key")
    check_problem(await api.call("PATCH", f"{path}?dryRun=true", {"version": 7}), 409, at="version")
    check_problem(await api.call("PATCH", f"{path}?dryRun=maybe", {}), 422, at="dryRun")
    check_problem(await api.call("PATCH", f"{path}?dryrun=true", {}), 422, at="dryrun")
    nothing = await api.call("PATCH", f"{path}?dryRun=true", {"key": "mine"})
    assert (nothing.json()["changes"], nothing.json()["old"]) == ([], None)


async def test_a_schedule_is_tried_out_without_a_job(api: Api):
    said = {"schedule": "every weekday at 9am", "count": 1}
    told = await api.call("POST", "/v1/schedules/preview", said)
    refused = await api.call("POST", "/v1/schedules/preview", {"schedule": "every mondya at 9:00"})

    assert told.status_code == 200
    assert told.json() == {
        "sentence": "At 09:00 on Monday through Friday (UTC)",
        "normalised": "0 9 * * MON-FRI",
        "timezone": "UTC",
        "instants": [
            {"at": "2026-03-02T09:00:00Z", "nominal": "2026-03-02T09:00:00Z", "marks": []}
        ],
    }
    check_problem(refused, 422, "'mondya'", at="schedule")
    assert refused.json()["position"] == 7
    assert refused.json()["hint"] == "Did you mean 'every monday at 9:00'?"
