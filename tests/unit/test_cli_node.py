"""`onthedot node`: the servers as people read about them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.clock import SystemClock
from onthedot.core.instants import HOUR, format_instant
from tests.unit.test_cli_client import StandIn
from tests.unit.test_cli_job import onthedot

NODE: dict[str, Any] = {
    "nodeId": "7",
    "host": "alpha",
    "pid": 4711,
    "roles": ["scheduler", "worker"],
    "slots": 100,
    "functions": ["bill", "mail", "report", "tidy"],
    "runners": 2,
    "version": "0.1.0",
    "joinedAt": "2027-01-31T09:30:00Z",
    "beatAt": format_instant(SystemClock().now() - 2 * HOUR),
    "alive": True,
    "load": {"running": 3, "held": 12},
    "clockOffsetMs": -1.25,
}
API = {
    **NODE,
    "nodeId": "6",
    "roles": ["api"],
    "functions": [],
    "runners": 0,
    "load": {"running": 0, "held": 0},
}
DEAD = {**NODE, "nodeId": "5", "alive": False, "load": None, "clockOffsetMs": None}


@pytest.fixture
def api(monkeypatch, tmp_path) -> Iterator[StandIn]:
    with StandIn() as stand_in:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ONTHEDOT_SERVER", stand_in.url)
        stand_in.answers["GET /v1/nodes"] = 200, {"nodes": [NODE, API, DEAD], "nextCursor": None}
        yield stand_in


def rows(text: str) -> list[list[str]]:
    return [re.split(r" {2,}", line) for line in text.splitlines()]


def test_the_living_are_listed_with_their_roles_and_slots(api):
    result = onthedot("node", "list")

    heading, worker, front = rows(result.stdout)
    assert heading[:6] == ["NODE", "HOST", "PID", "ROLES", "SLOTS", "FUNCTIONS"]
    assert heading[6:] == ["HEARTBEAT", "CLOCK", "VERSION"]
    assert worker[:5] == ["7", "alpha", "4711", "scheduler,worker", "3/100 +12"]
    assert worker[5] == "bill, mail, report +1 in 2 runners"
    assert worker[6].startswith("2 h")
    assert worker[7:] == ["-1 ms", "0.1.0"]
    assert front[3:6] == ["api", "-", "-"]
    assert result.stderr == "1 more is gone: onthedot node list --all\n"


def test_all_of_them_are_listed_when_asked_for(api):
    result = onthedot("node", "list", "--all")

    dead = rows(result.stdout)[3]
    assert (dead[0], dead[4], dead[7]) == ("5", "gone", "-")
    assert result.stderr == ""


def test_json_is_what_the_server_said(api):
    assert json.loads(onthedot("node", "list", "--json").stdout) == [NODE, API]
    assert json.loads(onthedot("node", "list", "--all", "--json").stdout) == [NODE, API, DEAD]
