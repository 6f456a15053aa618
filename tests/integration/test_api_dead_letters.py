"""Dead letters over HTTP: list, read, redrive, dismiss, one or all of a job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from onthedot.core.instants import MINUTE, SECOND
from onthedot.ids import parse_job_id, run_id
from tests.integration.test_api_kit import Api, an_api, check_problem
from tests.support import builders


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


async def a_letter(api: Api, job: str, **trigger: Any) -> str:
    """The id of a run that has failed for good."""
    response = await api.call("POST", f"/v1/jobs/{job}/trigger", trigger)
    node = await builders.a_node(api.store, api.clock)
    [held] = await builders.lease(api.store, api.clock, node)
    api.clock.advance(SECOND)
    outcome = builders.failed(held, api.clock)
    await api.store.runs.finish(node, [outcome], now=api.clock.now())
    run: str = response.json()["runId"]
    assert run == run_id(api.installation, held.job, held.run)
    return run


async def got(api: Api, path: str) -> Any:
    response = await api.call("GET", path)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("prefix", ["/v1", ""])
async def test_a_letter_is_listed_and_read_with_its_payload(api: Api, prefix: str):
    job = (await api.job(name="reindex"))["jobId"]
    run = await a_letter(api, job, payload={"big": 9007199254740993})

    shown = {
        "runId": run,
        "jobId": job,
        "jobName": "reindex",
        "scheduledFor": "2026-03-01T00:00:00Z",
        "failedAt": "2026-03-01T00:00:01Z",
        "attempt": 1,
        "error": "HTTP 500 Internal Server Error",
        "version": 1,
    }
    assert await got(api, f"{prefix}/dead-letters") == {"deadLetters": [shown], "nextCursor": None}
    assert (await got(api, f"{prefix}/jobs/{job}/dead-letters"))["deadLetters"] == [shown]
    detail = await got(api, f"{prefix}/dead-letters/{run}")
    assert detail == {**shown, "payload": {"big": 9007199254740993}}


async def test_the_job_s_own_payload_is_not_repeated_in_the_letter(api: Api):
    job = (await api.job(payload=[1]))["jobId"]

    run = await a_letter(api, job)

    assert (await got(api, f"/v1/dead-letters/{run}"))["payload"] is None


async def test_letters_are_paged_and_a_cursor_stays_in_its_list(api: Api):
    job = (await api.job())["jobId"]
    runs = [await a_letter(api, job) for _ in range(5)]

    for path in ("/v1/dead-letters", f"/v1/jobs/{job}/dead-letters"):
        seen: list[str] = []
        page = await got(api, f"{path}?limit=2")
        cursor = page["nextCursor"]
        while page["nextCursor"]:
            seen += [letter["runId"] for letter in page["deadLetters"]]
            page = await got(api, f"{path}?limit=2&cursor={page['nextCursor']}")
        seen += [letter["runId"] for letter in page["deadLetters"]]
        assert seen == runs[::-1]
        for other in ("/v1/jobs", f"/v1/jobs/{job}/runs", "/v1/nodes"):
            check_problem(await api.call("GET", f"{other}?cursor={cursor}"), 422, at="cursor")


async def test_a_redrive_makes_a_run_that_names_the_old_one(api: Api):
    job = (await api.job())["jobId"]
    old = await a_letter(api, job, payload=7)
    api.clock.advance(MINUTE)
    api.woken.clear()

    response = await api.call("POST", f"/v1/runs/{old}/redrive")

    assert response.status_code == 202, response.text
    made = response.json()
    assert made == {"runId": made["runId"], "jobId": job, "redriveOf": old}
    assert response.headers["location"] == f"/v1/runs/{made['runId']}"
    assert api.woken == ["worker"]
    run = await got(api, f"/v1/runs/{made['runId']}")
    assert (run["status"], run["redriveOf"]) == ("queued", old)
    assert run["scheduledFor"] == "2026-03-01T00:00:00Z"
    listed = (await got(api, f"/v1/jobs/{job}/runs"))["runs"]
    assert [each["redriveOf"] for each in listed] == [old, None]
    assert (await got(api, "/v1/dead-letters"))["deadLetters"] == []


async def test_a_repeated_redrive_is_refused_and_names_the_new_run(api: Api):
    old = await a_letter(api, (await api.job())["jobId"])
    made = (await api.call("POST", f"/v1/runs/{old}/redrive")).json()

    again = await api.call("POST", f"/v1/runs/{old}/redrive")

    check_problem(again, 409, f"redriven already, as run '{made['runId']}'")
    check_problem(await api.call("GET", f"/v1/dead-letters/{old}"), 409, made["runId"])
    check_problem(await api.call("DELETE", f"/v1/dead-letters/{old}"), 409, made["runId"])


async def test_a_dismissed_letter_is_gone(api: Api):
    run = await a_letter(api, (await api.job())["jobId"])

    response = await api.call("DELETE", f"/v1/dead-letters/{run}")

    assert (response.status_code, response.content) == (204, b"")
    assert (await got(api, f"/v1/runs/{run}"))["status"] == "failed"
    check_problem(await api.call("DELETE", f"/v1/dead-letters/{run}"), 409, "dismissed")
    check_problem(await api.call("POST", f"/v1/runs/{run}/redrive"), 409, "dismissed")


async def test_all_letters_of_a_job_are_redriven_or_dismissed(api: Api):
    job, other = (await api.job())["jobId"], (await api.job())["jobId"]
    kept = await a_letter(api, other)
    runs = [await a_letter(api, job) for _ in range(3)]

    redriven = await api.call("POST", f"/v1/jobs/{job}/dead-letters/redrive")
    again = await api.call("POST", f"/v1/jobs/{job}/dead-letters/redrive")
    dismissed = await api.call("DELETE", f"/v1/jobs/{other}/dead-letters")
    once_more = await api.call("DELETE", f"/v1/jobs/{other}/dead-letters")

    assert redriven.status_code == 202
    assert [each["redriveOf"] for each in redriven.json()["runs"]] == runs
    assert redriven.json()["more"] is False
    assert (again.status_code, again.json()) == (202, {"runs": [], "more": False})
    assert (dismissed.status_code, dismissed.json()) == (200, {"dismissed": 1, "more": False})
    assert once_more.json()["dismissed"] == 0
    assert (await got(api, f"/v1/runs/{kept}"))["status"] == "failed"


async def test_the_letters_of_a_deleted_job_can_only_be_dismissed(api: Api):
    job = (await api.job())["jobId"]
    run = await a_letter(api, job)
    await api.call("DELETE", f"/v1/jobs/{job}")

    [letter] = (await got(api, f"/v1/jobs/{job}/dead-letters"))["deadLetters"]

    assert (letter["runId"], letter["jobName"]) == (run, None)
    check_problem(await api.call("POST", f"/v1/runs/{run}/redrive"), 409, "was deleted")
    check_problem(await api.call("POST", f"/v1/jobs/{job}/dead-letters/redrive"), 404)
    dismissed = await api.call("DELETE", f"/v1/jobs/{job}/dead-letters")
    assert dismissed.json() == {"dismissed": 1, "more": False}
    check_problem(await api.call("GET", f"/v1/jobs/{job}/dead-letters"), 404)


async def test_what_is_not_there_is_not_found(api: Api):
    number = parse_job_id((await api.job())["jobId"])
    nowhere = run_id(api.installation, number, 5)

    for method, path in (
        ("GET", f"/v1/dead-letters/{nowhere}"),
        ("DELETE", f"/v1/dead-letters/{nowhere}"),
        ("POST", f"/v1/runs/{nowhere}/redrive"),
        ("GET", "/v1/dead-letters/nonsense"),
        ("GET", "/v1/jobs/job-99/dead-letters"),
        ("DELETE", "/v1/jobs/job-99/dead-letters"),
        ("POST", "/v1/jobs/job-99/dead-letters/redrive"),
    ):
        check_problem(await api.call(method, path), 404)


async def test_a_redrive_is_no_lateness_on_the_page(api: Api):
    job = (await api.job())["jobId"]
    old = await a_letter(api, job)
    api.clock.advance(MINUTE)
    await api.call("POST", f"/v1/runs/{old}/redrive")
    node = await builders.a_node(api.store, api.clock)
    await builders.finish(
        api.store, api.clock, node, *await builders.lease(api.store, api.clock, node)
    )

    overview = await got(api, "/v1/overview")

    assert [run["latenessMs"] for run in overview["recent"]] == [None, 0.0]
    assert overview["lateness"]["count"] == 1
