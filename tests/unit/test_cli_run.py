"""`onthedot run`: the ledger as people read it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.test_cli_client import StandIn
from tests.unit.test_cli_job import onthedot

RUN: dict[str, Any] = {
    "runId": "r-1-2",
    "jobId": "job-1",
    "status": "succeeded",
    "scheduledFor": "2027-01-31T09:30:00Z",
    "startedAt": "2027-01-31T09:30:00.004Z",
    "finishedAt": "2027-01-31T09:30:00.128Z",
    "attempt": 1,
    "error": None,
    "output": "ok",
    "reason": None,
    "until": None,
    "count": None,
}
MISSED = {
    **RUN,
    "status": "missed",
    "startedAt": None,
    "finishedAt": None,
    "attempt": 0,
    "reason": "no server was running",
    "until": "2027-01-31T09:40:00Z",
    "count": 11,
}


@pytest.fixture
def api(monkeypatch, tmp_path) -> Iterator[StandIn]:
    with StandIn() as stand_in:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ONTHEDOT_SERVER", stand_in.url)
        yield stand_in


def test_list_shows_lateness_and_how_long_it_took(api):
    api.answers["GET /v1/jobs/job-1/runs"] = 200, {"runs": [RUN], "nextCursor": None}

    result = onthedot("run", "list", "job-1", "--limit", "7")

    assert api.requests[-1].query == {"limit": "7"}
    cells = re.split(r" {2,}", result.stdout.splitlines()[1])
    assert cells == ["r-1-2", "succeeded", "2027-01-31 09:30:00Z", "1", "4 ms", "124 ms", "-"]


def test_a_missed_range_is_one_line_with_its_count(api):
    api.answers["GET /v1/jobs/job-1/runs"] = 200, {"runs": [MISSED], "nextCursor": None}

    result = onthedot("run", "list", "job-1")

    assert "2027-01-31 09:30:00Z to 2027-01-31 09:40:00Z, 11 occurrences" in result.stdout
    assert "no server was running" in result.stdout


def test_list_in_json_is_what_the_server_said(api):
    api.answers["GET /v1/jobs/job-1/runs"] = 200, {"runs": [RUN, MISSED], "nextCursor": None}

    assert json.loads(onthedot("run", "list", "job-1", "--json").stdout) == [RUN, MISSED]


def test_show_says_from_where_a_run_was_moved_and_how_long_it_is_held_back(api):
    moved = {"nominal": "2027-01-30T09:30:00Z", "notBefore": "2027-01-31T09:42:00Z"}
    api.answers["GET /v1/runs/r-1-2"] = 200, {**RUN, **moved, "attempts": []}

    shown = onthedot("run", "show", "r-1-2").stdout

    assert re.search(r"moved from +2027-01-30 09:30:00Z\n", shown)
    assert re.search(r"not before +2027-01-31 09:42:00Z\n", shown)


def test_a_job_without_runs_says_so(api):
    api.answers["GET /v1/jobs/job-1/runs"] = 200, {"runs": [], "nextCursor": None}

    assert "has no runs yet" in onthedot("run", "list", "job-1").stderr
    assert json.loads(onthedot("run", "list", "job-1", "--json").stdout) == []


def test_show_has_every_attempt(api):
    attempts = [
        {**RUN, "attempt": 1, "status": "failed", "error": "HTTP 503 Service Unavailable"},
        {**RUN, "attempt": 2},
    ]
    api.answers["GET /v1/runs/r-1-2"] = 200, {**RUN, "attempts": attempts}

    result = onthedot("run", "show", "r-1-2")

    assert "HTTP 503 Service Unavailable" in result.stdout
    assert "output         ok" in result.stdout
    assert len(result.stdout.split("ATTEMPT")[1].splitlines()) == 3
    assert json.loads(onthedot("run", "show", "r-1-2", "--json").stdout)["attempts"] == attempts


@pytest.mark.parametrize(
    ("status", "said"), [(200, "r-1-2 is cancelled"), (202, "r-1-2 was told to stop")]
)
def test_cancel_says_whether_it_is_done(api, status, said):
    api.answers["POST /v1/runs/r-1-2/cancel"] = status, {"runId": "r-1-2", "status": "running"}

    assert said in onthedot("run", "cancel", "r-1-2").stderr
    assert json.loads(onthedot("run", "cancel", "r-1-2", "--json").stdout)["runId"] == "r-1-2"


def test_cancel_of_a_run_that_is_over_fails(api):
    api.answers["POST /v1/runs/r-1-2/cancel"] = 409, {"detail": "the run has succeeded"}

    result = onthedot("run", "cancel", "r-1-2")

    assert result.exit_code == 1
    assert result.stderr == "error: the run has succeeded\n"


def test_an_id_of_any_shape_stays_one_part_of_the_path(api):
    onthedot("run", "show", "../jobs?x=1")

    assert api.requests[-1].path == "/v1/runs/..%2Fjobs%3Fx%3D1"


def test_an_exception_is_one_line_in_the_list_and_whole_where_its_run_is_shown(api):
    error = "ValueError: no card\nTraceback (most recent call last):\n  File 'shop.py', line 3"
    failed = {**RUN, "status": "failed", "error": error, "attempts": []}
    api.answers["GET /v1/jobs/job-1/runs"] = 200, {"runs": [failed], "nextCursor": None}
    api.answers["GET /v1/runs/r-1-2"] = 200, failed

    assert onthedot("run", "list", "job-1").stdout.splitlines()[1].endswith("  ValueError: no card")
    assert onthedot("run", "show", "r-1-2").stdout.endswith(f"\n\n{error}\n")
