"""Runs over HTTP: trigger, list, read with attempts, cancel; and idempotency keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from onthedot.core.instants import MINUTE, SECOND
from onthedot.ids import parse_job_id, run_id
from tests.integration.test_api_kit import JOB, Api, an_api, check_problem
from tests.support import builders


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


async def trigger(api: Api, job: str, said: Any = None, **more: Any) -> str:
    response = await api.call("POST", f"/v1/jobs/{job}/trigger", said, **more)
    assert response.status_code == 202, response.text
    run: str = response.json()["runId"]
    return run


async def run_of(api: Api, run: str) -> dict[str, Any]:
    response = await api.call("GET", f"/v1/runs/{run}")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def test_a_trigger_makes_a_run_that_is_due_at_once(api: Api):
    job = (await api.job())["jobId"]

    response = await api.call("POST", f"/v1/jobs/{job}/trigger")

    assert response.status_code == 202
    run = response.json()
    assert run["scheduledFor"] == "2026-03-01T00:00:00Z"
    assert response.headers["location"] == f"/v1/runs/{run['runId']}"
    assert await run_of(api, run["runId"]) == {
        "runId": run["runId"],
        "jobId": job,
        "status": "queued",
        "scheduledFor": "2026-03-01T00:00:00Z",
        "startedAt": None,
        "finishedAt": None,
        "nodeId": None,
        "attempt": 1,
        "error": None,
        "output": None,
        "reason": None,
        "until": None,
        "count": None,
        "rescues": 0,
        "version": 1,
        "redriveOf": None,
        "backfillOf": None,
        "progress": None,
        "nominal": None,
        "notBefore": None,
        "attempts": [
            {
                "attempt": 1,
                "status": "queued",
                "startedAt": None,
                "finishedAt": None,
                "nodeId": None,
                "error": None,
                "output": None,
                "reason": None,
            }
        ],
    }


@pytest.mark.parametrize(
    ("said", "due", "status"),
    [
        ({}, "2026-03-01T00:00:00Z", "queued"),
        ({"delay": 1.5}, "2026-03-01T00:00:01.500Z", "scheduled"),
        ({"delay": "PT1H"}, "2026-03-01T01:00:00Z", "scheduled"),
        ({"runAt": "2026-03-02T00:00:00+01:00"}, "2026-03-01T23:00:00Z", "scheduled"),
        ({"runAt": "2026-02-01T00:00:00Z"}, "2026-02-01T00:00:00Z", "queued"),
    ],
)
async def test_a_trigger_may_say_when(api: Api, said: dict[str, Any], due: str, status: str):
    job = (await api.job(paused=True, every=5))["jobId"]

    run = await run_of(api, await trigger(api, job, said))

    assert (run["scheduledFor"], run["status"]) == (due, status)


async def test_a_run_carries_its_own_payload_or_the_jobs(api: Api):
    job = (await api.job(payload={"whose": "job"}))["jobId"]
    node = await builders.a_node(api.store, api.clock)

    await trigger(api, job)
    await trigger(api, job, {"payload": {"whose": "run", "n": 1.10}})
    await trigger(api, job, {"payload": None})

    leased = await builders.lease(api.store, api.clock, node)
    assert [run.payload for run in leased] == [None, '{"whose":"run","n":1.1}', "null"]


async def test_a_run_shows_every_attempt(api: Api):
    node = await builders.a_node(api.store, api.clock)
    job = await api.number()
    held = await builders.a_held_run(api.store, api.clock, node, await api.store.jobs.get(job))
    api.clock.advance(SECOND)
    retry = api.clock.now() + MINUTE
    outcome = builders.failed(held, api.clock, retry_at=retry, output="oops")
    await api.store.runs.finish(node, [outcome], now=api.clock.now())

    run = await run_of(api, run_id(api.installation, held.job, held.run))

    assert (run["status"], run["attempt"]) == ("scheduled", 2)
    assert run["error"] == "HTTP 500 Internal Server Error"
    first, second = run["attempts"]
    assert (first["attempt"], first["error"], first["output"]) == (1, run["error"], "oops")
    assert first["startedAt"] == "2026-03-01T00:00:00Z"
    assert first["finishedAt"] == "2026-03-01T00:00:01Z"
    assert (second["attempt"], second["status"]) == (2, "scheduled")


async def test_a_skipped_range_is_one_record_of_the_list(api: Api):
    job = (await api.job(every=60))["jobId"]
    await api.call("PATCH", f"/v1/jobs/{job}", {"paused": True})
    api.clock.advance(5 * MINUTE)
    await api.call("PATCH", f"/v1/jobs/{job}", {"paused": False})

    [record] = (await api.call("GET", f"/v1/jobs/{job}/runs")).json()["runs"]

    assert (record["status"], record["reason"], record["count"]) == ("skipped", "paused", 5)
    assert record["scheduledFor"] == "2026-03-01T00:01:00Z"
    assert record["until"] == "2026-03-01T00:05:00Z"


async def test_pages_hold_every_run_once_newest_first(api: Api):
    job = (await api.job())["jobId"]
    made = []
    for _ in range(7):
        made.append(await trigger(api, job))
        api.clock.advance(1)
    seen, cursor = [], ""
    for _ in range(10):
        page = (await api.call("GET", f"/v1/jobs/{job}/runs?limit=3{cursor}")).json()
        seen += [run["runId"] for run in page["runs"]]
        if page["nextCursor"] is None:
            break
        cursor = f"&cursor={page['nextCursor']}"

    assert seen == list(reversed(made))


async def test_a_cursor_belongs_to_its_own_list(api: Api):
    one, other = [(await api.job())["jobId"] for _ in range(2)]
    for _ in range(2):
        await trigger(api, one)
    cursor = (await api.call("GET", f"/v1/jobs/{one}/runs?limit=1")).json()["nextCursor"]

    response = await api.call("GET", f"/v1/jobs/{other}/runs?cursor={cursor}")

    check_problem(response, 422, at="cursor")


async def test_a_run_that_nobody_holds_is_cancelled_at_once(api: Api):
    job = (await api.job())["jobId"]
    run = await trigger(api, job, {"delay": 60})

    first = await api.call("POST", f"/v1/runs/{run}/cancel")
    second = await api.call("POST", f"/v1/runs/{run}/cancel")

    assert (first.status_code, first.json()) == (200, {"runId": run, "status": "cancelled"})
    assert (second.status_code, second.json()) == (200, first.json())
    assert (await run_of(api, run))["status"] == "cancelled"


async def test_the_holder_of_a_running_run_is_asked(api: Api):
    node = await builders.a_node(api.store, api.clock)
    job = await api.store.jobs.get(await api.number())
    held = await builders.a_running_run(api.store, api.clock, node, job)
    run = run_id(api.installation, held.job, held.run)

    response = await api.call("POST", f"/v1/runs/{run}/cancel")

    assert (response.status_code, response.json()) == (202, {"runId": run, "status": "running"})
    [signal] = await api.store.runs.signals(node)
    assert (signal.job, signal.run) == (held.job, held.run)


async def test_a_run_that_is_over_cannot_be_cancelled(api: Api):
    node = await builders.a_node(api.store, api.clock)
    job = await api.store.jobs.get(await api.number())
    held = await builders.a_held_run(api.store, api.clock, node, job)
    await builders.finish(api.store, api.clock, node, held)
    run = run_id(api.installation, held.job, held.run)

    response = await api.call("POST", f"/v1/runs/{run}/cancel")

    check_problem(response, 409, "succeeded")
    assert response.json()["runStatus"] == "succeeded"


@pytest.mark.parametrize("run", ["x", "{home}-1-1", "{home}-1", "{home}--", "other-1-1", "é"])
async def test_an_unknown_run_is_not_found(api: Api, run: str):
    path = f"/v1/runs/{run.format(home=api.installation)}"

    check_problem(await api.call("GET", path), 404)
    check_problem(await api.call("POST", f"{path}/cancel"), 404)


async def test_a_repeated_create_is_answered_the_same_and_done_once(api: Api):
    headers = {"Idempotency-Key": "one"}

    first = await api.call("POST", "/v1/jobs", JOB | {"every": 60}, headers=headers)
    api.clock.advance(5 * MINUTE)
    second = await api.call("POST", "/jobs", JOB | {"every": 60}, headers=headers)

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert first.headers["location"] == second.headers["location"]
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert len((await api.call("GET", "/v1/jobs")).json()["jobs"]) == 1


async def test_many_runs_are_made_at_once_in_the_order_asked_for(api: Api):
    job = (await api.job())["jobId"]
    said = {"runs": [{"payload": {"n": 1}}, {"delay": 60}, {}]}
    api.woken.clear()

    response = await api.call("POST", f"/v1/jobs/{job}/trigger-many", said)

    assert response.status_code == 202
    runs = response.json()["runs"]
    assert [run["jobId"] for run in runs] == [job] * 3
    statuses = [(await run_of(api, run["runId"]))["status"] for run in runs]
    assert statuses == ["queued", "scheduled", "queued"]
    assert sorted(api.woken) == ["scheduler", "worker"]


@pytest.mark.parametrize(
    ("said", "field", "words"),
    [
        ({}, "runs", "runs is missing"),
        ({"runs": []}, "runs", "not an array of 0"),
        ({"runs": [{}] * 1001}, "runs", "not an array of 1001"),
        ({"runs": {}}, "runs", "not an object"),
        ({"runs": [{}, 5]}, "runs[1]", "not the number 5"),
        ({"runs": [{}, {"paylod": 1}]}, "runs[1].paylod", "not a known field"),
        ({"runs": [{"delay": 1}, {"delay": "x"}]}, "runs[1].delay", "'x'"),
        ({"runs": [{"payload": "x" * 70_000}]}, "runs[0].payload", "70002 bytes"),
    ],
)
async def test_what_is_wrong_with_one_of_many_is_named_and_none_is_made(api, said, field, words):
    job = (await api.job())["jobId"]

    response = await api.call("POST", f"/v1/jobs/{job}/trigger-many", said)

    check_problem(response, 422, words, field)
    assert (await api.call("GET", f"/v1/jobs/{job}/runs")).json()["runs"] == []


async def test_a_repeated_request_for_many_is_answered_the_same(api: Api):
    job = (await api.job())["jobId"]
    path, headers = f"/v1/jobs/{job}/trigger-many", {"Idempotency-Key": "many"}
    said: dict[str, Any] = {"runs": [{}, {}]}

    first = await api.call("POST", path, said, headers=headers)
    second = await api.call("POST", path, said, headers=headers)

    assert second.content == first.content
    assert second.headers["Idempotency-Replayed"] == "true"
    assert len((await api.call("GET", f"/v1/jobs/{job}/runs")).json()["runs"]) == 2


async def test_a_repeated_trigger_is_answered_the_same_even_after_a_delete(api: Api):
    job = (await api.job())["jobId"]
    said, headers = {"delay": 5}, {"Idempotency-Key": "two"}

    first = await api.call("POST", f"/v1/jobs/{job}/trigger", said, headers=headers)
    api.clock.advance(SECOND)
    second = await api.call("POST", f"/v1/jobs/{job}/trigger", said, headers=headers)
    await api.call("DELETE", f"/v1/jobs/{job}")
    third = await api.call("POST", f"/v1/jobs/{job}/trigger", said, headers=headers)

    assert [r.status_code for r in (first, second, third)] == [202, 202, 202]
    assert first.content == second.content == third.content


async def test_many_repeats_at_once_make_one_run(api: Api):
    job = (await api.job())["jobId"]
    calls = [trigger(api, job, {}, headers={"Idempotency-Key": "burst"}) for _ in range(20)]

    runs = await asyncio.gather(*calls)

    assert len(set(runs)) == 1
    assert len(await builders.ledger_of(api.store, api.clock, parse_job_id(job))) == 1


@pytest.mark.parametrize("other", ["another body", "another path"])
async def test_a_key_cannot_be_used_for_another_request(api: Api, other: str):
    job = (await api.job())["jobId"]
    headers = {"Idempotency-Key": "three"}
    await trigger(api, job, {"payload": 1}, headers=headers)

    if other == "another body":
        response = await api.call(
            "POST", f"/v1/jobs/{job}/trigger", {"payload": 2}, headers=headers
        )
    else:
        response = await api.call("POST", "/v1/jobs", JOB, headers=headers)

    check_problem(response, 422, "three", at="Idempotency-Key")


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "ä"])
async def test_a_wrong_idempotency_key_is_refused(api: Api, key: str):
    response = await api.call(
        "POST", "/v1/jobs", JOB, headers={"Idempotency-Key": key.encode("latin-1")}
    )

    check_problem(response, 422, at="Idempotency-Key")
