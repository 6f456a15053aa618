"""Functions that hold the interpreter, crash, eat memory, block their loop or never end: none costs
the node its lease or a callback its time, and each is named.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_functions import ended, keyed, said
from tests.integration.test_server_kit import SECOND_US, Stage, lateness_us
from tests.support.receiver import Receiver
from tests.support.rest import eventually
from tests.support.server import Server

GIL_S = float(os.environ.get("ONTHEDOT_TEST_GIL_S", "3"))
"""How long the interpreter is held; `dev.py` has no need to wait for 20 s each time."""

LATE_US_MAX = 2 * SECOND_US
"""Generous: it is no benchmark, and a callback that waited for a function would be later."""

APP = """
import asyncio, ctypes, os, subprocess, time
from onthedot import App

app = App()


@app.job(name="gil", timeout=120, retries=0)
def gil(seconds: float):
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # PyDLL keeps the interpreter's lock
    return "held"


@app.job(name="crash", isolation="process", retries=0)
def crash():
    ctypes.string_at(0)


@app.job(name="eater", isolation="process", memory_limit="300MB", retries=0)
def eater():
    return len(b"x" * 10**9)


@app.job(name="endless", isolation="process", timeout=1, retries=0)
def endless():
    ctypes.PyDLL(None).sleep(600)


@app.job(name="apart", isolation="process")
def apart():
    print("hello from", os.getpid())
    return os.getpid()


@app.job(name="waiting", isolation="process", timeout=120)
async def waiting(ctx):
    subprocess.Popen(["sleep", "600"])
    ctx.progress(1)
    await asyncio.sleep(600)


@app.job(name="blocker")
async def blocker():
    await asyncio.sleep(0)
    time.sleep(1.6)
"""


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("nasty")
    (folder / "shop.py").write_text(APP)
    with Server(folder, options=("--app", "shop:app", "--runners", "2")) as server:
        yield Stage(server, receiver)
        assert "node.found_itself_dead" not in server.log.read_text()


def events(stage: Stage, name: str) -> list[str]:
    return [line for line in stage.server.log.read_text().splitlines() if f" {name} " in line]


def children(pid: int) -> list[int]:
    """The processes that this one has started and that are not gone, zombies included."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def test_a_function_that_holds_the_interpreter_is_named_and_delays_nobody_else(apps):
    ticking = apps.job("/ok", every=1)
    run_id = apps.trigger(keyed(apps, "gil"), payload={"seconds": GIL_S})
    eventually(lambda: events(apps, "runner.silent"), "the silence")
    other = ended(apps, "apart")
    run = apps.over(run_id, within_s=GIL_S + 30)

    assert (run["status"], run["output"], run["rescues"]) == ("succeeded", '"held"', 0)
    assert other["status"] == "succeeded"
    assert "functions=gil" in events(apps, "runner.silent")[-1]
    words = [text for _, level, text in said(apps, run_id) if level == "warning"]
    assert "this run holds the interpreter" in words[0]
    ticks = [tick for tick in apps.runs(ticking) if tick["status"] == "succeeded"]
    assert ticks
    assert all(lateness_us(tick) < LATE_US_MAX for tick in ticks), ticks
    assert apps.rest.delete(f"/v1/jobs/{ticking['jobId']}").status == 204


def test_a_coroutine_that_blocks_its_loop_is_named_in_the_log_of_its_run(apps):
    run = ended(apps, "blocker")

    [words] = [text for _, level, text in said(apps, run["runId"]) if level == "warning"]
    assert words.startswith("this run held up its process for 1.")
    assert "in blocker" in words
    assert "function=blocker" in events(apps, "runner.blocked")[-1]


def test_a_crash_in_a_process_of_its_own_fails_the_attempt_and_says_how(apps):
    run = ended(apps, "crash")

    assert (run["status"], run["error"]) == ("failed", "its process was killed by SIGSEGV")
    assert "functions=crash" in events(apps, "runner.died")[-1]
    assert "in crash" in apps.server.log.read_text()


def test_a_function_that_takes_too_much_memory_fails_and_says_the_limit(apps):
    run = ended(apps, "eater")

    assert run["status"] == "failed"
    lines = str(run["error"]).splitlines()
    assert lines[0] == "out of memory: limit 300 MB"
    assert "in eater" in str(run["error"])


def test_a_process_of_its_own_is_killed_when_its_time_is_over(apps):
    run = ended(apps, "endless")

    assert (run["status"], run["error"]) == ("failed", "timed out after 1 s")


def test_a_process_of_its_own_says_and_returns_like_any_other_and_leaves_nothing(apps):
    server = apps.server.process.pid
    first = ended(apps, "apart")
    eventually(lambda: len(children(server)) == 2, "the two runners alone")
    before = len(list(Path(f"/proc/{server}/fd").iterdir()))
    runs = [apps.trigger(keyed(apps, "apart")) for _ in range(4)]
    done = [apps.over(run_id, within_s=30) for run_id in runs]

    assert len({first["output"], *(run["output"] for run in done)}) == 5
    assert said(apps, first["runId"]) == [(1, "stdout", f"hello from {first['output']}")]
    eventually(lambda: len(children(server)) == 2, "the two runners alone")
    eventually(
        lambda: len(list(Path(f"/proc/{server}/fd").iterdir())) <= before, "the pipes to be closed"
    )


def test_a_process_of_its_own_is_cancelled(apps):
    run_id = apps.trigger(keyed(apps, "waiting"))
    eventually(lambda: apps.run(run_id)["progress"], "the start")

    assert apps.rest.post(f"/v1/runs/{run_id}/cancel").status == 202
    assert apps.over(run_id)["status"] == "cancelled"


def test_processes_leave_with_a_server_that_is_killed(tmp_path, receiver):
    (tmp_path / "shop.py").write_text(APP)
    server = Server(tmp_path, options=("--app", "shop:app", "--runners", "1"))
    with server:
        stage = Stage(server, receiver)
        stage.trigger(keyed(stage, "gil"), payload={"seconds": 60})
        stage.trigger(keyed(stage, "endless"))
        pids = eventually(lambda: _both(server.process.pid), "both processes")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()

        assert eventually(lambda: not any(_is_there(pid) for pid in pids), "their end")


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _both(server: int) -> Any:
    found = children(server)
    return found if len(found) == 2 else None
