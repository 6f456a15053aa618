"""Functions that do not end when their time is over, or when they are cancelled: with one runner,
none of them costs a neighbour its run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.form import LONG
from tests.support.rest import eventually
from tests.support.server import Server

ATTACK_S = 60.0 if LONG else 10.0
ATTACKS = ("sleep", "hold_the_interpreter", "swallow", *(("spin",) if LONG else ()))
ENDS_S = 60.0
OVER = frozenset({"succeeded", "failed", "cancelled", "skipped", "missed", "lost"})
MORE_THAN_THREADS = 12
NEIGHBOURS = ("plain", "coroutine", "once")

APP = """
import asyncio, ctypes, time
from onthedot import App

app = App()
ATTACK = {attack!r}


def sleep():
    time.sleep(60)


def hold_the_interpreter():
    ctypes.PyDLL(None).sleep(60)  # PyDLL keeps the interpreter's lock


def spin():
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pass


async def swallow():
    for _ in range(60):
        try:
            await asyncio.sleep(1)
        except BaseException:
            pass


stuck = app.job(name="stuck", every=2, timeout={timeout}, retries=0)(globals()[ATTACK])


@app.job(name="plain", every=1, retries=0)
def plain():
    time.sleep(0.2)


@app.job(name="coroutine", every=1, retries=0)
async def coroutine():
    await asyncio.sleep(0.2)


@app.job(name="once", every=1, retries=0, guarantee="at_most_once")
def once():
    time.sleep(0.2)
"""


@contextmanager
def a_server(
    folder: Path, attack: str, *, every: float = 2, timeout: float = 2
) -> Iterator[Server]:
    text = APP.format(attack=attack, every=every, timeout=timeout)
    (folder / "shop.py").write_text(text)
    with Server(folder, options=("--app", "shop:app", "--runners", "1")) as server:
        yield server


def job_of(server: Server, key: str) -> dict[str, Any]:
    [job] = server.rest.get("/v1/jobs", key=key).json["jobs"]
    return dict(job)


def runs_of(server: Server, key: str) -> list[dict[str, Any]]:
    runs = server.rest.get(f"/v1/jobs/{job_of(server, key)['jobId']}/runs", limit=1000).json["runs"]
    return list(runs)


def ended(server: Server) -> dict[str, Counter[str]]:
    """How the runs of each neighbour ended, after no more of them begin."""
    for key in (*NEIGHBOURS, "stuck"):
        path = f"/v1/jobs/{job_of(server, key)['jobId']}"
        assert server.rest.patch(path, {"paused": True}).status == 200

    def all_over() -> bool:
        return all(run["status"] in OVER for key in NEIGHBOURS for run in runs_of(server, key))

    eventually(all_over, "the end of every neighbour's runs", within_s=ENDS_S)
    return {key: Counter(run["status"] for run in runs_of(server, key)) for key in NEIGHBOURS}


def check_neighbours(server: Server) -> None:
    found = ended(server)
    for key, ends in found.items():
        ran = ends.pop("succeeded", 0)
        ends.pop("skipped", 0)
        assert not ends, f"{key}: {dict(ends)} of {ran + ends.total()} runs did not succeed"
        assert ran >= ATTACK_S * 0.6, f"{key} ran only {ran} times: {found}"


def why(server: Server, key: str) -> str:
    return str(server.rest.get(f"/v1/jobs/{job_of(server, key)['jobId']}/why").json)


def events(server: Server, name: str) -> list[str]:
    return [line for line in server.log_text().splitlines() if f" {name} " in line]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_function_past_its_timeout_costs_no_neighbour_its_run(tmp_path: Path, attack: str):
    with a_server(tmp_path, attack) as server:
        if attack == "sleep":
            for _ in range(MORE_THAN_THREADS):
                server.rest.made(f"/v1/jobs/{job_of(server, 'stuck')['jobId']}/trigger", {})
        time.sleep(ATTACK_S)

        check_neighbours(server)
        found = eventually(lambda: events(server, "function.set_apart"), "the log", within_s=ENDS_S)
        assert "function=stuck" in found[0]
        eventually(lambda: "runs alone" in why(server, "stuck"), "the reason", within_s=ENDS_S)
        stuck = [run for run in runs_of(server, "stuck") if run["status"] == "failed"]
        assert all(run["error"].startswith("timed out after 2 s") for run in stuck)


@pytest.mark.timeout(300)
def test_a_function_that_ignores_a_cancel_costs_no_neighbour_its_run(tmp_path: Path):
    with a_server(tmp_path, "sleep", timeout=600) as server:
        until = time.monotonic() + ATTACK_S
        while time.monotonic() < until:
            running = [run for run in runs_of(server, "stuck") if run["status"] == "running"]
            for run in running:
                server.rest.post(f"/v1/runs/{run['runId']}/cancel")
            time.sleep(0.5)

        check_neighbours(server)
        found = eventually(lambda: events(server, "function.set_apart"), "the log", within_s=ENDS_S)
        assert "function=stuck" in found[0]
        eventually(lambda: _is_cancelled(server), "the end of a cancelled run", within_s=ENDS_S)


def _is_cancelled(server: Server) -> bool:
    return any(run["status"] == "cancelled" for run in runs_of(server, "stuck"))
