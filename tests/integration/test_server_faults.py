"""A disk that takes no more: writes are refused, nothing is lost, and the server goes on."""

from __future__ import annotations

import resource
import sys
from itertools import pairwise

from tests.integration.test_server_kit import SECOND_US, Stage, check_problem, lateness_us
from tests.support.receiver import Receiver
from tests.support.rest import eventually, instant_us
from tests.support.server import Server

if sys.platform == "linux":  # nowhere else can a limit be set on a process that runs

    def test_a_disk_that_fails_for_a_while_loses_no_occurrence(tmp_path):
        with Receiver() as receiver, Server(tmp_path) as server:
            stage = Stage(server, receiver)
            job = stage.job(every=1, catchUp="all")
            stage.called(job)
            pid = server.process.pid

            before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
            refused = server.rest.post("/v1/jobs", {"name": "x", "handlerUrl": receiver.url})
            eventually(lambda: server.rest.get("/health").status == 503, "the alarm")
            problems = server.rest.get("/health").json["problems"]
            alive = server.rest.get("/health/live").status
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
            calls = len(stage.calls(job))
            eventually(lambda: server.rest.get("/health").status == 200, "its end")
            stage.called(job, calls + 2)

            check_problem(refused, 503)
            assert problems
            assert alive == 200
            assert [made["jobId"] for made in server.rest.get("/v1/jobs").json["jobs"]] == [
                job["jobId"]
            ]
            runs = [run for run in stage.runs(job) if run["startedAt"] is not None][::-1]
            dues = [instant_us(run["scheduledFor"]) for run in runs]
            assert all(after - due == SECOND_US for due, after in pairwise(dues))
            assert all(lateness_us(run) >= 0 for run in runs)
            keys = [call.idempotency_key for call in stage.calls(job)]
            assert len(set(keys)) == len(keys)
