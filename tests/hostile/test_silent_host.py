"""Hosts of a database URL that accept and never answer, or swallow every packet; and a database
that is not there when a server starts.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.hostile.form import LONG
from tests.integration.test_nodes_kit import Cluster, Process
from tests.support.postgres import PostgresServer, a_server, programs
from tests.support.receiver import Receiver
from tests.support.rest import NoAnswer, eventually

PATIENCE_S = 60.0
HOST_S = 3.0
ALL = "api,scheduler,worker,janitor"
BLACKHOLE = "192.0.2.1:5432"
"""Of a network that is there for documentation: packets to it are dropped, or have no way."""


@contextmanager
def frozen() -> Iterator[str]:
    """A machine that stands still: the system accepts connections, and nobody reads them."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1_000)
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    found = programs()
    server = a_server(found[max(found)], durable=True, tcp=True)
    try:
        server.start()
        yield server
    finally:
        server.dispose()


def listed(server: PostgresServer, *before: str, after: tuple[str, ...] = ()) -> str:
    """The URL of a server, with other hosts before and after it."""
    parts = urlsplit(server.url())
    who, _, place = parts.netloc.rpartition("@")
    return f"postgresql://{who}@{','.join((*before, place, *after))}/postgres"


@contextmanager
def a_cluster(folder: Path, url: str) -> Iterator[Cluster]:
    cluster = Cluster(folder, "postgres", url)
    with cluster.stack:
        yield cluster


def ready(node: Process) -> None:
    eventually(node.is_ready, "a node that is ready", within_s=PATIENCE_S)


@pytest.mark.timeout(180)
def test_silent_hosts_before_the_good_one_cost_their_own_time_only(server, tmp_path):
    with frozen() as still, a_cluster(tmp_path, listed(server, still, BLACKHOLE)) as cluster:
        began = time.monotonic()
        node = cluster.launch(ALL)
        ready(node)
        took_s = time.monotonic() - began

        # Some parts of a server connect apart from each other: each finds the good host once.
        assert took_s < 8 * HOST_S, took_s
        with Receiver() as receiver:
            job = {"name": "tick", "handlerUrl": f"{receiver.url}/ok", "every": 1}
            node.rest.made("/v1/jobs", job)
            calls = receiver.wait_for(5, path="/ok", within_s=PATIENCE_S)
        assert node.stop() == 0
        late = [call.at_ns // 1_000 - call.scheduled_for_us for call in calls]
        assert min(late) < 1_000_000, late


@pytest.mark.timeout(180)
def test_a_silent_host_does_not_keep_a_node_away_when_the_good_one_comes_back(server, tmp_path):
    with frozen() as still, a_cluster(tmp_path, listed(server, still)) as cluster:
        node = cluster.start(ALL)
        for _ in range(3 if LONG else 1):
            server.stop("immediate")
            eventually(lambda: node.rest.get("/health").status == 503, "trouble", within_s=30)
            server.start()
            eventually(
                lambda: node.rest.get("/health").status == 200, "recovery", within_s=PATIENCE_S
            )
        assert node.stop() == 0


@pytest.mark.timeout(120)
def test_a_server_that_starts_answers_while_all_hosts_of_its_database_are_silent(tmp_path):
    with frozen() as one, frozen() as two, frozen() as three:
        url = f"postgresql://u@{one},{two},{three}/x"
        with a_cluster(tmp_path, url) as cluster:
            node = cluster.launch(ALL)
            eventually(lambda: health_of(node) == 503, "an answer", within_s=PATIENCE_S)
            first = node.rest.get("/health").json["problems"][0]
            eventually(lambda: "store.awaited" in node.said, "the reason", within_s=PATIENCE_S)
            then = node.rest.get("/health").json["problems"][0]
            assert node.stop() == 0

    assert "has not answered yet" in first
    assert then.endswith("the database does not answer: nothing came back in time")


@pytest.mark.timeout(180)
def test_serve_waits_for_its_database_and_says_so(server, tmp_path):
    url = server.url()
    server.stop("fast")
    with a_cluster(tmp_path, url) as cluster:
        node = cluster.launch(ALL)
        eventually(lambda: health_of(node) == 503, "an answer that it is not ready", within_s=30)

        health = node.rest.get("/health").json
        assert health["status"] == "failing"
        assert "cannot open the database" in health["problems"][0]
        assert node.rest.get("/health/live").status == 200
        refused = node.rest.get("/v1/jobs")
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        eventually(lambda: node.said.count("store.awaited") >= 3, "a word every few seconds")
        assert node.process.poll() is None

        server.start()
        ready(node)
        assert node.rest.get("/v1/jobs").status == 200
        assert node.stop() == 0


@pytest.mark.timeout(60)
def test_a_server_that_waits_for_its_database_stops_when_told(tmp_path):
    with frozen() as still, a_cluster(tmp_path, f"postgresql://u@{still}/db") as cluster:
        node = cluster.launch(ALL)
        eventually(lambda: health_of(node) == 503, "an answer that it is not ready", within_s=30)
        began = time.monotonic()

        assert node.stop() == 0

        assert time.monotonic() - began < 4  # less than a connection may take


def health_of(node: Process) -> int:
    try:
        return node.rest.get("/health").status
    except NoAnswer:
        return 0


def wrong_password(server: PostgresServer) -> str:
    parts = urlsplit(server.url())
    return parts._replace(netloc=f"{parts.username}:nonsense@127.0.0.1:{parts.port}").geturl()


CANNOT = {
    "a wrong password": (wrong_password, 1, "Check user and password"),
    "no such database": (lambda server: server.url("nowhere"), 1, "createdb NAME"),
    "a port that is none": (lambda server: "postgresql://u@h:99999/db", 2, "port '99999'"),
    "a certificate that is not there": (
        lambda server: f"{server.url()}?sslmode=verify-full&sslrootcert=/nowhere.pem",
        1,
        "sslrootcert",
    ),
}


@pytest.mark.parametrize("what", CANNOT)
def test_what_waiting_cannot_mend_ends_the_server_at_once(server, tmp_path, what):
    url, code, said = CANNOT[what]
    with a_cluster(tmp_path, url(server)) as cluster:
        node = cluster.launch(ALL)

        assert node.process.wait(30) == code

        assert said in node.said
        assert "error: " in node.said
        assert "hint: " in node.said
        assert "Traceback" not in node.said


def test_a_database_that_somebody_else_uses_is_not_waited_for(server, tmp_path):
    with a_cluster(tmp_path, server.url()) as cluster:
        cluster.tell("create table job (theirs text)")
        node = cluster.launch(ALL)

        assert node.process.wait(30) == 1
        assert "not onthedot's" in node.said
