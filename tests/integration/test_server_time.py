"""Time as the shared server kept it, looked at when the other tests are over."""

from __future__ import annotations

import pytest

from tests.integration.test_server_kit import SECOND_US, finished, lateness_us
from tests.support.rest import instant_us


@pytest.mark.timeout(90)
def test_a_cron_job_runs_on_the_minute_once(shared, every_minute):
    """Its minute has to come: the job was made when the first of these tests began."""
    due = instant_us(every_minute["nextRunAt"])
    runs = shared.when_runs(
        every_minute,
        lambda runs: bool(runs) and bool(runs[-1]["finishedAt"]),
        "its first minute",
        within_s=65,
    )

    first = runs[-1]
    assert instant_us(first["scheduledFor"]) == due
    assert due % 60_000_000 == 0
    assert first["status"] == "succeeded"
    assert lateness_us(first) >= 0


def test_no_run_of_the_shared_server_started_before_its_instant(shared, every_minute):
    early = [
        run
        for job in [*shared.rest.pages("/v1/jobs", "jobs")]
        for run in finished(shared.runs(job, limit=1000))
        if run["startedAt"] is not None and lateness_us(run) < 0
    ]
    calls = [call for call in shared.receiver.calls() if "onthedot-run" in call.headers]

    assert early == []
    assert calls
    assert [call for call in calls if call.at_ns // 1000 < call.scheduled_for_us] == []


def test_the_wall_clock_of_the_server_is_ours(shared):
    now = instant_us(shared.rest.get("/v1/overview").json["now"])
    made = instant_us(shared.job(delay=3600)["createdAt"])

    assert 0 <= made - now < 10 * SECOND_US
