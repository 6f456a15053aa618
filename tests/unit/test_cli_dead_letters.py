"""`onthedot run dead|redrive|dismiss`: dead letters as people read and deal with them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.test_cli_client import StandIn
from tests.unit.test_cli_job import onthedot

LETTER: dict[str, Any] = {
    "runId": "r-1-2",
    "jobId": "job-1",
    "jobName": "reindex",
    "scheduledFor": "2027-01-31T09:30:00Z",
    "failedAt": "2027-01-31T09:31:00.128Z",
    "attempt": 4,
    "error": "HTTP 503 Service Unavailable",
    "version": 1,
}
ORPHAN = {**LETTER, "runId": "r-2-2", "jobId": "job-2", "jobName": None}
NEW = {"runId": "r-1-9", "jobId": "job-1", "redriveOf": "r-1-2"}


@pytest.fixture
def api(monkeypatch, tmp_path) -> Iterator[StandIn]:
    with StandIn() as stand_in:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ONTHEDOT_SERVER", stand_in.url)
        yield stand_in


def test_dead_lists_what_failed_and_why(api):
    api.answers["GET /v1/dead-letters"] = (
        200,
        {
            "deadLetters": [LETTER, ORPHAN],
            "nextCursor": None,
        },
    )

    result = onthedot("run", "dead")

    heading, first, second = [re.split(r" {2,}", line) for line in result.stdout.splitlines()]
    assert heading == ["RUN", "JOB", "NAME", "SCHEDULED FOR", "FAILED", "ATTEMPT", "WHY"]
    assert first[:3] == ["r-1-2", "job-1", "reindex"]
    assert first[4:] == ["2027-01-31 09:31:00.128Z", "4", "HTTP 503 Service Unavailable"]
    assert second[2] == "(deleted)"
    assert json.loads(onthedot("run", "dead", "--json").stdout) == [LETTER, ORPHAN]


def test_dead_says_when_there_are_more_or_none(api):
    api.answers["GET /v1/jobs/job-1/dead-letters"] = (
        200,
        {
            "deadLetters": [LETTER, LETTER],
            "nextCursor": None,
        },
    )
    api.answers["GET /v1/jobs/job-2/dead-letters"] = 200, {"deadLetters": [], "nextCursor": None}

    some = onthedot("run", "dead", "--job", "job-1", "--limit", "1")
    none = onthedot("run", "dead", "--job", "job-2")

    assert len(some.stdout.splitlines()) == 2
    assert "more than 1" in some.stderr
    assert (none.stdout, none.stderr) == ("", "There are no dead letters.\n")


def test_redrive_prints_the_new_run(api):
    api.answers["POST /v1/runs/r-1-2/redrive"] = 202, NEW

    assert onthedot("run", "redrive", "r-1-2").stdout == "r-1-9\n"
    assert json.loads(onthedot("run", "redrive", "r-1-2", "--json").stdout) == NEW


def test_redrive_of_a_job_goes_on_until_nothing_is_left(api):
    answers = iter([{"runs": [NEW, NEW], "more": True}, {"runs": [NEW], "more": False}])
    api.answers["POST /v1/jobs/job-1/dead-letters/redrive"] = lambda _: (202, next(answers))

    result = onthedot("run", "redrive", "--job", "job-1")

    assert result.stdout == "r-1-9\n" * 3
    assert result.stderr == "3 redriven\n"


def test_dismiss_says_how_many(api):
    api.answers["DELETE /v1/dead-letters/r-1-2"] = 204, None
    api.answers["DELETE /v1/jobs/job-1/dead-letters"] = 200, {"dismissed": 5, "more": False}

    assert onthedot("run", "dismiss", "r-1-2").stderr == "1 dismissed\n"
    assert onthedot("run", "dismiss", "--job", "job-1").stderr == "5 dismissed\n"
    assert json.loads(onthedot("run", "dismiss", "--job", "job-1", "--json").stdout) == {
        "dismissed": 5
    }


@pytest.mark.parametrize("command", ["redrive", "dismiss"])
@pytest.mark.parametrize("arguments", [(), ("r-1-2", "--job", "job-1")])
def test_one_run_or_a_job_must_be_named(api, command, arguments):
    result = onthedot("run", command, *arguments)

    assert result.exit_code == 2
    assert "either RUN or --job" in result.stderr
    assert api.requests == []
