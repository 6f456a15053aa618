"""`onthedot why`: an explanation as people read it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.unit.test_cli_client import StandIn
from tests.unit.test_cli_job import onthedot

SAID = {
    "jobId": "job-1",
    "runId": None,
    "summary": "it is paused",
    "findings": [
        {"check": "job", "verdict": "ok", "found": "it exists", "fix": None},
        {"check": "paused", "verdict": "problem", "found": "it is paused", "fix": "resume it"},
    ],
}
RUN = "452cb2020f-1-19815598a290f801"


@pytest.fixture
def api(monkeypatch, tmp_path) -> Iterator[StandIn]:
    with StandIn() as stand_in:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ONTHEDOT_SERVER", stand_in.url)
        yield stand_in


def test_each_check_is_a_line_with_its_fix_below(api):
    api.answers["GET /v1/jobs/job-1/why"] = 200, SAID

    result = onthedot("why", "job-1")

    assert result.stdout.splitlines() == [
        "ok       it exists",
        "problem  it is paused",
        "         fix: resume it",
        "",
        "job-1: it is paused",
    ]
    assert json.loads(onthedot("why", "job-1", "--json").stdout) == SAID


def test_what_looks_like_a_run_is_asked_for_as_one(api):
    api.answers[f"GET /v1/runs/{RUN}/why"] = 200, {**SAID, "runId": RUN}

    assert onthedot("why", RUN).exit_code == 0
    assert [request.path for request in api.requests] == [f"/v1/runs/{RUN}/why"]


def test_a_job_can_be_named(api):
    job = {"jobId": "job-1", "name": "report", "key": None}
    api.answers["GET /v1/jobs"] = 200, {"jobs": [job], "nextCursor": None}
    api.answers["GET /v1/jobs/job-1/why"] = 200, SAID

    assert "it is paused" in onthedot("why", "report").stdout
    assert onthedot("why", "nothing").exit_code == 1
