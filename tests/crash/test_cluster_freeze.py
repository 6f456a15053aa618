"""A node of three that stands still for longer than its lease: the others take over, nothing that
it says afterwards is believed, and it comes back as a new one.
"""

from __future__ import annotations

import re
import time

import pytest

from tests.crash.checker import assert_sound
from tests.crash.cluster import BEAT_S, LEASE_S, Cluster, a_cluster
from tests.crash.form import CLUSTER_TIMEOUT_S, LONG, SEED
from tests.support.rest import eventually
from tests.support.server import Server

FREEZES = 3 if LONG else 1
TAKEN_OVER_S_MAX = LEASE_S + 5.0
# One that freezes in the middle of a transaction keeps its locks until the database ends it, 5 s
# later; then the others go on as after a kill.
GAP_S_MAX = 5.0 + 2.0
# It finds itself dead, waits half a second and joins; what it has in hand is told by a heartbeat.
BACK_S_MAX = 10.0 + BEAT_S


@pytest.mark.timeout(CLUSTER_TIMEOUT_S)
def test_a_node_that_froze_beyond_its_lease_is_refused_and_comes_back_as_a_new_one(tmp_path):
    print(f"ONTHEDOT_CRASH_SEED={SEED}")
    with a_cluster(tmp_path, SEED) as cluster:
        freezes = [Freeze(cluster) for _ in range(FREEZES)]
        history = cluster.history()

        for freeze in freezes:
            late_s = cluster.latest_s(freeze.stopped_ns, freeze.woken_ns)
            print(
                f"freeze: given up after {freeze.given_up_s:.1f} s, latest occurrence "
                f"{late_s:.1f} s late, nobody was called for {freeze.gap_s:.2f} s at most; woken "
                f"after {freeze.stood_s:.1f} s, {freeze.stale} outcomes refused, back after "
                f"{freeze.back_s:.1f} s"
            )
            assert freeze.given_up_s <= TAKEN_OVER_S_MAX + cluster.noise_s()
            assert late_s <= TAKEN_OVER_S_MAX + cluster.noise_s()
            assert freeze.gap_s <= GAP_S_MAX + cluster.noise_s()
            assert freeze.stale > 0, "no outcome came too late: it shows nothing"
        print(f"freeze: {cluster.summary(history)}")
        assert_sound(history)
        assert cluster.refused == []


class Freeze:
    """One node stands still until the others have given it up and begun to do its work; then it
    goes on. It keeps its process, and gets a new number.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        cluster.live(0.0, 2.0)
        victim = cluster.chance.choice(cluster.nodes)
        survivor = cluster.others(victim)[0]
        pid = victim.process.pid
        number = cluster.number_of(survivor, pid)
        self.stopped_ns = cluster.stop(victim)
        eventually(
            lambda: not cluster.is_alive(survivor, pid),
            "a death that the others know of",
            within_s=2 * TAKEN_OVER_S_MAX,
        )
        self.given_up_s = self._since_stop_s()
        cluster.live(1.0, 2.0)
        self.stood_s = self._since_stop_s()
        self.gap_s = cluster.longest_gap_s(self.stopped_ns, time.time_ns())
        self.woken_ns = cluster.wake(victim)
        eventually(lambda: cluster.works(victim), "a new incarnation", within_s=BACK_S_MAX)
        self.back_s = (time.time_ns() - self.woken_ns) / 1e9
        self.stale = stale_of(victim, number)
        assert f"node.found_itself_dead node={number}" in victim.log_text()
        assert cluster.number_of(survivor, pid) > number

    def _since_stop_s(self) -> float:
        return (time.time_ns() - self.stopped_ns) / 1e9


def stale_of(node: Server, number: int) -> int:
    """How many outcomes of this incarnation were refused, by its own word."""
    counts = re.findall(rf"run\.stale node={number} count=(\d+)", node.log_text())
    return sum(map(int, counts))
