"""A server that has run out of files makes no call, uses up no attempt, and goes on by itself."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.hostile.probes import cpu_s
from tests.hostile.raw import Raw, raw, request
from tests.integration.test_server_kit import Json, Stage
from tests.support.receiver import Receiver
from tests.support.rest import eventually
from tests.support.server import Server


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Receiver() as receiver, Server(tmp_path) as server:
        yield Stage(server, receiver)


@contextmanager
def no_more_files(pid: int) -> Iterator[None]:
    """What is open stays open; nothing new can be opened."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def asked(client: Raw, path: str) -> Json:
    found: Json = json.loads(client.send(request("GET", path)).answer().body)
    return found


if sys.platform == "linux":  # nowhere else can a limit be set on a process that runs

    @pytest.mark.parametrize("guarantee", ["at_least_once", "at_most_once"])
    def test_without_files_no_attempt_is_used_up_and_everybody_is_told(stage, guarantee):
        job = stage.job(retries=0, guarantee=guarantee)
        trigger = request("POST", f"/v1/jobs/{job['jobId']}/trigger", body=b"{}")
        time.sleep(2)  # until the connection that health checks were made on is gone

        with raw(stage.server.port, request("GET", "/health/live")) as client:
            client.answer()
            with no_more_files(stage.server.process.pid):
                run_id = json.loads(client.send(trigger).answer().body)["runId"]
                eventually(lambda: asked(client, "/health")["problems"], "the alarm")
                problems = asked(client, "/health")["problems"]
                eventually(lambda: "fault" in str(asked(client, f"/v1/runs/{run_id}/why")), "why")
                why = str(asked(client, f"/v1/runs/{run_id}/why"))
            run = stage.over(run_id, within_s=20)

        assert (run["status"], run["attempt"]) == ("succeeded", 1)
        assert len(stage.receiver.calls_of(run_id)) == 1
        assert any("Too many open files" in problem for problem in problems)
        assert "attempt 1 could not be made and is not used up" in why
        assert "node.fault fault=open_files" in stage.server.log_text()
        metrics = stage.rest.get("/metrics").body.decode()
        assert 'onthedot_node_faults_total{fault="open_files"} 0' not in metrics
        eventually(stage.server.healthy, "the end of the alarm")

    def test_without_files_the_server_does_not_spin_at_its_door(stage):
        pid = stage.server.process.pid
        with no_more_files(pid):
            clients = [Raw(stage.server.port) for _ in range(20)]
            log = stage.server.log_text
            eventually(lambda: "api.cannot_accept" in log(), "the event")
            used = cpu_s(pid)
            time.sleep(2)  # what is measured is what it does meanwhile
            spent = cpu_s(pid) - used
        served = clients[0].send(request("GET", "/health/live")).answer()
        for client in clients:
            client.close()

        assert served.status == 200
        assert spent < 1
        assert log().count("api.cannot_accept") == 1
