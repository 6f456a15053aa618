"""Kill -9 of the whole server at random moments under load: nothing is lost, nothing doubled."""

from __future__ import annotations

import statistics
import time
from contextlib import closing
from random import Random

import pytest

from tests.crash.checker import LAST_WORDS, assert_sound, repeats
from tests.crash.form import KILLS, LONG, SEED, TIMEOUT_S
from tests.crash.history import History
from tests.crash.load import MIXED, ONE_OFF, STEADY, TRIGGERED, TRIGGERED_RETRIED, Load, Traffic
from tests.crash.reading import history_of, listed_jobs
from tests.support.receiver import Call, Receiver
from tests.support.rest import Rest, eventually
from tests.support.server import START_S, Server, loading_s

# Firing goes on within two seconds. Most of a restart is Python loading our modules, which a busy
# machine draws out: there, the median may be one second above what loading alone takes.
RESUME_S = 2.0
RESUME_S_MAX = 12.0
"""Once in a while a busy machine takes its time; never does a restart wait for a lease (15 s)."""
DIES_STARTING = 0.15
MOMENTS_S = (0.0, 0.004, 0.01, 0.02, 0.04, 0.08) if LONG else (0.0, 0.01)


@pytest.mark.timeout(TIMEOUT_S)
def test_a_killed_server_loses_nothing_and_doubles_nothing(tmp_path):
    print(f"ONTHEDOT_CRASH_SEED={SEED} ONTHEDOT_CRASH_KILLS={KILLS}")
    with Receiver() as receiver, Server(tmp_path) as server:
        load = Load(server.rest, receiver)
        load.create(MIXED)
        triggered = [*load.by_kind[TRIGGERED], *load.by_kind[TRIGGERED_RETRIED]]
        traffic = Traffic(Rest(server.url), receiver, triggered, SEED)
        traffic.start()

        killer = Killer(server, receiver, Random(SEED))
        killer.kill(KILLS)
        traffic.finish()
        listed = listed_jobs(server.rest)
        load.adopt(STEADY, traffic.tokens("recurring"), listed)
        load.adopt(ONE_OFF, traffic.tokens("one-off"), listed)
        load.pause()

        history = history_of(server.rest, receiver, load.jobs, killer.launches, traffic.asks)
        print(summary(history, killer, traffic))
        assert_sound(history)
        assert traffic.refused == []
        slow_s = max(0.0, max(killer.loading_s) + 1.0 - RESUME_S)
        assert statistics.median(killer.resumed_s) <= RESUME_S + slow_s, killer.resumed_s
        assert max(killer.resumed_s) <= RESUME_S_MAX + slow_s, killer.resumed_s


@pytest.mark.parametrize("after_s", MOMENTS_S)
def test_a_server_killed_while_it_makes_its_file_starts_again(tmp_path, after_s):
    with Receiver() as receiver, closing(Server(tmp_path)) as server:
        server.launch()
        eventually(server.database.exists, "the database file", within_s=START_S)
        time.sleep(after_s)

        server.restart()

        job = server.rest.made("/v1/jobs", TRIGGERED.definition("after", receiver))
        run = server.rest.made(f"/v1/jobs/{job['jobId']}/trigger", {})
        receiver.wait_for(1)
        assert [call.run_id for call in receiver.calls()] == [run["runId"]]


class Killer:
    """Kills and restarts at once. `resumed_s`: from each start to the first callback after it;
    `loading_s`: what Python alone takes of that, before the first kill, after the last, and after
    each that was slow: a machine may be busy for some seconds in between.
    """

    def __init__(self, server: Server, receiver: Receiver, chance: Random) -> None:
        self.launches: list[int] = []
        self.resumed_s: list[float] = []
        self.loading_s: list[float] = []
        self._server = server
        self._receiver = receiver
        self._chance = chance

    def kill(self, times: int) -> None:
        self.loading_s.append(loading_s())
        for number in range(times):
            self._live()
            self._server.kill9()
            self._server.launch()
            self.launches.append(self._server.started_ns // 1_000)
            last = number == times - 1
            if not last and self._chance.random() < DIES_STARTING:
                time.sleep(self._chance.uniform(0.0, 1.5))
            else:
                self._resume()
        self.loading_s.append(loading_s())

    def _live(self) -> None:
        """The moment of a kill is chance: this waits for nothing."""
        time.sleep(self._chance.uniform(0.0, 4.0))

    def _resume(self) -> None:
        first = eventually(self._first_call, "a callback after the restart", within_s=20)
        assert first is not None
        self.resumed_s.append((first.at_ns - self._server.started_ns) / 1e9)
        if self.resumed_s[-1] > RESUME_S:
            self.loading_s.append(loading_s())

    def _first_call(self) -> Call | None:
        since = self._server.started_ns + LAST_WORDS * 1_000
        return next((call for call in self._receiver.calls() if call.at_ns > since), None)


def summary(history: History, killer: Killer, traffic: Traffic) -> str:
    resumed_s = killer.resumed_s
    unanswered = sum(ask.made is None for ask in traffic.asks)
    rescued = sum(record.rescues > 0 for record in history.records)
    return (
        f"crash: {len(history.breaks)} kills, {len(history.records)} runs, "
        f"{len(history.seen)} callbacks, {repeats(history)} repeated after a crash "
        f"({rescued} runs rescued), {len(traffic.asks)} requests ({unanswered} unanswered, "
        f"{traffic.insisted} repeated); resumed after {statistics.median(resumed_s):.2f} s median, "
        f"{max(resumed_s):.2f} s at most (loading alone: {max(killer.loading_s):.2f} s)"
    )
