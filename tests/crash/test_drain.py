"""SIGTERM drains: what is in progress ends normally within the grace, and nothing is burnt."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress

import pytest

from tests.crash.checker import assert_sound, repeats
from tests.crash.load import RETRIED, STEADY, TRIGGERED, Kind, Load
from tests.crash.reading import history_of, settled_records
from tests.support.receiver import Receiver
from tests.support.rest import NoAnswer, Rest, eventually
from tests.support.server import Server

LASTING = Kind(path="/slow/2.5", retries=0)
SLOWISH = Kind(path="/slow/0.3", retries=0)
SHORT = Kind(path="/slow/0.05", retries=0)
SLOW_RUNS = 40
# A start that was decided before the signal may still arrive.
MARGIN_NS = 300_000_000


@pytest.mark.timeout(90)
def test_runs_in_progress_end_normally_when_the_server_drains(tmp_path):
    with Receiver() as receiver, Server(tmp_path) as server:
        load = Load(server.rest, receiver)
        load.create({STEADY: 60, RETRIED: 5, LASTING: 1})
        trigger(server, load.by_kind[LASTING][0], SLOW_RUNS)
        receiver.wait_for(SLOW_RUNS, path=LASTING.path)

        assert server.terminate() == 0
        in_progress = receiver.calls(LASTING.path)
        server.start()
        load.pause()

        history = history_of(server.rest, receiver, load.jobs, breaks=[server.started_ns // 1_000])
        assert all(call.answered_ns for call in in_progress)
        assert_sound(history)
        assert repeats(history) == 0
        assert [record for record in history.records if record.rescues] == []


@pytest.mark.timeout(60)
def test_a_drain_under_a_backlog_gives_every_run_back(tmp_path):
    """More than the slots take: some runs are leased, some wait, some are on their way."""
    with Receiver() as receiver, Server(tmp_path, options=("--slots", "5")) as server:
        load = Load(server.rest, receiver)
        load.create({STEADY: 10, SLOWISH: 1})
        trigger(server, load.by_kind[SLOWISH][0], SLOW_RUNS)
        receiver.wait_for(10)

        assert server.terminate() == 0
        server.start()
        load.pause()

        history = history_of(server.rest, receiver, load.jobs, breaks=[server.started_ns // 1_000])
        assert_sound(history)
        assert repeats(history) == 0
        assert [record for record in history.records if record.rescues] == []


@pytest.mark.timeout(60)
def test_a_run_longer_than_the_grace_is_given_back_unburnt(tmp_path):
    endless = Kind(path="/slow-once/10", retries=0)
    with Receiver() as receiver, Server(tmp_path, options=("--grace", "1")) as server:
        load = Load(server.rest, receiver)
        load.create({endless: 1})
        (run_id,) = trigger(server, load.by_kind[endless][0], 1)
        receiver.wait_for(1)

        began = time.monotonic()
        assert server.terminate() == 0
        assert 1.0 <= time.monotonic() - began < 6.0
        server.start()

        (record,) = settled_records(server.rest, list(load.jobs))
        first, second = receiver.calls_of(run_id)
        assert (record.status, record.attempt, record.rescues) == ("succeeded", 1, 0)
        assert first.abandoned_ns is not None
        assert (first.attempt, second.attempt) == (1, 1)
        assert first.idempotency_key == second.idempotency_key


@pytest.mark.timeout(60)
def test_a_second_signal_ends_the_server_at_once(tmp_path):
    endless = Kind(path="/slow-once/30", retries=0)
    with Receiver() as receiver, Server(tmp_path) as server:
        load = Load(server.rest, receiver)
        load.create({endless: 1})
        trigger(server, load.by_kind[endless][0], 1)
        receiver.wait_for(1)
        server.signal(signal.SIGTERM)
        eventually(lambda: "node.draining" in server.log_text(), "the drain")

        began = time.monotonic()
        assert server.terminate() == 0
        assert time.monotonic() - began < 4.0
        server.start()

        (record,) = settled_records(server.rest, list(load.jobs))
        assert (record.status, record.attempt) == ("succeeded", 1)


@pytest.mark.timeout(60)
def test_what_is_asked_for_during_a_drain_runs_after_the_restart(tmp_path):
    with Receiver() as receiver, Server(tmp_path) as server:
        load = Load(server.rest, receiver)
        load.create({STEADY: 10, LASTING: 1, TRIGGERED: 1})
        trigger(server, load.by_kind[LASTING][0], 1)
        receiver.wait_for(1, path=LASTING.path)
        server.signal(signal.SIGTERM)
        eventually(lambda: "node.draining" in server.log_text(), "the drain")
        draining_ns = time.time_ns()

        (asked,) = trigger(server, load.by_kind[TRIGGERED][0], 1)

        assert server.ended() == 0
        late = [call for call in receiver.calls() if call.at_ns > draining_ns + MARGIN_NS]
        assert late == [], "a draining server starts nothing"
        server.start()
        load.pause()
        history = history_of(server.rest, receiver, load.jobs, breaks=[server.started_ns // 1_000])
        assert_sound(history)
        assert asked in {record.run_id for record in history.records}


@pytest.mark.timeout(60)
def test_a_drain_leaves_no_lease_behind_however_busy_the_clients_are(tmp_path):
    """A run that was leased just as the drain began was never started: it needs no rescue."""
    with Receiver() as receiver, Server(tmp_path) as server:
        load = Load(server.rest, receiver)
        load.create({SHORT: 1})
        (job_id,) = load.jobs
        stormers = [Stormer(server.url, job_id) for _ in range(4)]
        for stormer in stormers:
            stormer.start()
        receiver.wait_for(100)

        assert server.terminate() == 0
        for stormer in stormers:
            stormer.join()
        server.start()

        records = settled_records(server.rest, [job_id])
        acknowledged = {run_id for stormer in stormers for run_id in stormer.acknowledged}
        assert acknowledged <= {record.run_id for record in records}
        assert [record for record in records if record.rescues] == []


class Stormer(threading.Thread):
    """Triggers without a pause, until the server is gone."""

    def __init__(self, url: str, job_id: str) -> None:
        super().__init__(name="stormer", daemon=True)
        self.acknowledged: list[str] = []
        self._rest = Rest(url)
        self._path = f"/v1/jobs/{job_id}/trigger"

    def run(self) -> None:
        with suppress(NoAnswer):
            while (reply := self._rest.post(self._path, {})).ok:
                self.acknowledged.append(reply.json["runId"])


def trigger(server: Server, job_id: str, times: int) -> list[str]:
    path = f"/v1/jobs/{job_id}/trigger"
    return [server.rest.made(path, {})["runId"] for _ in range(times)]
