"""A fixed delay over HTTP, and of a function: each run counts from the end of the last."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from onthedot import App, Context
from onthedot.testing import node
from tests.integration.test_server_kit import SECOND_US, check_problem, finished
from tests.support.rest import instant_us


def test_each_run_is_due_one_delay_after_the_end_of_the_last(stage):
    job = stage.job(fixedDelay=1)

    runs = finished(
        stage.when_runs(job, lambda runs: len(finished(runs)) >= 3, "three turns", within_s=20)
    )
    audit = stage.rest.get(f"/v1/jobs/{job['jobId']}/audit").json

    gaps = {
        instant_us(later["scheduledFor"]) - instant_us(earlier["finishedAt"])
        for later, earlier in pairwise(runs)
    }
    assert job["nextRunAt"] is not None
    assert job["sentence"] == "1 second after the last run has ended"
    assert gaps == {SECOND_US}
    assert instant_us(runs[-1]["scheduledFor"]) - instant_us(job["createdAt"]) == SECOND_US
    assert audit["balanced"]


def test_a_pause_holds_it_and_a_resume_goes_on(stage):
    job = stage.job(fixedDelay=900)
    shown = stage.patched(job, paused=True)
    resumed = stage.patched(job, paused=False)

    assert (shown["nextRunAt"], resumed["nextRunAt"]) == (None, job["nextRunAt"])
    [only] = stage.runs(job)
    assert (only["status"], only["scheduledFor"]) == ("scheduled", job["nextRunAt"])


def test_an_edit_shows_what_it_would_come_to(stage):
    job = stage.job(every=60)

    path = f"/v1/jobs/{job['jobId']}?dryRun=true"
    shown = stage.rest.patch(path, {"schedule": "1 hour after the last run"}).json

    [instant] = shown["new"]["instants"]
    assert instant["marks"] == ["fixedDelay"]
    assert shown["new"]["sentence"] == "1 hour after the last run has ended"
    assert stage.get_job(job)["every"] == 60


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"fixedDelay": 0.1}, "fixedDelay"),
        ({"fixedDelay": 60, "jitter": 5}, "jitter"),
        ({"fixedDelay": 60, "cronExpr": "* * * * *"}, "fixedDelay"),
        ({"schedule": "some time after the last run"}, "schedule"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(stage, fields, field):
    said = {"name": "sync", "handlerUrl": f"{stage.receiver.url}/ok", **fields}

    check_problem(stage.rest.post("/v1/jobs", said), 422, field)


def test_there_is_nothing_to_backfill(stage):
    job = stage.job(fixedDelay=900)

    path = f"/v1/jobs/{job['jobId']}/backfill"
    reply = stage.rest.post(path, {"from": job["createdAt"], "until": job["createdAt"]})

    check_problem(reply, 422, "from")
    assert "Trigger the job" in reply.json["hint"]


def test_a_function_runs_one_delay_after_it_has_ended():
    app = App()

    @app.job(name="sync", fixed_delay="PT15M", retries=1, backoff={"initial": 60, "max": 60})
    async def sync(ctx: Context) -> int:
        if ctx.attempt == 1:
            raise LookupError("at the second try")
        return ctx.attempt

    with node(app) as here:
        here.clock.advance(hours=2)
        runs = here.runs(sync)

    assert [str(run.status) for run in runs] == 7 * ["succeeded"] + ["scheduled"]
    for earlier, later in pairwise(runs):
        assert earlier.finished_at is not None
        assert later.scheduled_for - earlier.finished_at == timedelta(minutes=15)
