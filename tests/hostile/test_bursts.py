"""Thousands of runs that fail at once, and are tried again at once, delay nobody else's."""

from __future__ import annotations

import time

import pytest

from tests.support.receiver import Receiver
from tests.support.rest import Rest, eventually, instant_us
from tests.support.server import Server

BURST = 10_000
AT_A_TIME = 1_000
LATE_MS = 300
"""So late the steady job may be, beside what it was before."""


@pytest.mark.timeout(180)
def test_ten_thousand_failing_runs_do_not_make_another_job_late(tmp_path):
    # Few slots: then there is a queue, however quick the machine is.
    with Receiver() as receiver, Server(tmp_path, options=("--slots", "3")) as server:
        rest = server.rest
        steady = [
            rest.made("/v1/jobs", {"name": f"steady {n}", "every": 1, "handlerUrl": receiver.url})
            for n in range(4)
        ]
        failing = rest.made(
            "/v1/jobs",
            {"name": "failing", "handlerUrl": f"{receiver.url}/status/500", "retries": 2},
        )
        eventually(lambda: len(starts(rest, steady)) >= 12, "a few steady runs", within_s=30)
        before = max(late_ms for _, late_ms in starts(rest, steady))

        began_us = time.time_ns() // 1_000
        for _ in range(BURST // AT_A_TIME):
            path = f"/v1/jobs/{failing['jobId']}/trigger-many"
            rest.made(path, {"runs": [{"payload": {}}] * AT_A_TIME})
        eventually(lambda: dead(rest) >= BURST, "all have failed for good", within_s=120)

        beside = [late_ms for due_us, late_ms in starts(rest, steady) if due_us > began_us]
    print(f"late before {before:.0f} ms, beside {max(beside):.0f} ms, {len(beside)} runs")
    assert max(beside) < before + LATE_MS


def starts(rest: Rest, jobs) -> list[tuple[int, float]]:
    """When each run of these jobs was due, and how many milliseconds later it was started."""
    found = []
    for job in jobs:
        for run in rest.get(f"/v1/jobs/{job['jobId']}/runs", limit=200).json["runs"]:
            if run.get("startedAt"):
                due = instant_us(run["scheduledFor"])
                found.append((due, (instant_us(run["startedAt"]) - due) / 1_000))
    return found


def dead(rest: Rest) -> int:
    lines = rest.get("/metrics").body.decode().splitlines()
    counts = [line for line in lines if line.startswith("onthedot_dead_letters ")]
    return int(float(counts[0].split()[1])) if counts else 0
