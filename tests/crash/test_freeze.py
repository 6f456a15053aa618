"""A server that was frozen, for longer than its lease too, goes on by itself."""

from __future__ import annotations

import signal
import time

import pytest

from tests.crash.checker import assert_sound, repeats
from tests.crash.form import LONG
from tests.crash.load import CAUGHT_UP, FAILING, RETRIED, SLOW, STEADY, Load
from tests.crash.reading import history_of
from tests.support.receiver import Receiver
from tests.support.server import Server

KINDS = {STEADY: 20, CAUGHT_UP: 20, RETRIED: 4, FAILING: 2, SLOW: 4}
LEASE_S = 15
FREEZES_S = (5, LEASE_S + 5) if LONG else (5,)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("frozen_s", FREEZES_S)
def test_a_frozen_server_goes_on_and_accounts_for_every_second(tmp_path, frozen_s):
    with Receiver() as receiver, Server(tmp_path) as server:
        load = Load(server.rest, receiver)
        load.create(KINDS)
        receiver.wait_for(2 * len(load.jobs))

        server.signal(signal.SIGSTOP)
        time.sleep(frozen_s)  # the fault itself
        before = len(receiver.calls())
        server.signal(signal.SIGCONT)

        receiver.wait_for(before + frozen_s * KINDS[STEADY] + 2 * len(load.jobs))
        load.pause()
        history = history_of(server.rest, receiver, load.jobs, breaks=())
        print(f"freeze: {frozen_s} s, {len(history.records)} runs, {repeats(history)} repeats")
        assert_sound(history)
        assert server.log_text().count("node.joined") == 1, "it was alone: nobody can judge it dead"
