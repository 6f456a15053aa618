"""Calendars over HTTP, on the command line, and in code."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from onthedot.roles.calendar_sync import IDLE_S, CalendarSync
from onthedot.usecases.declaring import declare
from tests.integration.test_api_kit import Api, an_api, check_problem
from tests.integration.test_cli_kit import Command, check_error

BUSINESS: dict[str, Any] = {"require": ["mon-fri"], "exclude": ["12-25", "2026-03-02"]}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """It is Sunday, the first of March 2026."""
    async with an_api() as api:
        yield api


async def put(api: Api, name: str = "business", **rules: Any) -> dict[str, Any]:
    answer = await api.call("PUT", f"/v1/calendars/{name}", rules or BUSINESS)
    assert answer.status_code in (200, 201), answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_calendar_is_made_read_listed_changed_and_deleted(api: Api) -> None:
    made = await api.call("PUT", "/v1/calendars/business", {"require": ["MON-FRI", "mon-fri"]})
    same = await api.call("PUT", "/v1/calendars/business", {"require": ["mon-fri"]})
    changed = await api.call(
        "PUT", "/v1/calendars/business", BUSINESS, headers={"If-Match": made.headers["ETag"]}
    )

    assert (made.status_code, made.headers["ETag"]) == (201, '"1"')
    assert made.json()["require"] == ["mon-fri"]
    assert (same.status_code, same.json()) == (200, made.json())
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')
    assert changed.json() == (await api.call("GET", "/calendars/business")).json()
    assert (changed.json()["jobs"], changed.json()["behind"]) == (0, 0)
    await put(api, "another")
    first = (await api.call("GET", "/v1/calendars?limit=1")).json()
    rest = (await api.call("GET", f"/v1/calendars?cursor={first['nextCursor']}")).json()
    assert [each["name"] for each in first["calendars"] + rest["calendars"]] == [
        "another",
        "business",
    ]
    assert rest["nextCursor"] is None
    assert (await api.call("DELETE", "/v1/calendars/business")).status_code == 204
    check_problem(await api.call("GET", "/v1/calendars/business"), 404, "no calendar 'business'")


@pytest.mark.parametrize(
    ("rules", "field", "said"),
    [
        ({}, "exclude", "allows everything"),
        ({"exclude": ["12-25", "2027-02-30"]}, "exclude[1]", "does not exist"),
        ({"require": ["weekdays"]}, "require[0]", "'weekdays' is not understood"),
        ({"exclude": "12-25"}, "exclude", "at most 1000 rules"),
        ({"exclude": ["12-25"] * 1001}, "exclude", "at most 1000 rules"),
        ({"holidays": ["12-25"]}, "holidays", "not a known field"),
    ],
)
async def test_what_is_wrong_with_a_calendar_is_said_by_its_place(
    api: Api, rules: dict[str, Any], field: str, said: str
) -> None:
    check_problem(await api.call("PUT", "/v1/calendars/business", rules), 422, said, field)
    check_problem(await api.call("GET", "/v1/calendars/business"), 404)


async def test_names_versions_and_cursors_are_checked(api: Api) -> None:
    await put(api)
    stale = {"If-Match": '"7"'}

    check_problem(await api.call("PUT", "/v1/calendars/a%20b", BUSINESS), 422, "no name", "name")
    check_problem(
        await api.call("PUT", "/v1/calendars/business", {"exclude": ["01-01"]}, headers=stale),
        409,
        "not 7",
        "version",
    )
    check_problem(
        await api.call("PUT", "/v1/calendars/business?dryRun=true", BUSINESS, headers=stale),
        409,
        "not 7",
        "version",
    )
    gone = await api.call("DELETE", "/v1/calendars/business", headers=stale)
    check_problem(gone, 409, "not 7", "version")
    check_problem(await api.call("GET", "/v1/calendars?cursor=am9icy4x"), 422, "", "cursor")


async def test_a_job_follows_a_calendar_by_its_name(api: Api) -> None:
    await put(api)

    job = await api.job(cronExpr="0 9 * * MON", calendar="business", calendarRoll="next")
    path = f"/v1/jobs/{job['jobId']}"
    back = (await api.call("PATCH", path, {"calendarRoll": "skip"})).json()
    free = (await api.call("PATCH", path, {"calendar": None})).json()

    assert (job["calendar"], job["calendarRoll"], job["calendarVersion"]) == ("business", "next", 1)
    assert job["nextRunAt"] == "2026-03-03T09:00:00Z"  # the Monday is a holiday
    assert back["nextRunAt"] == "2026-03-09T09:00:00Z"
    assert (free["calendar"], free["calendarVersion"]) == (None, None)
    assert free["nextRunAt"] == "2026-03-02T09:00:00Z"


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"cronExpr": "0 9 * * *", "calendar": "nothing"}, "calendar", "does not exist"),
        ({"cronExpr": "0 9 * * *", "calendarRoll": "next"}, "calendarRoll", "no calendar"),
        ({"calendar": "business"}, "calendar", "recurs"),
        ({"runAt": "2027-01-01T00:00:00Z", "calendar": "business"}, "calendar", "recurs"),
        (
            {"every": 3600, "calendar": "business", "calendarRoll": "next"},
            "calendarRoll",
            "elapsed",
        ),
        (
            {"cronExpr": "*/5 * * * *", "calendar": "business", "calendarRoll": "previous"},
            "calendarRoll",
            "288 instants a day",
        ),
        ({"cronExpr": "0 9 * * SAT", "calendar": "business"}, "calendar", "'business' allows"),
        ({"cronExpr": "0 9 * * *", "calendarVersion": 1}, "calendarVersion", "set by the server"),
    ],
)
async def test_a_job_that_cannot_follow_is_refused(
    api: Api, fields: dict[str, Any], field: str, said: str
) -> None:
    await put(api)

    made = await api.call(
        "POST", "/v1/jobs", {"name": "x", "handlerUrl": "http://127.0.0.1:9/x", **fields}
    )

    check_problem(made, 422, said, field)


async def test_an_edit_shows_what_would_move_and_then_moves_it(api: Api) -> None:
    await put(api)
    job = await api.job(cronExpr="0 9 * * *", calendar="business")
    steady = await api.job(name="steady", cronExpr="0 9 * * FRI", calendar="business")
    rules = {**BUSINESS, "exclude": ["12-25"]}

    dry = (await api.call("PUT", "/v1/calendars/business?dryRun=true", rules)).json()
    before = (await api.call("GET", f"/v1/jobs/{job['jobId']}")).json()
    api.woken.clear()
    done = await put(api, **rules)
    after = (await api.call("GET", f"/v1/jobs/{job['jobId']}")).json()

    assert (dry["version"], dry["jobs"]) == (1, 2)
    [move] = dry["moves"]
    assert (move["jobId"], move["name"]) == (job["jobId"], "report")
    assert move["old"][0]["at"] == before["nextRunAt"] == "2026-03-03T09:00:00Z"
    assert move["new"][0]["at"] == after["nextRunAt"] == "2026-03-02T09:00:00Z"
    assert (done["version"], done["jobs"], done["behind"]) == (2, 2, 0)
    assert (after["version"], after["calendarVersion"]) == (2, 2)
    assert (await api.call("GET", f"/v1/jobs/{steady['jobId']}")).json()["calendarVersion"] == 2
    assert api.woken == ["scheduler"]
    check_problem(await api.call("DELETE", "/v1/calendars/business"), 409, "'report' (job-")


async def test_what_an_edit_left_undone_is_done_by_a_janitor(api: Api) -> None:
    """Whoever edited it died before the jobs had taken it over."""
    from onthedot.core.schedules import Calendar

    await put(api)
    job = await api.job(cronExpr="0 9 * * *", calendar="business")
    calendar = Calendar.read(["2026-03-03"], [])
    await api.store.calendars.put("business", calendar, now=api.clock.now())
    woken: list[str] = []

    slept = await CalendarSync(api.store, api.clock, lambda: woken.append("scheduler")).step()

    shown = (await api.call("GET", f"/v1/jobs/{job['jobId']}")).json()
    assert (slept, woken) == (IDLE_S, ["scheduler"])
    assert (shown["calendarVersion"], shown["nextRunAt"]) == (2, "2026-03-01T09:00:00Z")


async def test_a_preview_has_calendar_window_and_marks(api: Api) -> None:
    await put(api)
    asked = {
        "cronExpr": "0 9 1,2,3 * *",
        "calendar": "business",
        "calendarRoll": "next",
        "maxRuns": 2,
        "jitter": 60,
    }

    said = (await api.call("POST", "/v1/schedules/preview", asked)).json()
    unknown = await api.call("POST", "/v1/schedules/preview", {**asked, "calendar": "nothing"})

    assert said["instants"] == [
        {
            "at": "2026-03-03T09:00:00Z",
            "nominal": "2026-03-03T09:00:00Z",
            "marks": ["jitter"],
            "skipped": 2,
        },
        {
            "at": "2026-04-01T09:00:00Z",
            "nominal": "2026-04-01T09:00:00Z",
            "marks": ["jitter", "last"],
        },
    ]
    check_problem(unknown, 422, "'nothing' does not exist", "calendar")


async def test_code_declares_a_job_that_follows_a_calendar(api: Api) -> None:
    await put(api)
    job = {
        "name": "shop.bill",
        "key": "shop.bill",
        "handler": "shop.bill",
        "every": 3600,
        "calendar": "business",
    }

    await declare(api.store, [job], app="shop", clock=api.clock)
    again = await declare(api.store, [job], app="shop", clock=api.clock)

    [shown] = (await api.call("GET", "/v1/jobs?key=shop.bill")).json()["jobs"]
    assert shown["calendar"] == "business"
    assert again.unchanged == 1


def test_the_command_sets_shows_tries_out_and_deletes(stage, tmp_path):
    onthedot = Command(tmp_path, stage.server.url)
    rules = ["--require", "mon-fri", "--exclude", "12-25"]
    (tmp_path / "rules.json").write_text(json.dumps({"exclude": ["2099-01-01"]}))

    made = onthedot.ok("calendar", "set", "cli-days", *rules, "--json").json
    job = onthedot.ok(
        *("job", "add", "cli-follower", "--url", f"{stage.receiver.url}/ok", "--json"),
        *("--cron", "0 9 L * *", "--calendar", "cli-days", "--calendar-roll", "previous"),
    ).json
    stage.made.append(job["jobId"])
    tried = onthedot.ok(
        *("next", "0 9 L * *", "--calendar", "cli-days", "--calendar-roll", "previous"),
        *("--server", stage.server.url, "--after", "2027-01-01T00:00:00Z", "--count", "1"),
    )
    dry = onthedot.ok("calendar", "set", "cli-days", "--file", "rules.json", "--dry-run")
    shown = onthedot.ok("calendar", "show", "cli-days")
    in_use = onthedot("calendar", "delete", "cli-days")

    assert (made["version"], made["require"], made["exclude"]) == (1, ["mon-fri"], ["12-25"])
    assert (job["calendar"], job["calendarRoll"]) == ("cli-days", "previous")
    assert "calendar" in onthedot.ok("job", "show", "cli-follower").out
    assert "moved from 2027-01-31T09:00:00Z" in tried.out
    assert "cli-follower" in dry.out
    assert "require  mon-fri" in shown.out
    assert "followed by 1 jobs" in shown.out
    assert "cli-days" in onthedot.ok("calendar", "list").out
    check_error(in_use, 1, "cli-follower")
    onthedot.ok("job", "delete", "cli-follower")
    assert onthedot.ok("calendar", "delete", "cli-days", "--json").json["deleted"] is True
    check_error(onthedot("calendar", "set", "cli-days", "--exclude", "xmas"), 2, "exclude[0]")


def test_a_calendar_in_a_file_needs_no_server(tmp_path):
    onthedot = Command(tmp_path, "http://127.0.0.1:9")
    (tmp_path / "rules.json").write_text('{"exclude": ["sat,sun"]}')
    (tmp_path / "wrong.json").write_text("[]")
    words = ("next", "0 9 * * *", "--after", "2027-01-01T12:00:00Z", "--json", "--max-runs", "1")

    found = onthedot.ok(*words, "--calendar", "@rules.json").json

    assert found == ["2027-01-04T09:00:00Z"]
    check_error(onthedot(*words, "--calendar", "@wrong.json"), 2, "not a JSON object")
