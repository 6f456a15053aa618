"""A clock that somebody sets forward and back: what was claimed meanwhile is not fired twice, so
for a while nothing is, and the server says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.hostile.form import LONG
from tests.support.faketime import PythonClock
from tests.support.receiver import Receiver
from tests.support.rest import eventually, instant_us
from tests.support.server import Server

AHEAD_S = 70.0 if LONG else 15.0


@pytest.mark.timeout(180)
def test_a_clock_set_forward_and_back_is_reported_until_it_has_caught_up(tmp_path: Path) -> None:
    clock = PythonClock(tmp_path)
    with Receiver() as receiver, Server(tmp_path, environment=clock.environment) as server:
        asked = {"name": "steady", "handlerUrl": f"{receiver.url}/ok", "every": 1}
        job = server.rest.made("/v1/jobs", {**asked, "catchUp": "none"})["jobId"]
        receiver.wait_for(2, path="/ok")

        clock.set(AHEAD_S)
        now_us = _now_us(server)
        eventually(lambda: _now_us(server) > now_us + AHEAD_S * 500_000, "the clock ahead")
        seen = len(receiver.calls("/ok"))
        receiver.wait_for(seen + 2, path="/ok")
        clock.set(0)

        health = eventually(lambda: _failing(server), "a health that names the clock")
        why = server.rest.get(f"/v1/jobs/{job}/why").json
        shown = server.rest.get(f"/v1/jobs/{job}").json
        assert "the clock was set back" in health["problems"][0]
        assert "the clock was set back" in why["summary"], why
        assert instant_us(shown["nextRunAt"]) > _now_us(server) + 5_000_000
        eventually(lambda: "clock.went_back seconds=" in server.log_text(), "the event")

        # A restart forgets nothing: the store knows up to where it was claimed.
        server.terminate()
        server.launch()
        again = eventually(lambda: _failing(server), "the same after a restart", within_s=20)
        assert "the clock was set back" in again["problems"][0]

        silent = len(receiver.calls("/ok"))
        receiver.wait_for(silent + 2, path="/ok", within_s=AHEAD_S + 15)
        eventually(lambda: server.rest.get("/health").status == 200, "a health that is well again")
        dues = [call.scheduled_for_us for call in receiver.calls("/ok")]
        assert len(dues) == len(set(dues))
        eventually(lambda: "clock.caught_up" in server.log_text(), "the event")


def _now_us(server: Server) -> int:
    return instant_us(server.rest.get("/v1/overview").json["now"])


def _failing(server: Server) -> Any:
    try:
        health = server.rest.get("/health").json
    except Exception:  # noqa: BLE001  (it is starting)
        return None
    return health if any("clock" in each for each in health["problems"]) else None
