"""Three nodes, each a process of its own, on one PostgreSQL that flushes every commit to disk, and
what the outside can see of them: the receiver's calls and the public API.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import asyncpg

from tests.crash.checker import repeats
from tests.crash.history import SECOND, History
from tests.crash.load import (
    CAUGHT_UP,
    FAILING,
    ONE_OFF,
    RARE,
    RETRIED,
    STEADY,
    TRIGGERED,
    TRIGGERED_RETRIED,
    Kind,
    Load,
    Traffic,
)
from tests.crash.reading import SETTLE_S, history_of, listed_jobs
from tests.support.postgres import PostgresServer, a_server, programs
from tests.support.receiver import Receiver
from tests.support.rest import NoAnswer, Reply, Rest, eventually
from tests.support.server import START_S, Server

NODES = 3
NAP_S = 0.05
LEASE_S = 15.0
BEAT_S = 3.0
# A client that waits longer for a node that stands still would ask for nothing else meanwhile.
PATIENCE_S = 2.0
BACKENDS = """
    select pid
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
    order by pid
"""
# Longer than its interval: every node has some of these under way at every moment.
LASTING = Kind(path="/slow/2.2", every=2)
# More than 200 runs a second: 140 + 40 + 2 + 8 + 2 + 15, and what the client asks for.
KINDS: Mapping[Kind, int] = {
    STEADY: 140,
    CAUGHT_UP: 40,
    RARE: 10,
    RETRIED: 8,
    FAILING: 4,
    LASTING: 30,
    TRIGGERED: 1,
    TRIGGERED_RETRIED: 1,
}
RUNS_A_SECOND = sum(count / kind.every for kind, count in KINDS.items() if kind.every is not None)
assert RUNS_A_SECOND >= 200


@cache
def durable() -> PostgresServer:
    """One for all tests; it goes when the session ends."""
    found = programs()
    server = a_server(found[max(found)], durable=True, tcp=True)
    server.start()
    return server


class Anywhere(Rest):
    """Asks a node by chance, as behind a balancer: a repeated request may reach another one. A
    node that cannot reach its database does not know whether it did what was asked. `full`: how
    often it was told that the disk is.
    """

    def __init__(self, nodes: list[Server], chance: Random, *, timeout_s: float) -> None:
        super().__init__("", timeout_s=timeout_s)
        self.full = 0
        self._rests = [Rest(node.url, timeout_s=timeout_s) for node in nodes]
        self._chance = chance

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        reply = self._chance.choice(self._rests).ask(method, path, body, headers)
        self.full += reply.status == 507
        if reply.status in (503, 507):
            raise NoAnswer(f"{method} {path}: {reply.body!r}")
        return reply


class Noise(threading.Thread):
    """Sleeps for a moment, again and again, and notes by how much it overslept."""

    def __init__(self) -> None:
        super().__init__(name="noise", daemon=True)
        self.worst_s = 0.0
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        began = time.monotonic()
        while not self._over.wait(NAP_S):
            self.worst_s = max(self.worst_s, time.monotonic() - began - NAP_S)
            began = time.monotonic()

    def end(self) -> None:
        self._over.set()
        self.join()


class Cluster:
    """Nodes, their database, and the load they are under. `breaks`, `wakings`, `cuts` are for the
    checker; `chance` decides about victims and moments.
    """

    def __init__(self, nodes: list[Server], url: str, receiver: Receiver, chance: Random) -> None:
        self.nodes = nodes
        self.receiver = receiver
        self.chance = chance
        self.breaks: list[int] = []
        self.wakings: list[int] = []
        self.cuts: list[tuple[int, int]] = []
        self._url = url
        self._noise = Noise()
        self._read = 0
        self._called: set[tuple[str, int]] = set()
        self.load = Load(nodes[0].rest, receiver)
        self.traffic: Traffic | None = None

    @property
    def database(self) -> PostgresServer:
        return durable()

    def begin(self) -> None:
        """Make the jobs, and wait until each node has something under way."""
        self.load.create(KINDS)
        triggered = [*self.load.by_kind[TRIGGERED], *self.load.by_kind[TRIGGERED_RETRIED]]
        self.balancer = Anywhere(self.nodes, Random(self.chance.random()), timeout_s=PATIENCE_S)
        self.traffic = Traffic(
            self.balancer, self.receiver, triggered, self.chance.randrange(1 << 30)
        )
        self.traffic.start()
        self.receiver.wait_for(KINDS[LASTING], path=LASTING.path)

    def end(self) -> None:
        self._noise.end()

    def noise_s(self) -> float:
        """How long the machine kept a process waiting that wanted to go on, at worst: what is to be
        in time may be later by that.
        """
        return self._noise.worst_s

    def live(self, least_s: float, most_s: float) -> None:
        """The moment of a fault is chance: this waits for nothing."""
        time.sleep(self.chance.uniform(least_s, most_s))

    # What is done to them

    def kill(self, victim: Server) -> int:
        """Returns when, in nanoseconds."""
        at_ns = self._breaks()
        victim.kill9()
        return at_ns

    def stop(self, victim: Server) -> int:
        at_ns = self._breaks()
        victim.signal(signal.SIGSTOP)
        return at_ns

    def wake(self, victim: Server) -> int:
        at_ns = time.time_ns()
        self.wakings.append(at_ns // 1_000)
        victim.signal(signal.SIGCONT)
        return at_ns

    def a_backend(self) -> int:
        """The process of PostgreSQL that serves one connection of one node."""
        found = eventually(self.backends, "a connection of a node")
        return self.chance.choice(found)

    def cut_off(self, backend: int) -> None:
        """End one connection; the others stay."""
        asyncio.run(_fetch(self._url, "select pg_terminate_backend($1)", backend))

    def kill_backend(self, backend: int) -> None:
        """PostgreSQL takes it for a crash: it drops every connection and recovers from its log."""
        os.kill(backend, signal.SIGKILL)

    def backends(self) -> list[int]:
        return [row[0] for row in asyncio.run(_fetch(self._url, BACKENDS))]

    def wait_for_database(self) -> None:
        """Until it takes connections again."""
        eventually(self._is_answered, "an answer of the database", within_s=START_S)

    def _is_answered(self) -> bool:
        try:
            self.backends()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False
        return True

    def _breaks(self) -> int:
        at_ns = time.time_ns()
        self.breaks.append(at_ns // 1_000)
        return at_ns

    # What can be seen of them

    def others(self, victim: Server) -> list[Server]:
        return [node for node in self.nodes if node is not victim]

    def known(self, through: Server) -> list[dict[str, Any]]:
        """Every node there was, as one of them tells."""
        return list(through.rest.pages("/v1/nodes", "nodes"))

    def is_alive(self, through: Server, pid: int) -> bool:
        return any(each["pid"] == pid and each["alive"] for each in self.known(through))

    def number_of(self, through: Server, pid: int) -> int:
        """Of the newest incarnation of this process."""
        return max(int(each["nodeId"]) for each in self.known(through) if each["pid"] == pid)

    def works(self, node: Server) -> bool:
        """Whether it is alive, and had runs in hand at its last heartbeat."""
        return any(
            each["pid"] == node.process.pid
            and each["alive"]
            and each["load"]["running"] + each["load"]["held"] > 0
            for each in self.known(node)
        )

    @property
    def refused(self) -> list[str]:
        """Requests of the client that got a wrong answer."""
        assert self.traffic is not None
        return self.traffic.refused

    def longest_gap_s(self, since_ns: int, until_ns: int) -> float:
        """How long nobody was called at all."""
        calls = [call.at_ns for call in self.receiver.calls()]
        moments = [since_ns, *(at for at in calls if since_ns < at < until_ns), until_ns]
        return max(after - before for before, after in pairwise(moments)) / 1e9

    def latest_s(self, since_ns: int, until_ns: int) -> float:
        """How late the latest occurrence of a steady job was that was due then. One that was not
        called at all is the checker's business.
        """
        first: dict[str, float] = {}
        steady = {*self.load.by_kind[STEADY]}
        for call in self.receiver.calls():
            if call.job_id in steady and since_ns < call.scheduled_for_us * 1_000 < until_ns:
                first.setdefault(call.run_id, call.at_ns / 1e9 - call.scheduled_for_us / 1e6)
        return max(first.values(), default=0.0)

    def outstanding(self, until_ns: int) -> int:
        """How many occurrences of steady jobs that are due until then nobody has called yet."""
        new = self.receiver.calls()[self._read :]
        self._read += len(new)
        self._called.update((call.job_id, call.scheduled_for_us) for call in new)
        return sum(
            (job_id, at) not in self._called
            for job_id in self.load.by_kind[STEADY]
            for at in range(self.load.jobs[job_id].created + SECOND, until_ns // 1_000, SECOND)
        )

    # The judgement

    def history(self) -> History:
        """Everything that can be known, once all is over."""
        assert self.traffic is not None
        self.traffic.finish()
        rest = Anywhere(self.nodes, Random(self.chance.random()), timeout_s=SETTLE_S)
        listed = listed_jobs(rest)
        self.load.adopt(STEADY, self.traffic.tokens("recurring"), listed)
        self.load.adopt(ONE_OFF, self.traffic.tokens("one-off"), listed)
        self.load.pause()
        asks = self.traffic.asks
        history = history_of(
            rest, self.receiver, self.load.jobs, self.breaks, asks, wakings=self.wakings
        )
        return replace(history, cuts=self.cuts)

    def summary(self, history: History) -> str:
        assert self.traffic is not None
        asks = self.traffic.asks
        rescued = sum(record.rescues > 0 for record in history.records)
        return (
            f"{len(history.records)} runs, {len(history.seen)} callbacks, "
            f"{repeats(history)} repeated ({rescued} runs rescued), {len(asks)} requests "
            f"({sum(ask.made is None for ask in asks)} unanswered, {self.traffic.insisted} "
            f"repeated), noise {self.noise_s():.2f} s"
        )


MakeNode = Callable[[int, Path, str], Server]
"""Of this number, with this folder, on this database."""


def plain_node(number: int, folder: Path, url: str) -> Server:
    return Server(folder, url=url)


@contextmanager
def a_cluster(folder: Path, seed: int, make: MakeNode = plain_node) -> Iterator[Cluster]:
    """Three nodes at work on an empty database of their own."""
    name = f"crash_{os.getpid()}_{secrets.token_hex(4)}"
    asyncio.run(_fetch(durable().url(), f"create database {name}"))
    url = durable().url(name)
    with ExitStack() as stack:
        receiver = stack.enter_context(Receiver())
        nodes = []
        for number in range(NODES):
            home = folder / f"node-{number}"
            home.mkdir()
            node = make(number, home, url)
            stack.callback(node.close)
            nodes.append(node)
            node.launch()
        for node in nodes:
            eventually(node.healthy, f"a healthy node at {node.url}", within_s=START_S)
        cluster = Cluster(nodes, url, receiver, Random(seed))
        stack.callback(cluster.end)
        cluster.begin()
        yield cluster


@contextmanager
def alone(server: Server, seed: int) -> Iterator[Cluster]:
    """One server on a file of its own, under the same load."""
    with Receiver() as receiver, server:
        cluster = Cluster([server], "", receiver, Random(seed))
        try:
            cluster.begin()
            yield cluster
        finally:
            cluster.end()


async def _fetch(url: str, statement: str, *values: object) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        return list(await connection.fetch(statement, *values))
    finally:
        await connection.close()
