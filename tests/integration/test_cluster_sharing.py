"""Schedulers share the work among themselves, and share it again when one comes or goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.integration.cluster_judge import SECOND, History, violations
from tests.integration.cluster_load import Client, history_of, now
from tests.integration.test_cluster_changes import READY_S, TIMEOUT_S, node_ids
from tests.integration.test_nodes_kit import Cluster, Process, a_cluster
from tests.integration.test_server_kit import Json
from tests.support.receiver import Receiver
from tests.support.rest import Rest, eventually, instant_us

JOBS = 48
SHARDS = 16
"""Jobs that were made one after the other lie in as many different shards."""
BEATS_S = 20.0
"""What a few heartbeats may take on a busy machine; there is one every 3 seconds."""


@pytest.fixture
def calls() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


class Crew:
    """Nodes that schedule and work, each taking every queue but the second, which takes one. What
    a node has claimed it runs itself, so that a run tells who fired it.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.first = cluster.launch("api,scheduler,worker,janitor")
        self.second = cluster.launch("scheduler,worker", "--queues", "blue")
        for node in (self.first, self.second):
            eventually(node.is_ready, "a node that is ready", within_s=READY_S)
        self.third: Process | None = None

    @property
    def rest(self) -> Rest:
        return self.first.rest

    def reinforce(self) -> Process:
        self.third = self.cluster.start("scheduler,worker")
        return self.third

    def id_of(self, node: Process) -> str:
        return node_ids(self.rest)[node.process.pid]

    def firing(self, jobs: list[str], since: int) -> set[str]:
        """Who fired what was due since then; nobody, until each job has fired."""
        found: set[str] = set()
        for job in jobs:
            runs: list[Json] = self.rest.get(f"/v1/jobs/{job}/runs", limit=10).json["runs"]
            ran = [run for run in runs if run["status"] == "succeeded"]
            nodes = {run["nodeId"] for run in ran if instant_us(run["scheduledFor"]) > since}
            if not nodes:
                return set()
            found |= nodes
        return found

    def settles_on(self, jobs: list[str], *nodes: Process) -> None:
        """Wait until these nodes, and no others, fire for a second."""
        wanted = {self.id_of(node) for node in nodes}
        eventually(
            lambda: self.firing(jobs, now() - 2 * SECOND) == wanted,
            f"shards shared among {len(nodes)} schedulers",
            within_s=BEATS_S,
        )


@pytest.mark.timeout(TIMEOUT_S)
def test_schedulers_share_the_shards_and_share_anew_when_one_comes_or_goes(tmp_path: Path, calls):
    with a_cluster(tmp_path) as cluster:
        crew = Crew(cluster)
        client = Client(crew.rest, calls, Random(0), ("blue",))
        jobs = [client.create(every=1).job_id for _ in range(JOBS)][:SHARDS]
        red = Client(crew.rest, calls, Random(0), ("red",))
        for _ in range(JOBS // 4):
            red.create(every=1)

        crew.settles_on(jobs, crew.first, crew.second)
        third = crew.reinforce()
        crew.settles_on(jobs, crew.first, crew.second, third)
        subscriptions = {crew.id_of(crew.second): frozenset({"blue"})}
        assert crew.second.stop() == 0
        crew.settles_on(jobs, crew.first, third)
        third.process.kill()
        third.process.wait()
        crew.settles_on(jobs, crew.first)
        for each in (client, red):
            each.pause_all()
        history = history_of(crew.rest, calls, [client, red], subscriptions)

    assert_sound_but_for_repeats(history)


def assert_sound_but_for_repeats(history: History) -> None:
    """What a killed node had sent may be sent again, under the same key, once it is rescued."""
    rescued = {record.run_id for record in history.records if record.rescues}
    faults = [
        fault
        for fault in violations(history)
        if not any("was sent 2 times" in fault and run_id in fault for run_id in rescued)
    ]
    assert not faults, faults[:10]
