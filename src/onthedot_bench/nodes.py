"""Several nodes on one database, each in a process of its own, all of which follow the hands of one
clock: what `throughput` asks of one node, asked of them together.

The hands, and what each node tells, are numbers in a file that all have mapped into memory.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, cast

from onthedot import config
from onthedot.core.instants import Instant
from onthedot.core.recovery import BEAT_S
from onthedot.errors import CannotStart
from onthedot.factory import opened as opened_store
from onthedot_bench.driving import (
    QUIET_LOOKS,
    QUIET_S,
    SETTLE_S,
    START,
    BenchNode,
    Progress,
    chunks_apart_us,
    load,
)
from onthedot_bench.figures import FigureSheet, Found
from onthedot_bench.handlers import Kind, handler_of, opened
from onthedot_bench.place import BenchDatabase
from onthedot_bench.population import definitions
from onthedot_bench.probes import Meter, Spent, rss_mb, timer_floor
from onthedot_bench.throughput import WATCH_S, Drive

JOIN_S = 60.0
SHARED_S = BEAT_S + 1.0
"""By then every node has heard of the others, and has its share of the shards."""

RUNNING, SETTLING, OVER = range(3)
_NOW, _PHASE, _HEADER = range(3)
_JOINED, _UNSTARTED, _UNFINISHED, _CLAIMED, _CALLED, _FIELDS = range(6)
_CELL: Final = 8


class Dial:
    """What all see. Each cell has one writer: the first ones the bench, the others a node each."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._cells = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")

    @classmethod
    def make(cls, path: Path, nodes: int) -> Dial:
        path.write_bytes(bytes(_CELL * (_HEADER + nodes * _FIELDS)))
        dial = cls(path)
        dial.turn(START)
        return dial

    def now(self) -> Instant:
        return self._cells[_NOW]

    def monotonic(self) -> float:
        return time.monotonic()

    def turn(self, by_us: int) -> None:
        self._cells[_NOW] += by_us

    @property
    def phase(self) -> int:
        return self._cells[_PHASE]

    @phase.setter
    def phase(self, phase: int) -> None:
        self._cells[_PHASE] = phase

    def tell(self, number: int, values: tuple[int, ...]) -> None:
        for field, value in enumerate(values):
            self._cells[_HEADER + number * _FIELDS + field] = value

    def column(self, field: int) -> list[int]:
        """One figure of every node."""
        return list(self._cells[_HEADER + field :: _FIELDS])


class Crew:
    """All nodes, as the drive sees them: as slow as the slowest."""

    def __init__(self, dial: Dial, processes: list[asyncio.subprocess.Process]) -> None:
        self.dial = dial
        self.processes = processes

    @property
    def is_over(self) -> bool:
        return any(each.returncode is not None for each in self.processes)

    @property
    def claimed_until(self) -> Instant:
        return min(self.dial.column(_CLAIMED))

    @property
    def called(self) -> int:
        return sum(self.dial.column(_CALLED))

    def has_nearly_done(self, unstarted: int, unrecorded: int) -> bool:
        ready = max(self.dial.column(_UNSTARTED)) < unstarted
        return ready and max(self.dial.column(_UNFINISHED)) < unrecorded

    def follow(self) -> None:
        """They see it by themselves."""

    async def join(self) -> None:
        end = time.monotonic() + JOIN_S
        while not all(self.dial.column(_JOINED)):
            if self.is_over or time.monotonic() > end:
                raise CannotStart("a node of the bench does not start", hint="See: onthedot serve")
            await asyncio.sleep(QUIET_S)
        await asyncio.sleep(SHARED_S)

    async def settle(self) -> None:
        """Until nothing more is called and nothing is in hand."""
        self.dial.phase = SETTLING
        end, called, quiet = time.monotonic() + SETTLE_S, -1, 0
        while quiet < QUIET_LOOKS and time.monotonic() < end and not self.is_over:
            still = called == self.called and not any(self.dial.column(_UNFINISHED))
            quiet = quiet + 1 if still else 0
            called = self.called
            await asyncio.sleep(QUIET_S)


async def measure(
    place: BenchDatabase, kind: Kind, *, nodes: int, seconds: float, jobs: int, say: Progress
) -> Found:
    with tempfile.TemporaryDirectory(prefix="onthedot-bench-") as folder:
        path = Path(folder) / "dial"
        dial = Dial.make(path, nodes)

        def next_chunk() -> int:
            dial.turn(chunks_apart_us(jobs))
            return dial.now()

        async with place.store() as (store, _):
            await store.upkeep.prepare(now=dial.now())
            began = time.perf_counter()
            dues = await load(store, definitions(jobs, handler_of(kind)), next_chunk, say)
            load_s = time.perf_counter() - began
            async with _working(path, dial, nodes, place, kind) as crew:
                drive = Drive(crew, dial, dues.rate(), say)
                pids = [each.pid for each in crew.processes]
                meter, spent = await Meter.begin(store, pids), Spent()
                with timer_floor(spent):
                    runs, took = await drive.run(seconds)
                meter.read_processor(spent)
                spent.rss_mb, spent.runner_rss_mb = max(map(rss_mb, pids)), None
                say("letting everything end", 1.0)
                await crew.settle()
                await meter.read_costs(spent, store)
            totals = await store.ledger.totals(until=dial.now())
    return Found(
        runs=runs,
        seconds=took,
        lateness_s=[],
        spent=spent,
        ledger=FigureSheet(dues.until(dial.now()) - totals.runs, totals.records - totals.runs),
        all_runs=totals.runs,
        more={
            "nodes": nodes,
            "schedules": jobs,
            "schedulesLoadedPerSecond": round(jobs / load_s),
            **drive.edges(took),
        },
    )


@asynccontextmanager
async def _working(
    path: Path, dial: Dial, nodes: int, place: BenchDatabase, kind: Kind
) -> AsyncIterator[Crew]:
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "onthedot_bench.nodes", str(path), str(number), kind),
            env={**os.environ, "ONTHEDOT_DATABASE": place.settings.database},
            stdin=asyncio.subprocess.DEVNULL,
        )
        for number in range(nodes)
    ]
    crew = Crew(dial, processes)
    try:
        await crew.join()
        yield crew
    finally:
        dial.phase = OVER
        await asyncio.gather(*map(_ended, processes))


async def _ended(process: asyncio.subprocess.Process) -> None:
    try:
        async with asyncio.timeout(SETTLE_S):
            await process.wait()
    except TimeoutError:
        process.send_signal(signal.SIGKILL)
        await process.wait()


async def _work(path: Path, number: int, kind: Kind) -> None:
    """One node. It ends when it is told to, or when whoever has started it is gone."""
    dial, parent = Dial(path), os.getppid()
    async with opened_store(config.load()) as (store, _), opened(kind) as called:
        node = await BenchNode.start(store, dial, called)
        nudged = 0.0
        while dial.phase != OVER and not node.is_over and os.getppid() == parent:
            node.follow()
            if dial.phase == SETTLING and time.monotonic() - nudged > QUIET_S:
                nudged = time.monotonic()
                node.nudge()
            own = node.incarnation
            counts = (own.unstarted, own.unfinished, node.claimed_until, node.called)
            dial.tell(number, (1, *counts))
            await asyncio.sleep(WATCH_S)
        await node.stop()


if __name__ == "__main__":
    from onthedot.event_loop import run

    run(_work(Path(sys.argv[1]), int(sys.argv[2]), cast("Kind", sys.argv[3])))
