"""Guarantees in real processes: what may start once starts once, whoever dies meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.test_server_kit import Stage
from tests.support.receiver import Receiver
from tests.support.rest import eventually
from tests.support.server import Server

APP = """
import asyncio, os, signal
from onthedot import App

app = App()


@app.job(name="dies", guarantee="at_most_once")
def dies(log: str):
    with open(log, "a") as file:
        file.write("started\\n")
    os.kill(os.getpid(), signal.SIGKILL)


@app.job(name="lasts", guarantee="at_most_once")
async def lasts(log: str):
    with open(log, "a") as file:
        file.write("started\\n")
    await asyncio.sleep(60)
"""


@pytest.fixture
def stage(tmp_path, receiver: Receiver) -> Iterator[Stage]:
    (tmp_path / "shop.py").write_text(APP)
    options = ("--app", "shop:app", "--runners", "1", "--grace", "0.2")
    with Server(tmp_path, options=options) as server:
        yield Stage(server, receiver)


def function(stage: Stage, key: str) -> dict[str, object]:
    [job] = stage.rest.get("/v1/jobs", key=key).json["jobs"]
    return dict(job)


def test_a_function_whose_runner_dies_is_lost_and_called_once(stage, tmp_path):
    log = tmp_path / "log"

    run = stage.over(stage.trigger(function(stage, "dies"), payload={"log": str(log)}))

    assert (run["status"], run["reason"]) == ("lost", "outcome unknown")
    assert run["error"] == "its runner process was killed by SIGKILL"
    assert log.read_text() == "started\n"
    eventually(lambda: "run.lost count=1" in stage.server.log_text(), "the event run.lost")
    assert b"onthedot_runs_lost_total 1.0" in stage.rest.get("/metrics").body
    [letter] = stage.rest.get("/v1/dead-letters").json["deadLetters"]
    assert letter["runId"] == run["runId"]
    why = stage.rest.get(f"/v1/runs/{run['runId']}/why").json
    assert any("was lost" in finding["found"] for finding in why["findings"])


def test_what_a_killed_server_had_started_is_lost_and_the_rest_runs(stage, tmp_path):
    log = tmp_path / "log"
    started = stage.trigger(function(stage, "lasts"), payload={"log": str(log)})
    callback = stage.job("/hang", guarantee="at_most_once")
    hanging = stage.trigger(callback)
    stage.called(callback)
    eventually(lambda: log.exists() and log.read_text() != "", "the start of the function")
    later = stage.trigger(stage.job("/ok", guarantee="at_most_once"), delay=0.5)

    stage.server.restart()

    assert [stage.over(run)["status"] for run in (started, hanging)] == ["lost", "lost"]
    assert stage.over(later)["status"] == "succeeded"
    assert "node 1 died" in stage.run(started)["error"]
    assert log.read_text() == "started\n"
    assert len(stage.calls(callback)) == 1


def test_a_drain_that_cannot_wait_loses_what_it_has_started(stage, tmp_path):
    log = tmp_path / "log"
    run = stage.trigger(function(stage, "lasts"), payload={"log": str(log)})
    eventually(lambda: log.exists() and log.read_text() != "", "the start of the function")

    assert stage.server.terminate() == 0
    stage.server.start()

    seen = stage.run(run)
    assert (seen["status"], seen["error"]) == ("lost", "its node was stopped before it ended")
    assert log.read_text() == "started\n"
