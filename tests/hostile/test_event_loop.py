"""No request delays a run: whatever is asked for, with a key or without, starts stay on time.

A late start counts against a request only if it comes again: the machine that runs these tests has
pauses of its own, a request that keeps the loop busy does so every time.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.catalogue import CALENDARS, JOB, KNOWN_BAD, Ask, catalogue
from tests.hostile.form import LONG
from tests.support.postgres import new_database, programs, shared
from tests.support.receiver import Call, Receiver
from tests.support.rest import NoAnswer, Rest, eventually
from tests.support.server import Server

KEY = "long-enough-for-anybody-who-asks"
STEADY = 20
STEADY_S = 1.0
PERIOD_US = 1_000_000
KEPT = 60 * STEADY
LATE_US = 100_000
TRIES = 3
SAMPLE = 12
FOLLOWERS = 30
CONTROL_S = 3.0
SEED = random.SystemRandom().randrange(1 << 32)


@dataclass(frozen=True, slots=True)
class Stage:
    """A server whose steady jobs show how late runs start, and what the catalogue asks about."""

    server: Server
    receiver: Receiver
    job: str
    calm: str

    @property
    def keyed(self) -> Rest:
        return Rest(self.server.url, headers={"Authorization": f"Bearer {KEY}"}, timeout_s=30)

    def latest_us(self, since_ns: int) -> int:
        """The worst lateness of the steady runs that were due from then to now, once all of them
        are there.
        """
        first, last = since_ns // 1000, time.time_ns() // 1000
        phases = {call.job_id: call.scheduled_for_us for call in self.receiver.calls("/ok")}
        due = {
            (job, instant)
            for job, known in phases.items()
            for instant in range(first + (known - first) % PERIOD_US, last, PERIOD_US)
        }

        def late() -> list[int] | None:
            calls = {(call.job_id, call.scheduled_for_us): call for call in self._newest()}
            if not due <= calls.keys():
                return None
            return [0, *(calls[each].at_ns // 1000 - each[1] for each in due)]

        found = eventually(late, "the steady runs during a request", within_s=60)
        assert found is not None
        return max(found)

    def _newest(self) -> list[Call]:
        return self.receiver.calls("/ok")[-KEPT:]

    def send(self, ask: Ask, *, keyed: bool) -> int | None:
        rest = self.keyed if keyed else Rest(self.server.url, timeout_s=30)
        path = ask.path.format(job=self.job, calm=self.calm)
        try:
            return rest.ask(ask.method, path, ask.body).status
        except NoAnswer:
            return None  # hung up on: that is an answer, too


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    folder: Path = tmp_path_factory.mktemp("event-loop")
    environment = {"ONTHEDOT_API_KEY": KEY}
    url = None
    if request.param == "postgres":
        postgres = shared(max(programs()))
        url = postgres.url(asyncio.run(new_database(postgres)))
    with Receiver() as receiver, Server(folder, url=url, environment=environment) as server:
        rest = Rest(server.url, headers={"Authorization": f"Bearer {KEY}"})
        for name, rules in CALENDARS.items():
            assert rest.ask("PUT", f"/v1/calendars/{name}", rules).ok, name
        for number in range(FOLLOWERS):
            asked = {**JOB, "cronExpr": f"{number} * * * *", "calendar": "c336"}
            rest.made("/v1/jobs", {**asked, "calendarRoll": "previous", "name": f"many {number}"})
        cron = {"cronExpr": "0 * * * *", "calendar": "holidays", "calendarRoll": "previous"}
        job = rest.made("/v1/jobs", {**JOB, **cron})["jobId"]
        calm = rest.made("/v1/jobs", {**JOB, "every": 1, "startAt": "2190-01-01T00:00:00Z"})
        for _ in range(STEADY):  # each counts from when it was made: they are due apart
            steady: dict[str, Any] = {"name": "steady", "handlerUrl": f"{receiver.url}/ok"}
            rest.made("/v1/jobs", {**steady, "every": STEADY_S})
            threading.Event().wait(STEADY_S / STEADY)
        receiver.wait_for(STEADY, path="/ok")
        yield Stage(server, receiver, job, calm["jobId"])


@pytest.mark.timeout(600 if LONG else 90)
def test_no_request_makes_a_run_late(stage: Stage) -> None:
    print(f"seed {SEED}")
    every = catalogue()
    known = [ask for ask in every if ask.name in KNOWN_BAD]
    assert {ask.name for ask in known} == set(KNOWN_BAD)
    others = [ask for ask in every if ask.name not in KNOWN_BAD]
    asked = every if LONG else [*known, *random.Random(SEED).sample(others, SAMPLE)]
    control_us = _control_us(stage)

    late = {}
    for ask in asked:
        worst = _worst_us(stage, ask, control_us + LATE_US)
        if worst > control_us + LATE_US:
            late[ask.name] = worst

    assert late == {}, f"control {control_us} µs"
    assert stage.server.running


def test_many_requests_at_once_make_no_run_late(stage: Stage) -> None:
    known = [ask for ask in catalogue() if ask.name in KNOWN_BAD]
    control_us = _control_us(stage)

    found = []
    for _ in range(TRIES):
        since = time.time_ns()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda ask: stage.send(ask, keyed=True), known))
        found.append(stage.latest_us(since))
        if found[-1] <= control_us + 2 * LATE_US:
            break

    assert min(found) <= control_us + 2 * LATE_US


def _control_us(stage: Stage) -> int:
    """How late starts are on this machine now, with nothing asked for."""
    since = time.time_ns()
    threading.Event().wait(CONTROL_S)
    return stage.latest_us(since)


def _worst_us(stage: Stage, ask: Ask, bound_us: int) -> int:
    """The least of several tries, with the key; those without it are turned away at the gate."""
    found = []
    for _ in range(TRIES):
        since = time.time_ns()
        assert stage.send(ask, keyed=False) in (401, 400, 404, 413, 414, 431, 200, None), ask.name
        status = stage.send(ask, keyed=True)
        assert status is None or status < 500, (ask.name, status)
        found.append(stage.latest_us(since))
        if found[-1] <= bound_us:
            break
    return min(found)
