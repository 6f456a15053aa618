"""`onthedot run …` and `onthedot next` as people and scripts call them."""

from __future__ import annotations

import pytest

from tests.integration.test_cli_kit import Command, check_error
from tests.integration.test_server_kit import QUICK


@pytest.fixture
def onthedot(stage, tmp_path) -> Command:
    return Command(tmp_path, stage.server.url)


def test_the_runs_of_a_job_are_listed_newest_first(stage, onthedot):
    job = stage.job("/status/404", name="listed runs")
    first = stage.over(stage.trigger(job))
    second = stage.over(stage.trigger(job))

    lines = onthedot.ok("run", "list", "listed runs").out.splitlines()

    assert " ".join(lines[0].split()) == "RUN STATUS SCHEDULED FOR ATTEMPT LATENESS TOOK WHY"
    assert [line.split()[0] for line in lines[1:]] == [second["runId"], first["runId"]]
    assert "failed" in lines[1]
    assert " ms " in lines[1]
    assert lines[1].endswith("HTTP 404 Not Found")
    listed = onthedot.ok("run", "list", job["jobId"], "--limit", "1", "--json").json
    assert listed == stage.runs(job, limit=1)


def test_a_run_is_shown_with_all_its_attempts(stage, onthedot):
    run = stage.ran("/fail-times/1", backoff=QUICK)

    shown = onthedot.ok("run", "show", run["runId"]).out

    for part in (run["runId"], run["jobId"], "succeeded", '{"ok":true}', "ATTEMPT"):
        assert part in shown
    assert "HTTP 503 Service Unavailable" in shown
    assert onthedot.ok("run", "show", run["runId"], "--json").json == stage.run(run["runId"])


def test_a_run_is_cancelled_and_what_is_over_is_not(stage, onthedot):
    job = stage.job("/hang")
    waiting, running = stage.trigger(job, delay=3600), stage.trigger(job)
    stage.called(job)

    assert onthedot.ok("run", "cancel", waiting).err == f"{waiting} is cancelled\n"
    told = onthedot.ok("run", "cancel", running, "--json").json
    assert told["runId"] == running
    assert stage.over(running, within_s=3)["status"] == "cancelled"
    over = stage.ran("/ok")["runId"]
    check_error(onthedot("run", "cancel", over), 1, "succeeded")


def test_an_unknown_run_is_named(onthedot):
    check_error(onthedot("run", "show", "no-such-run"), 1, "there is no run 'no-such-run'")


def test_the_runs_of_a_job_without_any_are_none(stage, onthedot):
    job = stage.job()

    assert onthedot.ok("run", "list", job["jobId"]).out == ""
    assert onthedot.ok("run", "list", job["jobId"], "--json").json == []


def test_next_prints_instants_without_a_server(onthedot):
    options = ["--timezone", "Europe/Berlin", "--after", "2027-03-27T00:00:00Z", "--count", "3"]

    instants = onthedot.ok("next", "30 2 * * *", *options, "--json").json
    lines = onthedot.ok("next", "30 2 * * *", *options).out.splitlines()

    # 02:30 does not exist on the 28th: it is due when the clocks have gone forward.
    assert instants == ["2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]
    assert lines[0].startswith("LOCAL TIME (Europe/Berlin)")
    assert [line.split()[1] for line in lines[1:]] == ["2027-03-27", "2027-03-28", "2027-03-29"]


def test_next_agrees_with_the_server(stage, onthedot):
    job = stage.job(cronExpr="*/7 3 * * *", timezone="America/New_York")

    options = ["--timezone", "America/New_York", "--count", "1", "--json"]

    assert onthedot.ok("next", "*/7 3 * * *", *options).json == [job["nextRunAt"]]


def test_next_explains_a_schedule(onthedot):
    said = onthedot.ok("next", "0 9 * * MON-FRI", "--explain", "--json").json

    assert said["sentence"] == "At 09:00 on Monday through Friday (UTC)"
    assert len(said["instants"]) == 5


@pytest.mark.parametrize(
    ("schedule", "options", "said"),
    [
        ("75 * * * *", (), "minute '75'"),
        ("0 9 * * *", ("--timezone", "Mars/Olympus"), "Mars/Olympus"),
        ("whenever", (), "not understood"),
    ],
)
def test_next_refuses_what_is_no_schedule(onthedot, schedule, options, said):
    check_error(onthedot("next", schedule, *options), 2, said)


def test_help_and_version_are_data(onthedot):
    assert onthedot.ok("--version").out.startswith("onthedot ")
    assert onthedot.ok("--help").out.startswith("Usage: onthedot ")
    check_error(onthedot("jobs"), 2, "jobs")
