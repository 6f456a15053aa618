"""`onthedot job`: what is sent, what is shown, and how each refusal reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import cli
from tests.unit.test_cli_client import Request, StandIn

JOB: dict[str, Any] = {
    "jobId": "job-1",
    "key": None,
    "name": "ping",
    "handlerUrl": "http://127.0.0.1:9000/ping",
    "cronExpr": None,
    "every": 10,
    "runAt": None,
    "timezone": "UTC",
    "timeout": 60,
    "retries": 3,
    "queue": "default",
    "priority": 5,
    "catchUp": "latest",
    "tags": [],
    "paused": False,
    "version": 1,
    "nextRunAt": "2100-01-01T00:00:00Z",
    "updatedAt": "2027-01-31T09:30:00Z",
}


@pytest.fixture
def api(monkeypatch, tmp_path) -> Iterator[StandIn]:
    with StandIn() as stand_in:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ONTHEDOT_SERVER", stand_in.url)
        monkeypatch.delenv("ONTHEDOT_API_KEY", raising=False)
        stand_in.answers["GET /v1/jobs"] = 200, {"jobs": [JOB], "nextCursor": None}
        stand_in.answers["GET /v1/jobs/job-1"] = 200, JOB
        yield stand_in


def onthedot(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=given)


def test_add_sends_what_was_given_and_nothing_else(api):
    api.answers["POST /v1/jobs"] = 201, JOB

    result = onthedot("job", "add", "ping", "--url", "http://127.0.0.1:9000/ping", "--every", "10")

    assert result.exit_code == 0, result.stderr
    assert api.requests[-1].body == {
        "name": "ping",
        "handlerUrl": "http://127.0.0.1:9000/ping",
        "every": 10,
    }
    assert "job-1" in result.stdout
    assert "every 10 s" in result.stdout


def test_add_sends_every_option_under_its_name_in_the_api(api):
    api.answers["POST /v1/jobs"] = 201, JOB
    options = (
        *("--cron", "0 9 * * *", "--timezone", "Europe/Berlin", "--payload", '{"a": [1, null]}'),
        *("--retries", "0", "--timeout", "PT1M", "--queue", "mail", "--priority", "9"),
        *("--key", "k", "--tag", "a", "--tag", "b", "--catch-up", "all", "--paused"),
        *("--on-failure", "https://x/pager"),
    )

    result = onthedot("job", "add", "report", "--url", "http://x/", *options, "--json")

    assert json.loads(result.stdout) == JOB
    assert api.requests[-1].body == {
        "name": "report",
        "handlerUrl": "http://x/",
        "cronExpr": "0 9 * * *",
        "timezone": "Europe/Berlin",
        "payload": {"a": [1, None]},
        "retries": 0,
        "timeout": "PT1M",
        "queue": "mail",
        "priority": 9,
        "key": "k",
        "tags": ["a", "b"],
        "catchUp": "all",
        "paused": True,
        "onFailure": {"url": "https://x/pager"},
    }


@pytest.mark.parametrize(("text", "payload"), [("null", None), ("0", 0), ("[]", []), ('""', "")])
def test_a_payload_of_little_is_still_a_payload(api, text, payload):
    api.answers["POST /v1/jobs"] = 201, JOB

    onthedot("job", "add", "x", "--url", "http://x/", "--payload", text)

    assert api.requests[-1].body["payload"] == payload


def test_a_payload_may_come_from_a_file_or_from_standard_input(api, tmp_path):
    api.answers["POST /v1/jobs"] = 201, JOB
    (tmp_path / "june.json").write_text('{"month": 6}')

    onthedot("job", "add", "x", "--url", "http://x/", "--payload", "@june.json")
    onthedot("job", "add", "x", "--url", "http://x/", "--payload", "@-", given='{"month": 7}')

    assert [request.body["payload"] for request in api.requests] == [{"month": 6}, {"month": 7}]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--payload", "{a: 1}"), "--payload is not valid JSON"),
        (("--payload", "NaN"), "NaN is not JSON"),
        (("--payload", "1e999"), "--payload is not valid JSON"),
        (("--payload", "[" * 100_000), "--payload is not valid JSON"),
        (("--payload", "@nowhere.json"), "'nowhere.json', which cannot be read"),
        (("--every", "soon"), "--every 'soon' is not a duration"),
        (("--delay", "-5"), "--delay -5.0 is negative"),
        (("--at", "tomorrow"), "--at 'tomorrow' is not an RFC 3339"),
        (("--at", "2027-01-31T09:30:00"), "has no time zone"),
        (("--cron", "* * * * *", "--every", "5"), "--cron and --every cannot be used together"),
        (("--catch-up", "some"), "'some' is not one of"),
        (("--retries", "many"), "'many' is not a valid integer"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_sent(api, options, said):
    result = onthedot("job", "add", "x", "--url", "http://x/", *options)

    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert "\n\nhint: " in result.stderr
    assert result.stdout == ""
    assert api.requests == []


def test_a_refusal_of_the_server_is_wrong_use_in_its_own_words(api):
    api.answers["POST /v1/jobs"] = (
        422,
        {"title": "Invalid", "detail": "minute '75' is out of range 0-59", "hint": "Use 0-59."},
    )

    result = onthedot("job", "add", "x", "--url", "http://x/", "--cron", "75 * * * *")

    assert result.exit_code == 2
    assert result.stderr == "error: minute '75' is out of range 0-59\n\nhint: Use 0-59.\n"


def test_list_shows_a_line_for_each_job(api):
    cron = {**JOB, "jobId": "job-2", "name": "c", "cronExpr": "0 9 * * *", "every": None}
    jobs = [
        JOB,
        {**cron, "timezone": "Europe/Berlin", "paused": True, "key": "k"},
        {**cron, "cronExpr": None, "runAt": "2100-01-01T00:00:00Z"},
        {**cron, "cronExpr": None, "nextRunAt": None},
    ]
    api.answers["GET /v1/jobs"] = 200, {"jobs": jobs, "nextCursor": None}

    result = onthedot("job", "list")

    lines = result.stdout.splitlines()
    assert lines[0].split() == ["ID", "NAME", "KEY", "SCHEDULE", "NEXT", "RUN"]
    assert "every 10 s" in lines[1]
    assert "2100-01-01 00:00:00Z (in " in lines[1]
    assert "0 9 * * * (Europe/Berlin)" in lines[2]
    assert "paused" in lines[2]
    assert "once, 2100-01-01 00:00:00Z" in lines[3]
    assert "when triggered" in lines[4]


def test_list_says_when_there_are_more(api):
    api.answers["GET /v1/jobs"] = 200, {"jobs": [JOB, JOB], "nextCursor": None}

    result = onthedot("job", "list", "--limit", "1", "--json")

    assert json.loads(result.stdout) == [JOB]
    assert "more than 1" in result.stderr


def test_an_empty_list_is_valid_json_and_a_hint_for_people(api):
    api.answers["GET /v1/jobs"] = 200, {"jobs": [], "nextCursor": None}

    assert json.loads(onthedot("job", "list", "--json").stdout) == []
    assert "onthedot job add" in onthedot("job", "list").stderr


def test_a_name_cannot_take_over_the_terminal(api):
    api.answers["GET /v1/jobs/job-1"] = 200, {**JOB, "name": "\x1b[2Jping\nforged"}

    result = onthedot("job", "show", "job-1")

    assert "\x1b" not in result.stdout
    assert "\nforged" not in result.stdout


def test_show_finds_a_job_by_its_name(api):
    result = onthedot("job", "show", "ping", "--json")

    assert json.loads(result.stdout) == JOB


@pytest.mark.parametrize(("command", "paused"), [("pause", True), ("resume", False)])
def test_pause_and_resume_change_one_field(api, command, paused):
    api.answers["PATCH /v1/jobs/job-1"] = 200, {**JOB, "paused": paused}

    result = onthedot("job", command, "ping")

    assert api.requests[-1].body == {"paused": paused}
    assert result.stdout == ""
    assert result.stderr == f"{command}d job-1 ping\n"
    assert json.loads(onthedot("job", command, "ping", "--json").stdout)["paused"] is paused


def test_delete_says_what_is_gone(api):
    api.answers["DELETE /v1/jobs/job-1"] = 204, b""

    assert onthedot("job", "delete", "ping").stderr == "deleted job-1\n"
    assert json.loads(onthedot("job", "delete", "ping", "--json").stdout) == {
        "jobId": "job-1",
        "deleted": True,
    }


def test_an_unknown_job_is_a_failure(api):
    result = onthedot("job", "delete", "job-9")

    assert result.exit_code == 1
    assert "error: no /v1/jobs/job-9" in result.stderr


def test_trigger_prints_the_run(api):
    api.answers["POST /v1/jobs/job-1/trigger"] = 202, {"runId": "r-1-2"}

    result = onthedot("job", "trigger", "ping", "--payload", "{}", "--delay", "1.5")

    assert result.stdout == "r-1-2\n"
    assert api.requests[-1].body == {"payload": {}, "delay": 1.5}


def a_run(status: str, *attempts: str) -> dict[str, Any]:
    ended = [
        {"attempt": n, "status": result, "finishedAt": "2027-01-31T09:30:00Z", "error": None}
        for n, result in enumerate(attempts, 1)
    ]
    return {"runId": "r-1-2", "status": status, "attempts": ended}


@pytest.mark.parametrize(("end", "code"), [("succeeded", 0), ("failed", 1), ("cancelled", 1)])
def test_trigger_with_wait_follows_the_run_to_its_end(api, end, code):
    looks = iter([a_run("queued"), a_run("scheduled", "failed"), a_run(end, "failed", end)])
    api.answers["POST /v1/jobs/job-1/trigger"] = 202, {"runId": "r-1-2"}
    api.answers["GET /v1/runs/r-1-2"] = lambda _: (200, next(looks))

    result = onthedot("job", "trigger", "ping", "--wait")

    assert result.exit_code == code
    assert result.stdout == f"r-1-2 {end}\n"
    assert result.stderr.splitlines() == [
        "run r-1-2 is queued",
        "attempt 1 failed",
        "run r-1-2 is scheduled",
        f"attempt 2 {end}",
    ]


def test_a_server_lost_while_waiting_is_told_with_the_run(api):
    def gone(_: Request) -> tuple[int, Any]:
        return 503, {"detail": "the server is stopping"}

    api.answers["POST /v1/jobs/job-1/trigger"] = 202, {"runId": "r-1-2"}
    api.answers["GET /v1/runs/r-1-2"] = gone

    result = onthedot("job", "trigger", "ping", "--wait")

    assert result.exit_code == 1
    assert "onthedot run show r-1-2" in result.stderr


def test_the_server_may_be_named_by_a_flag(api, monkeypatch):
    monkeypatch.setenv("ONTHEDOT_SERVER", "http://127.0.0.1:9")

    assert onthedot("job", "show", "job-1", "--server", api.url).exit_code == 0


def test_the_key_of_the_environment_is_sent(api, monkeypatch):
    monkeypatch.setenv("ONTHEDOT_API_KEY", "a-key-of-twenty-letters")

    onthedot("job", "show", "job-1")

    assert api.requests[-1].headers["authorization"] == "Bearer a-key-of-twenty-letters"


def test_a_wrong_variable_is_warned_of_on_standard_error(api, monkeypatch):
    monkeypatch.setenv("ONTHEDOT_SERVR", "x")

    result = onthedot("job", "show", "job-1", "--json")

    assert json.loads(result.stdout) == JOB
    assert "Did you mean ONTHEDOT_SERVER?" in result.stderr


def test_no_server_at_all_is_told_with_the_next_step(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    result = onthedot("job", "list", "--server", "http://127.0.0.1:9")

    assert result.exit_code == 1
    assert result.stderr.startswith("error: no server answers at http://127.0.0.1:9\n\nhint: ")
    assert "onthedot serve" in result.stderr


def test_edit_sends_what_was_given_and_shows_the_job(api):
    api.answers["PATCH /v1/jobs/job-1"] = 200, JOB

    result = onthedot(
        "job", "edit", "job-1", "--schedule", "every weekday at 9am", "--name", "pong"
    )

    assert result.exit_code == 0, result.stderr
    assert api.requests[-1].body == {"schedule": "every weekday at 9am", "name": "pong"}
    assert "job-1" in result.stdout


def test_edit_with_a_dry_run_shows_old_against_new(api):
    preview = {"sentence": "At 09:00 every day (UTC)", "instants": [{"at": "2100-01-01T09:00:00Z"}]}
    api.answers["PATCH /v1/jobs/job-1"] = (
        200,
        {
            "changes": [{"field": "every", "old": 10, "new": None}],
            "old": None,
            "new": preview,
        },
    )

    result = onthedot("job", "edit", "job-1", "--schedule", "every day at 9:00", "--dry-run")

    assert result.exit_code == 0, result.stderr
    lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
    assert ["every", "10", "-"] in lines
    assert "At 09:00 every day (UTC)" in result.stdout
    assert "2100-01-01 09:00:00" in result.stdout


def test_edit_without_a_change_is_wrong_use(api):
    result = onthedot("job", "edit", "job-1")

    assert result.exit_code == 2
    assert "nothing to change" in result.stderr
