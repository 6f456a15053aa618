"""Backfills over HTTP and on the command line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from onthedot.roles.backfiller import Backfiller
from tests.integration.test_api_kit import Api, an_api, check_problem
from tests.integration.test_cli_kit import Command

HOURS = [f"2026-02-28T{hour}:00:00Z" for hour in (21, 22, 23)] + ["2026-03-01T00:00:00Z"]


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


async def test_a_dry_run_says_what_is_missing_and_changes_nothing(api: Api):
    job = (await api.job(cronExpr="0 * * * *"))["jobId"]
    asked = {"from": "2026-02-28T21:00:00Z", "dryRun": True}

    said = await api.call("POST", f"/v1/jobs/{job}/backfill", json=asked)

    assert said.status_code == 200
    assert said.json() == {"backfillId": None, "dryRun": True, "count": 4, "instants": HOURS}
    listed = (await api.call("GET", f"/v1/jobs/{job}/backfills")).json()
    assert listed == {"backfills": [], "nextCursor": None}


async def test_a_backfill_is_begun_carried_on_and_shown(api: Api):
    job = (await api.job(cronExpr="0 * * * *"))["jobId"]
    asked = {"from": HOURS[0], "order": "newest", "concurrency": 3, "priority": 2}
    woken: list[str] = []
    backfiller = Backfiller(api.store, api.clock, lambda: woken.append("worker"))

    begun = await api.call("POST", f"/v1/jobs/{job}/backfill", json=asked)
    await backfiller.step()
    [shown] = (await api.call("GET", f"/v1/jobs/{job}/backfills")).json()["backfills"]
    runs = (await api.call("GET", f"/v1/jobs/{job}/runs")).json()["runs"]

    assert begun.status_code == 202
    assert begun.json()["instants"] == HOURS[::-1]
    assert (shown["backfillId"], shown["total"], shown["made"]) == ("1", 4, 3)
    assert (shown["order"], shown["concurrency"], shown["priority"]) == ("newest", 3, 2)
    assert shown["endedAt"] is None
    assert {run["scheduledFor"] for run in runs} == set(HOURS[1:])
    assert all(run["backfillOf"] == run["scheduledFor"] for run in runs)
    assert woken == ["worker"]
    again = await api.call("POST", f"/v1/jobs/{job}/backfill", json=asked)
    assert (again.status_code, again.json()["count"]) == (200, 0)

    assert (await api.call("DELETE", f"/v1/jobs/{job}/backfills/1")).status_code == 204
    await backfiller.step()
    [stopped] = (await api.call("GET", f"/v1/jobs/{job}/backfills")).json()["backfills"]
    assert (stopped["made"], stopped["endedAt"] is None) == (3, False)


async def test_what_makes_no_sense_is_refused_by_name(api: Api):
    job = (await api.job(cronExpr="0 * * * *"))["jobId"]
    path = f"/v1/jobs/{job}/backfill"

    for body, at in (
        ({}, "from"),
        ({"from": "yesterday"}, "from"),
        ({"from": HOURS[0], "until": "2026-03-02T00:00:00Z"}, "until"),
        ({"from": HOURS[1], "until": HOURS[0]}, "until"),
        ({"from": HOURS[0], "concurrency": 101}, "concurrency"),
        ({"from": HOURS[0], "order": "any"}, "order"),
    ):
        check_problem(await api.call("POST", path, json=body), 422, at=at)
    check_problem(await api.call("POST", "/v1/jobs/job-99/backfill", json={"from": HOURS[0]}), 404)
    for backfill in ("7", "x"):
        check_problem(await api.call("DELETE", f"/v1/jobs/{job}/backfills/{backfill}"), 404)


def test_the_command_shows_first_and_then_runs(stage, tmp_path):
    onthedot = Command(tmp_path, stage.server.url)
    job = stage.job("/ok", name="backfilled", cronExpr="0 * * * *")
    first = (datetime.now(UTC) - timedelta(hours=2)).strftime("%Y-%m-%dT%H:30:00Z")

    dry = onthedot.ok("job", "backfill", "backfilled", "--from", first, "--dry-run")
    begun = onthedot.ok("job", "backfill", "backfilled", "--from", first)

    count = len(dry.out.split())
    assert count in (1, 2)
    assert f"{count} instants would be run" in dry.err
    assert f"{count} instants are being run" in begun.err
    assert len(stage.called(job, times=count)) == count
    assert "nothing is missing" in onthedot.ok("job", "backfill", "backfilled", "--from", first).err
