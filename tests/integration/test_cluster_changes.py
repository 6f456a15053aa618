"""Schedulers, workers and an API, each a process, and jobs that are changed while they fire."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.integration.cluster_judge import History, assert_sound
from tests.integration.cluster_load import Client, history_of
from tests.integration.test_nodes_kit import Cluster, a_cluster
from tests.support.receiver import Receiver
from tests.support.rest import Rest, eventually

JOBS = 120
CLIENTS = 3
SLOW_JOBS = 2
FOR_S = 14.0
READY_S = 30.0
TIMEOUT_S = 180
"""It takes half a minute, and more on a machine that is busy with other things."""


@pytest.fixture
def calls() -> Iterator[Receiver]:
    """A receiver of its own: what others call there is none of the judge's business."""
    with Receiver() as receiver:
        yield receiver


def apart(cluster: Cluster) -> Rest:
    """Two schedulers, two workers of which one takes a single queue, and a node with the API."""
    api = cluster.launch("api,janitor")
    for roles, *options in (
        ("scheduler",),
        ("scheduler",),
        ("worker",),
        ("worker", "--queues", "blue"),
    ):
        cluster.launch(roles, *options)
    for node in cluster.nodes:
        eventually(node.is_ready, f"a node that is ready as {node.roles}", within_s=READY_S)
    return api.rest


def node_ids(rest: Rest) -> dict[int, str]:
    """By process."""
    return {node["pid"]: node["nodeId"] for node in rest.get("/v1/nodes").json["nodes"]}


@contextmanager
def busy(rest: Rest, receiver: Receiver, seed: int) -> Iterator[list[Client]]:
    """Clients with jobs, which go on changing them until the end of it."""
    clients = [
        Client(rest, receiver, Random(seed + number), ("red", "blue")) for number in range(CLIENTS)
    ]
    for client in clients:
        for _ in range(SLOW_JOBS):
            client.create_slow()
        for _ in range(JOBS // CLIENTS):
            client.create(every=1)
    for client in clients:
        client.start()
    yield clients
    for client in clients:
        client.finish()


def summary(history: History) -> str:
    late = sorted(seen.at - seen.due for seen in history.seen)
    changes = Counter(c.kind for job in history.jobs.values() for c in job.changes)
    codes = Counter(cancel.code for cancel in history.cancels)
    edits = sum(len(job.editions) - 1 for job in history.jobs.values())
    return (
        f"{len(history.seen)} callbacks, {edits} edits, {dict(changes)}, cancels {dict(codes)},"
        f" {len(history.triggers)} triggers, late by {late[len(late) // 2] / 1e3:.1f} ms (half),"
        f" {late[int(len(late) * 0.99)] / 1e3:.0f} ms (99 of 100), {late[-1] / 1e3:.0f} ms (most)"
    )


@pytest.mark.timeout(TIMEOUT_S)
def test_whatever_is_changed_while_it_fires_every_instant_has_one_fate(tmp_path: Path, calls):
    seed = time.time_ns() % 1_000_000
    with a_cluster(tmp_path) as cluster:
        rest = apart(cluster)
        with busy(rest, calls, seed) as clients:
            began = time.monotonic()
            eventually(lambda: time.monotonic() > began + FOR_S, "its time", within_s=2 * FOR_S)
        ids = node_ids(rest)
        everything, blue = (ids[node.process.pid] for node in cluster.nodes[3:])
        history = history_of(rest, calls, clients, {blue: frozenset({"blue"})})
    print(f"seed {seed}: {summary(history)}")

    assert_sound(history)
    assert len(history.seen) > FOR_S * JOBS / 3
    assert {record.node for record in history.records} - {None} == {everything, blue}
    assert {cancel.code for cancel in history.cancels} >= {200, 202}
