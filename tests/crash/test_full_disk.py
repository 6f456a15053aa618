"""A disk that is full: clients are told so, nothing is lost, and the server goes on by itself."""

from __future__ import annotations

import time
from random import Random

import pytest

from tests.crash.checker import assert_sound, repeats
from tests.crash.form import SEED
from tests.crash.load import CAUGHT_UP, FAILING, RETRIED, STEADY, TRIGGERED, Load
from tests.crash.reading import history_of
from tests.support.disk import DISKS, Disk
from tests.support.receiver import Receiver
from tests.support.rest import Reply, Rest, eventually
from tests.support.server import Server

KINDS = {STEADY: 20, CAUGHT_UP: 20, RETRIED: 4, FAILING: 2, TRIGGERED: 1}
FULL_S = (2.0, 3.0)
RESUME_S_MAX = 10.0
# A small request may still fit into what SQLite has: this one does not.
BULKY = {"payload": {"text": "x" * 60_000}}


@pytest.mark.parametrize("name", DISKS)
def test_a_full_disk_is_told_to_clients_and_loses_nothing(name):
    chance = Random(SEED)
    print(f"ONTHEDOT_CRASH_SEED={SEED}")
    with (
        DISKS[name]() as disk,
        Receiver() as receiver,
        Server(disk.folder, environment=disk.environment) as server,
    ):
        load = Load(server.rest, receiver)
        load.create(KINDS)
        receiver.wait_for(2 * len(load.jobs))
        accepted: list[str] = []
        refused = full(disk, server.rest, load.by_kind[TRIGGERED][0], accepted, chance)
        began = time.monotonic()
        eventually(server.healthy, "a healthy server", within_s=RESUME_S_MAX)
        sound_s = time.monotonic() - began
        receiver.wait_for(len(receiver.calls()) + 2 * KINDS[STEADY])
        load.pause()
        history = history_of(server.rest, receiver, load.jobs, breaks=())

        print(f"full disk: {refused.body.decode()}; sound {sound_s:.2f} s after there was room")
        assert refused.headers["content-type"] == "application/problem+json"
        assert_sound(history)
        assert repeats(history) == 0
        assert set(accepted) <= {record.run_id for record in history.records}
        assert "Traceback" not in server.log_text(), "a full disk is an event, not a surprise"


def full(disk: Disk, rest: Rest, job_id: str, accepted: list[str], chance: Random) -> Reply:
    """For a while there is no room. What was accepted is noted; the first refusal is returned."""

    def refusal() -> Reply | None:
        reply = rest.post(f"/v1/jobs/{job_id}/trigger", BULKY)
        if reply.ok:
            accepted.append(reply.json["runId"])
            return None
        assert reply.status == 507, reply
        return reply

    disk.fill()
    try:
        refused = eventually(refusal, "a refusal for want of room", within_s=5)
        time.sleep(chance.uniform(*FULL_S))  # the fault itself
        eventually(refusal, "another refusal", within_s=5)
    finally:
        disk.free()
    assert refused is not None
    return refused
