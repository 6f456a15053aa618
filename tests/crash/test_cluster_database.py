"""PostgreSQL drops connections, crashes, or is away for longer than a lease: every node goes on by
itself, nothing is lost, nothing is sent twice, and nobody is declared dead.
"""

from __future__ import annotations

import time

import pytest

from tests.crash.checker import assert_sound, repeats
from tests.crash.cluster import Cluster, a_cluster
from tests.crash.form import CLUSTER_TIMEOUT_S, LONG, SEED
from tests.support.rest import NoAnswer, eventually
from tests.support.server import Server

# Longer than the lease of 15 s in any case.
AWAY_S = 60.0 if LONG else 16.0
CUTS = 10
ROUNDS = 10 if LONG else 1
RESUME_S_MAX = 10.0
# What came due meanwhile is caught up with, at two hundred a second or more.
BACKLOG_S = AWAY_S
# Claims reach so far ahead: what is due later was claimed after the fault.
AHEAD_NS = 1_000_000_000


@pytest.mark.timeout(CLUSTER_TIMEOUT_S)
def test_nodes_go_on_by_themselves_whatever_becomes_of_the_database(tmp_path):
    print(f"ONTHEDOT_CRASH_SEED={SEED}")
    with a_cluster(tmp_path, SEED) as cluster:
        faults = Faults(cluster)
        for _ in range(ROUNDS):
            faults.cut_connections()
            faults.crash()
        faults.go_away()
        history = cluster.history()

        print(
            f"database: {cluster.summary(history)}; nothing outstanding "
            + ", ".join(f"{max(s):.2f} s after {what}" for what, s in faults.resumed_s.items())
            + f"; every node sound again {faults.sound_s:.1f} s after {AWAY_S:.0f} s without it"
        )
        assert_sound(history)
        assert cluster.refused == []
        # No process was lost: there is no reason to send anything again.
        assert repeats(history) == 0
        known = cluster.known(cluster.nodes[0])
        assert {each["pid"] for each in known} == {node.process.pid for node in cluster.nodes}
        assert [each["alive"] for each in known] == [True] * len(cluster.nodes)
        for node in cluster.nodes:
            assert "Traceback" not in node.log_text(), "an outage is an event, not a surprise"


class Faults:
    """`resumed_s`: how long after the faults of a kind the last occurrence was called that had to
    be claimed, or found again, after them; `sound_s`: how long it took after the long outage until
    no node had anything to complain about.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.resumed_s: dict[str, list[float]] = {}
        self.sound_s = 0.0
        self._cluster = cluster

    def cut_connections(self) -> None:
        for _ in range(CUTS):
            self._cluster.live(0.0, 0.1)
            self._cluster.cut_off(self._cluster.a_backend())
        self._resume("cut connections")

    def crash(self) -> None:
        """One after the other, before anybody has quite recovered from the last."""
        cluster, database = self._cluster, self._cluster.database
        cluster.kill_backend(cluster.a_backend())
        cluster.live(0.2, 1.0)
        database.stop("immediate")
        database.start()
        cluster.live(0.2, 1.0)
        database.kill9()
        database.start()
        self._resume("crashes")

    def go_away(self) -> None:
        cluster = self._cluster
        cluster.database.stop("immediate")
        time.sleep(AWAY_S)  # the fault itself
        cluster.database.start()
        returned = time.monotonic()
        eventually(
            lambda: all(map(is_sound, cluster.nodes)), "sound nodes", within_s=2 * RESUME_S_MAX
        )
        self.sound_s = time.monotonic() - returned
        assert self.sound_s <= RESUME_S_MAX + cluster.noise_s()
        self._resume("the outage")

    def _resume(self, what: str) -> None:
        began_ns = time.time_ns()
        eventually(
            lambda: not self._cluster.outstanding(began_ns + AHEAD_NS),
            f"every occurrence that was due after {what}",
            within_s=RESUME_S_MAX + BACKLOG_S,
        )
        took_s = (time.time_ns() - began_ns) / 1e9
        self.resumed_s.setdefault(what, []).append(took_s)


def is_sound(node: Server) -> bool:
    """Whether its heartbeat is fresh and all its loops go round."""
    try:
        return node.rest.get("/health").status == 200
    except NoAnswer:
        return False
