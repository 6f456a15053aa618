"""Functions that fork: the process that is left holds the pipe of the runner, and outlives it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.rest import eventually
from tests.support.server import Server

NOTICED_S = 20.0
"""A fraction of the neighbour's timeout, by which it would be ended anyway."""

APP = """
import os, signal, time
from pathlib import Path
from onthedot import App

app = App()


@app.job(name="neighbour", timeout=300, retries=0)
def neighbour():
    began = Path("neighbour")
    if not began.exists():
        began.touch()
        time.sleep(200)
    return "done"


@app.job(name="forks", timeout=300, retries=0)
def forks(leaves: bool):
    pid = os.fork()
    if not pid:
        if leaves:
            os.setsid()
        time.sleep(200)
        os._exit(0)
    Path("forked").write_text(str(pid))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("leaves", [False, True], ids=["in the same group", "in its own session"])
def test_a_runner_that_dies_is_noticed_though_a_fork_of_it_lives_on(tmp_path: Path, leaves: bool):
    (tmp_path / "shop.py").write_text(APP)
    with Server(tmp_path, options=("--app", "shop:app", "--runners", "1")) as server:
        jobs = {each["key"]: each["jobId"] for each in server.rest.get("/v1/jobs").json["jobs"]}
        waiting = server.rest.post(f"/v1/jobs/{jobs['neighbour']}/trigger").json["runId"]
        eventually((tmp_path / "neighbour").exists, "the neighbour")
        payload = {"payload": {"leaves": leaves}}
        server.rest.post(f"/v1/jobs/{jobs['forks']}/trigger", payload)

        def succeeded() -> bool:
            return bool(server.rest.get(f"/v1/runs/{waiting}").json["status"] == "succeeded")

        eventually(succeeded, "the neighbour's second start", within_s=NOTICED_S)
        assert "runner.died" in server.log.read_text()
        forked = int((tmp_path / "forked").read_text())
        if leaves:
            os.kill(forked, signal.SIGKILL)
        else:
            eventually(lambda: not _lives(forked), "the end of what the function has started")


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
