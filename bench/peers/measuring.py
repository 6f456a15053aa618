"""One peer at a time through the same work. Every wait has an end, and nothing is left running."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import struct
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from bench.peers.installing import BIN, DRIVERS, OWN_DRIVERS
from bench.peers.report import Figures
from bench.peers.roster import OURS, Part, Peer
from bench.peers.servers import Postgres, Redis
from onthedot_bench.figures import percentile
from onthedot_bench.probes import family_s

VERB_S = 300.0
FIRST_S = 30.0
STOP_S = 10.0
LOOK_S = 0.02
LEAD_S = 3.0
TAIL_S = 15.0
ONE_OFFS_PER_S = 100
PERIOD_S = 10.0
PERIODS = 2

_NOTE = struct.Struct("<dd")


class Failed(Exception):
    """A peer that could not be measured, and what it said."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """`limit_s`: a drain that takes longer is counted as far as it came."""

    runs: int = 50_000
    one_offs: int = 1_000
    schedules: int = 10_000
    limit_s: float = 60.0


class Bench:
    """The servers, and one peer after the other on them."""

    def __init__(self, postgres: Postgres, redis: Redis | None, wanted: Wanted) -> None:
        self._postgres = postgres
        self._redis = redis
        self._wanted = wanted

    async def measure(self, part: Part, peer: Peer) -> Figures:
        with tempfile.TemporaryDirectory(prefix="onthedot-peers-") as folder:
            seat = await self._seat(part, peer, Path(folder))
            await seat.do("prepare")
            if part == "drained":
                return await self._drained(seat)
            if part == "lateness":
                return await self._lateness(seat)
            return await self._recurring(seat)

    async def engine(self, handler: str) -> Figures:
        """Ours by its own bench, which counts from the node's start to the last outcome."""
        url = await self._postgres.new_database("engine")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "onthedot", "bench", "enqueue", "--store", "postgres"),
            *("--database", url, "--handler", handler, "--runs", str(self._wanted.runs)),
            *("--seconds", "1", "--json"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(VERB_S):
                out, err = await process.communicate()
        except TimeoutError:
            raise Failed(f"it took longer than {VERB_S:.0f} s") from None
        finally:
            await _stop(process)
        if process.returncode:
            raise Failed(trouble(err))
        figures = json.loads(out)
        return {
            "perSecond": figures["runsPerSecond"],
            "seconds": figures["seconds"],
            "done": figures["runs"],
            "runs": self._wanted.runs,
            "serverMicrosPerRun": figures["databaseMicrosPerRun"],
            "workerMicrosPerRun": figures["pythonMicrosPerRun"],
            "enqueuedPerSecond": figures["enqueuedPerSecond"],
        }

    async def _seat(self, part: Part, peer: Peer, folder: Path) -> Seat:
        """A database of its own, and an empty Redis if it wants one."""
        notes = folder / "notes"
        notes.mkdir()
        environment = {
            **os.environ,
            **{f"PEER_{name}": value for name, value in peer.options.get(part, {}).items()},
            "PEER_NOTES": str(notes),
            "PEER_DATABASE": await self._postgres.new_database(f"peer_{peer.name}"),
        }
        if self._redis is not None:
            self._redis.ask("FLUSHALL")
            environment["PEER_REDIS"] = self._redis.url
        if part == "recurring" and peer.in_code:
            environment["PEER_RECURRING"] = str(self._wanted.schedules)
        return Seat(peer, environment, notes)

    async def _drained(self, seat: Seat) -> Figures:
        """From the first call to the moment at which nothing is left to do in its store."""
        runs = max(100, round(self._wanted.runs * seat.peer.share))
        enqueue_s = await seat.do("enqueue", runs)
        left = await self._left(seat)
        async with left, seat.working() as workers:
            await _until(lambda: bool(seat.notes()), FIRST_S, "it starts nothing")
            server_s, worker_s = self._servers_s(), workers.processor_s()
            over = await left.until_none(self._wanted.limit_s)
            done = runs - await left.count()
            server_s, worker_s = self._servers_s() - server_s, workers.processor_s() - worker_s
        first = min(began for began, _ in seat.notes())
        return {
            "perSecond": done / (over - first),
            "seconds": over - first,
            "done": done,
            "runs": runs,
            "serverMicrosPerRun": server_s * 1e6 / max(1, done),
            "workerMicrosPerRun": worker_s * 1e6 / max(1, done),
            "enqueuedPerSecond": runs / enqueue_s,
        }

    async def _lateness(self, seat: Seat) -> Figures:
        count = self._wanted.one_offs
        spread = count / ONE_OFFS_PER_S
        async with seat.working():
            await seat.do("enqueue", 1)  # whoever has called it is awake
            await _until(lambda: bool(seat.notes()), FIRST_S, "it starts nothing")
            first = time.time() + LEAD_S
            await seat.do("delay", count, first, spread)
            with contextlib.suppress(Failed):  # what was not started is told below
                within_s = first + spread + TAIL_S - time.time()
                await _until(lambda: len(seat.notes()) > count, within_s, "not all began")
        late = [each for each in seat.notes() if each[1]]
        return {"wanted": count, "started": len(late), **_late(late)}

    async def _recurring(self, seat: Seat) -> Figures:
        """Over whole periods, after the first, from the middle of one to the middle of another: all
        fall due together, and whoever needs less than half of it is counted exactly.
        """
        count = self._wanted.schedules
        registered_s = await seat.do("recur", count, PERIOD_S)
        async with seat.working() as workers:
            await _until(lambda: bool(seat.notes()), FIRST_S + 2 * PERIOD_S, "it fires nothing")
            await asyncio.sleep(1.5 * PERIOD_S)
            since, processor_s = time.time(), self._servers_s() + workers.processor_s()
            await asyncio.sleep(PERIODS * PERIOD_S)
            until, spent = time.time(), self._servers_s() + workers.processor_s() - processor_s
        fired = [each for each in seat.notes() if since <= each[0] < until]
        return {
            "perSecond": len(fired) / (until - since),
            "wantedPerSecond": count / PERIOD_S,
            "registeredSeconds": registered_s,
            "cpuPercent": 100 * spent / (until - since),
            **_late([each for each in fired if each[1]]),
        }

    async def _left(self, seat: Seat) -> Left:
        if seat.peer.on_redis:
            assert self._redis is not None
            return Left(seat.peer, redis=self._redis)
        connection = await asyncpg.connect(seat.environment["PEER_DATABASE"])
        return Left(seat.peer, connection=connection)

    def _servers_s(self) -> float:
        redis = self._redis.processor_s() if self._redis is not None else 0.0
        return self._postgres.processor_s() + redis


class Left:
    """What a peer has still to do, as its own store tells it."""

    def __init__(
        self,
        peer: Peer,
        *,
        redis: Redis | None = None,
        connection: asyncpg.Connection | None = None,
    ) -> None:
        self._peer = peer
        self._redis = redis
        self._connection = connection

    async def until_none(self, limit_s: float) -> float:
        """When that was, or when the limit was reached."""
        end = time.time() + limit_s
        while (now := time.time()) < end:
            if not await self._count("limit 1"):
                break
            await asyncio.sleep(LOOK_S)
        return now

    async def count(self) -> int:
        return await self._count("")

    async def _count(self, limit: str) -> int:
        if self._redis is not None:
            return sum(self._redis.ask(*words) for words in self._peer.left_in_redis)
        assert self._connection is not None
        # With a limit it is cheap while there is much left; all are counted only in the end.
        query = f"select count(*) from (select from {self._peer.left} {limit}) as rest"
        return int(await self._connection.fetchval(query))

    async def __aenter__(self) -> Left:
        return self

    async def __aexit__(self, *problem: object) -> None:
        if self._connection is not None:
            await self._connection.close()


class Workers:
    def __init__(self, processes: list[asyncio.subprocess.Process]) -> None:
        self._processes = processes

    def processor_s(self) -> float:
        return sum(family_s(each.pid) for each in self._processes)


class Seat:
    """One peer with its database, and its driver in processes of their own."""

    def __init__(self, peer: Peer, environment: dict[str, str], notes: Path) -> None:
        self.peer = peer
        self.environment = environment
        self._notes = notes

    def notes(self) -> list[tuple[float, float]]:
        """(when a call began, when it was due), in no order."""
        parts = [path.read_bytes() for path in self._notes.iterdir()]
        whole = (part[: len(part) // _NOTE.size * _NOTE.size] for part in parts)
        return [each for part in whole for each in _NOTE.iter_unpack(part)]

    async def do(self, verb: str, *numbers: float) -> float:
        """Carry one verb out; returns how long it took by its own account."""
        process = await self._start(verb, *numbers)
        try:
            async with asyncio.timeout(VERB_S):
                out, err = await process.communicate()
        except TimeoutError:
            raise Failed(f"'{verb}' took longer than {VERB_S:.0f} s") from None
        finally:
            await _stop(process)
        if process.returncode:
            raise Failed(f"'{verb}' failed: {trouble(err)}")
        return seconds_of(out)

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[Workers]:
        processes = [await self._start("work") for _ in range(self.peer.processes)]
        quiet = [asyncio.create_task(each.communicate()) for each in processes]
        try:
            yield Workers(processes)
        finally:
            await asyncio.gather(*map(_stop, processes))
            await asyncio.gather(*quiet)

    async def _start(self, verb: str, *numbers: float) -> asyncio.subprocess.Process:
        program, folder = BIN / ("node" if self.peer.on_node_js else "python"), DRIVERS
        if self.peer.name == OURS:
            program, folder = Path(sys.executable), OWN_DRIVERS
        return await asyncio.create_subprocess_exec(
            *map(str, (program, folder / self.peer.driver, verb, *numbers)),
            cwd=folder,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # so that all it starts can be stopped with it
        )


def seconds_of(output: bytes) -> float:
    """What a driver says in its last line."""
    lines = output.decode().strip().splitlines()
    try:
        return float(json.loads(lines[-1])["seconds"])
    except (IndexError, KeyError, ValueError):
        raise Failed(f"its driver did not say how long it took: {trouble(output)}") from None


def trouble(output: bytes) -> str:
    """The last line that speaks of an error, else the last one."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line]
    return (errors or lines or ["it said nothing"])[-1]


def _late(notes: list[tuple[float, float]]) -> Figures:
    late = sorted((began - due) * 1e3 for began, due in notes)
    shares = {"p50Ms": 0.50, "p99Ms": 0.99, "maxMs": 1.0}
    return {name: percentile(late, share) for name, share in shares.items()}


async def _until(is_so: Callable[[], bool], within_s: float, otherwise: str) -> None:
    end = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > end:
            raise Failed(f"{otherwise} within {within_s:.0f} s")
        await asyncio.sleep(5 * LOOK_S)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """It and all that it has started: politely, then not."""
    _tell(process, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_S):
            await process.wait()
    _tell(process, signal.SIGKILL)
    await process.wait()


def _tell(process: asyncio.subprocess.Process, how: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)
