"""A copy of the data folder put back under three running nodes: the database is older than what
they remember, numbers are given out again, and yet no job may be taken for another.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.form import LONG
from tests.integration.test_nodes_kit import Cluster, Process
from tests.support.postgres import PostgresServer, a_server, programs
from tests.support.receiver import Call, Receiver
from tests.support.rest import NoAnswer, Rest, eventually, instant_us

NODES = 3
OLD = 12
LOST = 60 if LONG else 20
NEW = 60 if LONG else 20
SECOND = 1_000_000
PATIENCE_S = 60.0
Json = dict[str, Any]


@dataclass
class Stage:
    server: PostgresServer
    cluster: Cluster
    receiver: Receiver
    intervals: dict[str, int] = field(default_factory=dict)

    @property
    def copy(self) -> Path:
        return self.server.folder / "copy"

    def node(self, number: int) -> Process:
        return self.cluster.nodes[number % NODES]

    def job(self, name: str, number: int, **fields: Any) -> Json:
        """Made by any of the nodes, as soon as one accepts it."""
        said = {
            "name": name,
            "handlerUrl": f"{self.receiver.url}/ok?name={name}",
            "payload": {"name": name},
            **fields,
        }
        made: Json = eventually(
            lambda: _made(self.node(number).rest, said),
            f"an answer for {name}",
            within_s=PATIENCE_S,
        )
        return made

    def every(self, name: str, number: int, seconds: int) -> Json:
        self.intervals[name] = seconds
        return self.job(name, number, every=seconds)

    def called(self, name: str, times: int = 1) -> None:
        def enough() -> bool:
            check_calls(self.receiver.calls())
            return len(self.receiver.calls(f"/ok?name={name}")) >= times

        eventually(enough, f"{times} calls of {name}", within_s=PATIENCE_S)

    def copied(self) -> None:
        """As a backup of the files does it: while nobody writes."""
        self.server.stop("fast")
        subprocess.run(["cp", "-a", self.server.data, self.copy], check=True)
        self.server.start()

    def put_back(self) -> None:
        self.server.stop("immediate")
        shutil.rmtree(self.server.data)
        subprocess.run(["cp", "-a", self.copy, self.server.data], check=True)
        self.server.start()

    def all_said(self, word: str) -> bool:
        return all(word in node.said for node in self.cluster.nodes)

    def numbers(self) -> set[int]:
        """Of the nodes that are alive."""
        listed = self.node(0).rest.get("/v1/nodes").json["nodes"]
        return {int(node["nodeId"]) for node in listed if node["alive"]}


def a_moment() -> str:
    """When a one-off that is made now is due."""
    return (datetime.now(UTC) + timedelta(seconds=0.5)).isoformat()


def _made(rest: Rest, said: Json) -> Any:
    try:
        reply = rest.post("/v1/jobs", said)
    except NoAnswer:
        return None
    assert reply.status in (201, 503), reply.body
    return reply.json if reply.status == 201 else None


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    found = programs()
    server = a_server(found[max(found)], durable=True, tcp=True)
    with ExitStack() as stack:
        stack.callback(server.dispose)
        server.start()
        receiver = stack.enter_context(Receiver())
        cluster = Cluster(tmp_path, "postgres", server.url())
        stack.enter_context(cluster.stack)
        for _ in range(NODES):
            cluster.launch("api,scheduler,worker,janitor")
        for node in cluster.nodes:
            eventually(node.is_ready, "a node that is ready", within_s=PATIENCE_S)
        yield Stage(server, cluster, receiver)


def check_calls(calls: list[Call]) -> None:
    """Each call carries the payload of its URL, and no id ever stands for two jobs."""
    names: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        name = call.path.partition("name=")[2]
        assert call.json == {"name": name}, (call.path, call.json, call.headers)
        names[call.job_id].add(name)
    assert {job: found for job, found in names.items() if len(found) > 1} == {}


def check_intervals(stage: Stage) -> None:
    """No job is fired by another's schedule."""
    for name, seconds in stage.intervals.items():
        calls = stage.receiver.calls(f"/ok?name={name}")
        dues = sorted({call.scheduled_for_us for call in calls})
        for before, after in pairwise(dues):
            assert (after - before) % (seconds * SECOND) == 0, (name, seconds, before, after)


@pytest.mark.timeout(300)
def test_a_copy_put_back_under_running_nodes_makes_no_job_run_as_another(stage):
    old = [stage.every(f"old-{n}", n, 1 + n % 2) for n in range(OLD)]
    for n in range(OLD):
        stage.called(f"old-{n}")
    stage.copied()
    for n in range(LOST):
        stage.every(f"lost-{n}", n, 1)
        stage.job(f"lost-once-{n}", n, runAt=a_moment())
    for n in range(LOST):
        stage.called(f"lost-{n}", 2)
        stage.called(f"lost-once-{n}")
    # The copy took a restart: they have noticed that, and that nothing was lost by it.
    assert stage.all_said("store.moved")
    assert not any("store.went_back" in node.said for node in stage.cluster.nodes)
    before = stage.numbers()

    stage.put_back()
    for n in range(NEW):
        stage.every(f"new-{n}", n, 4)
        stage.job(f"new-once-{n}", n, runAt=a_moment())
    for n in range(NEW):
        stage.called(f"new-{n}", 2)
        stage.called(f"new-once-{n}")

    check_calls(stage.receiver.calls())
    check_intervals(stage)
    eventually(lambda: stage.all_said("store.goes_on"), "nodes that go on", within_s=PATIENCE_S)
    for node in stage.cluster.nodes:
        health = node.rest.get("/health")
        assert health.status == 503
        assert "the database is older than it was" in health.json["problems"][0]
        assert "onthedot_store_went_back_total 1.0" in node.rest.get("/metrics").body.decode()
    after = stage.numbers()
    assert len(after) == NODES
    assert min(after) > max(before)
    assert {stage.node(0).rest.get(f"/v1/jobs/{job['jobId']}").status for job in old} == {200}
    audit = stage.node(0).rest.get("/v1/audit").json
    assert len(audit["gaps"]) == 1, audit["gaps"]
    assert instant_us(audit["gaps"][0]["since"]) < instant_us(audit["gaps"][0]["until"])
    assert (audit["unaccounted"], audit["surplus"], audit["miscounted"]) == (0, 0, 0), audit
