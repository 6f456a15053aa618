"""The connection bar: 2,000 half-open clients on a server that may have 1,024 files open, and no
callback fails or is late.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.form import LONG
from tests.hostile.probes import open_files, rss_mb
from tests.hostile.raw import Raw, raw, request
from tests.integration.test_server_kit import Json, Stage, lateness_us
from tests.support.receiver import Receiver
from tests.support.rest import eventually, instant_us
from tests.support.server import ONTHEDOT, Server, clean_environment

ROOT = Path(__file__).parents[2]
OPEN_FILES = 1_024
CLIENTS = 2_000
ATTACK_S = 60.0 if LONG else 6.0
CALM_S = 10.0 if LONG else 3.0
LATE_US = 250_000
JOBS = 20
SPARED_S = 1.2
ROUNDS = 3
MEMORY_MB = 300


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Receiver() as receiver, Server(tmp_path, open_files=OPEN_FILES) as server:
        yield Stage(server, receiver)


def runs_between(stage: Stage, jobs: list[Json], began_us: int, ended_us: int) -> list[Json]:
    """The runs that were due then, each of them over."""

    def due(run: Json) -> bool:
        return began_us <= instant_us(run["scheduledFor"]) < ended_us

    found: list[Json] = []
    for job in jobs:
        found += [run for run in stage.runs(job, limit=1000) if due(run)]
    return found


def now_us() -> int:
    return time.time_ns() // 1_000


def wait_until_over(stage: Stage, jobs: list[Json], began_us: int, ended_us: int) -> list[Json]:
    def over() -> bool:
        runs = runs_between(stage, jobs, began_us, ended_us)
        return bool(runs) and all(run["finishedAt"] for run in runs)

    eventually(over, "the end of every run", within_s=20)
    return runs_between(stage, jobs, began_us, ended_us)


def test_two_thousand_half_open_clients_fail_no_callback_and_make_none_late(stage):
    jobs = [stage.job(every=1, retries=3) for _ in range(JOBS)]
    stage.called(jobs[-1], 1)

    # Whoever else uses the machine can make runs late, but never keep them from being so: what is
    # late because of the crowd is late in every round.
    rounds = (attacked(stage, jobs) for _ in range(ROUNDS))

    assert any(beyond_us <= LATE_US for beyond_us in rounds)


def attacked(stage: Stage, jobs: list[Json]) -> int:
    """By how much the worst run of an attack is later than the worst of the calm before it."""
    pid = stage.server.process.pid
    calm_from = now_us()
    time.sleep(CALM_S)  # the control is what happens meanwhile
    began, healthy, memory = now_us(), [], rss_mb(pid)
    command = [sys.executable, "-m", "tests.hostile.crowd", str(stage.server.port)]
    with subprocess.Popen(
        [*command, str(CLIENTS), str(ATTACK_S)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as crowd:
        while crowd.poll() is None:
            with raw(stage.server.port, request("GET", "/health/live")) as probe:
                healthy.append(probe.answer().status)
            memory = max(memory, rss_mb(pid))
            assert open_files(pid) < OPEN_FILES
            time.sleep(0.2)
        did = json.loads(crowd.communicate()[0])
    runs = wait_until_over(stage, jobs, began, now_us())
    calm = wait_until_over(stage, jobs, calm_from, began)

    worst, usual = max(map(lateness_us, runs)), max(map(lateness_us, calm))
    print(f"{len(runs)} runs, late by {worst} us at most, {usual} us in the calm")
    print(f"{memory:.0f} MB; the crowd: {did}")
    assert did["most"] > 1_000, "it was no crowd"
    assert min(did[kind] for kind in ("silent", "half_head", "half_body", "idle", "unread"))
    assert set(healthy) == {200}
    assert {(run["status"], run["attempt"]) for run in runs} == {("succeeded", 1)}
    assert len(runs) >= JOBS * (ATTACK_S - 2)
    assert memory < MEMORY_MB
    return worst - usual


def test_with_few_files_callbacks_have_theirs_and_health_answers(tmp_path):
    with Receiver() as receiver, Server(tmp_path, open_files=256) as server:
        stage = Stage(server, receiver)
        clients = [Raw(server.port).send(b"GET / HTTP/1.1\r\nHo") for _ in range(300)]

        runs = [stage.trigger(stage.job("/slow/0.3", retries=0)) for _ in range(60)]
        ended = [stage.over(run)["status"] for run in runs]
        for client in clients:
            client.close()

        assert ended == ["succeeded"] * 60


def test_a_client_that_comes_when_all_places_are_taken_takes_that_of_a_silent_one(tmp_path):
    few = {"ONTHEDOT_CONNECTIONS": "16"}
    with Server(tmp_path, environment=few) as server:
        busy = Raw(server.port).send(request("GET", "/health/live"))
        assert busy.answer().status == 200
        silent = [Raw(server.port) for _ in range(15)]
        busy.send(request("GET", "/health/live")).answer()
        time.sleep(SPARED_S)  # newcomers are spared for so long

        with raw(server.port, request("GET", "/health/live")) as newcomer:
            assert newcomer.answer().status == 200
            assert silent[0].ends()
        kept = busy.send(request("GET", "/health/live")).answer()

        assert kept.status == 200
        for client in (busy, *silent):
            client.close()


def test_a_limit_that_does_not_suffice_for_the_slots_is_refused_with_the_next_step(tmp_path):
    ulimit = ["sh", "-c", 'ulimit -n 128 && exec "$0" "$@"', str(ONTHEDOT), "serve", "--port", "0"]
    done = subprocess.run(
        ulimit, check=False, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True
    )

    assert done.returncode != 0
    assert "may have 128 files open, and 100 slots need 221" in done.stderr
    assert "ulimit -n 221" in done.stderr
