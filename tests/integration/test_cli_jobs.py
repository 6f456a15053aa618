"""`onthedot job …` against a real server."""

from __future__ import annotations

import pytest

from tests.integration.test_cli_kit import Command, check_error
from tests.support.server import free_port


@pytest.fixture
def onthedot(stage, tmp_path) -> Command:
    return Command(tmp_path, stage.server.url)


def test_a_job_is_added_with_every_option_and_shown(stage, onthedot):
    (onthedot.folder / "payload.json").write_text('{"to": "ana"}')
    url = f"{stage.receiver.url}/ok"
    words = f"job add report --url {url} --timezone Europe/Berlin --payload @payload.json --json"
    words += " --retries 1 --timeout PT5S --queue mail --priority 7 --key cli/report --catch-up all"
    options = [*words.split(), "--cron", "0 9 * * MON-FRI", "--tag", "a", "--tag", "b", "--paused"]

    job = onthedot.ok(*options).json

    stage.made.append(job["jobId"])
    assert stage.get_job(job) == job
    assert job["handlerUrl"] == url
    assert (job["cronExpr"], job["timezone"]) == ("0 9 * * MON-FRI", "Europe/Berlin")
    assert (job["payload"], job["tags"], job["paused"]) == ({"to": "ana"}, ["a", "b"], True)
    assert (job["retries"], job["timeout"], job["queue"], job["priority"]) == (1, 5, "mail", 7)
    assert (job["key"], job["catchUp"]) == ("cli/report", "all")

    shown = onthedot.ok("job", "show", "cli/report").out
    for part in (job["jobId"], "report", url, "0 9 * * MON-FRI (Europe/Berlin)", "paused", "a, b"):
        assert part in shown
    assert onthedot.ok("job", "show", "cli/report", "--json").json == job


@pytest.mark.parametrize(
    ("option", "value", "field", "shown"),
    [
        ("--every", "PT15M", "every", 900),
        ("--fixed-delay", "PT15M", "fixedDelay", 900),
        ("--at", "2199-01-31T09:30:00Z", "runAt", "2199-01-31T09:30:00Z"),
    ],
)
def test_a_job_may_have_any_kind_of_schedule(stage, onthedot, option, value, field, shown):
    url = f"{stage.receiver.url}/ok"

    job = onthedot.ok("job", "add", "any", "--url", url, option, value, "--json").json

    stage.made.append(job["jobId"])
    assert job[field] == shown


def test_jobs_are_listed_with_their_schedule_and_next_run(stage, onthedot):
    job = stage.job(name="listed", key="cli/listed", every=3600)

    lines = onthedot.ok("job", "list").out.splitlines()

    assert lines[0].split() == ["ID", "NAME", "KEY", "SCHEDULE", "NEXT", "RUN"]
    [line] = [line for line in lines if line.startswith(f"{job['jobId']} ")]
    for part in ("listed", "cli/listed", "every 1 h", job["nextRunAt"][:10], "in 59 min"):
        assert part in line


def test_a_list_that_goes_on_says_so(stage, onthedot):
    newest = [stage.job(name=f"of many {number}") for number in range(3)][-1]

    done = onthedot.ok("job", "list", "--limit", "1", "--json")

    assert done.json == [newest]
    assert "more than 1" in done.err


def test_a_job_is_paused_resumed_and_deleted_by_name(stage, onthedot):
    job = stage.job(name="by name", every=3600)

    done = onthedot.ok("job", "pause", "by name")
    assert (done.out, done.err) == ("", f"paused {job['jobId']} by name\n")
    assert stage.get_job(job)["paused"] is True

    assert onthedot.ok("job", "resume", "by name", "--json").json == stage.get_job(job)
    assert stage.get_job(job)["paused"] is False

    deleted = onthedot.ok("job", "delete", job["jobId"], "--json")
    assert deleted.json == {"jobId": job["jobId"], "deleted": True}
    check_error(onthedot("job", "delete", job["jobId"]), 1, "or it was deleted")


def test_a_trigger_prints_the_run_and_can_wait_for_its_end(stage, onthedot):
    stage.job("/echo", name="echo", key="cli/echo")

    run_id = onthedot.ok("job", "trigger", "cli/echo").out.strip()
    waited = onthedot.ok(
        "job", "trigger", "cli/echo", "--payload", "@-", "--wait", "--json", said='{"n": 1}'
    )

    assert stage.over(run_id)["status"] == "succeeded"
    assert (waited.json["status"], waited.json["output"]) == ("succeeded", '{"n":1}')
    assert "attempt 1 succeeded" in waited.err


def test_a_trigger_that_waits_ends_with_1_if_the_run_failed(stage, onthedot):
    stage.job("/status/404", name="gone", key="cli/gone")

    done = onthedot("job", "trigger", "cli/gone", "--wait")

    assert done.code == 1
    assert done.out.endswith(" failed\n")
    assert "attempt 1 failed: HTTP 404 Not Found" in done.err


def test_a_trigger_may_be_for_later(stage, onthedot):
    stage.job(name="later", key="cli/later")

    made = onthedot.ok("job", "trigger", "cli/later", "--delay", "3600", "--json").json

    assert stage.run(made["runId"])["status"] == "scheduled"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("job add x --url nowhere --every 5", 2, "handlerUrl 'nowhere'"),
        ("job add x --url http://127.0.0.1:9/ --cron 75", 2, "are needed"),
        ("job add x --url http://127.0.0.1:9/ --every 5 --delay 5", 2, "--every and --delay"),
        ("job show no-such-job", 1, "no-such-job"),
        ("job list --limit 0", 2, "--limit"),
    ],
)
def test_wrong_use_ends_with_2_and_failure_with_1(onthedot, arguments, code, said):
    check_error(onthedot(*arguments.split()), code, said)


def test_two_jobs_of_one_name_are_told_apart_by_id(stage, onthedot):
    twins = [stage.job(name="twin") for _ in range(2)]

    done = onthedot("job", "show", "twin")

    assert done.code == 1
    assert "several jobs are named 'twin'" in done.err
    assert all(job["jobId"] in done.err for job in twins)


def test_a_server_that_is_not_there_is_named_with_the_next_step(onthedot):
    url = f"http://127.0.0.1:{free_port()}"

    check_error(onthedot("job", "list", "--server", url), 1, f"no server answers at {url}")
