"""How long the work stands still when a server is killed with -9, and whether anything is lost.

On PostgreSQL two servers share the work and the one that was killed comes back later; on SQLite
there is one, and it is started again at once. After a kill the latest occurrence tells how long
the work stood still.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import Definition
from onthedot.core.schedules import Every
from onthedot.factory import opened
from onthedot_bench.driving import Progress, load
from onthedot_bench.figures import FigureSheet, Found
from onthedot_bench.place import BenchDatabase
from onthedot_bench.population import PAYLOAD, Dues
from onthedot_bench.probes import Spent, timer_floor
from onthedot_bench.servers import Server, running
from onthedot_bench.sink import SinkConnection, due_of

JOBS = 200
STEADY_S = 2.0
RECOVER_S = 4.0


class _Arrivals:
    """(due, arrived), in seconds since the epoch."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float]] = []

    def note(self, headers: bytes) -> None:
        self.seen.append((due_of(headers), time.time()))


async def measure(place: BenchDatabase, *, kills: int, say: Progress) -> Found:
    arrivals, loop = _Arrivals(), asyncio.get_running_loop()
    sink = await loop.create_server(lambda: SinkConnection(arrivals), "127.0.0.1", 0)
    port = sink.sockets[0].getsockname()[1]
    async with place.store() as (store, _):
        now = time.time_ns() // 1_000
        await store.upkeep.prepare(now=now)
        dues = await load(store, _population(port), lambda: now, say)
    spent = Spent()
    began = time.perf_counter()
    with timer_floor(spent):
        stood_still, until = await _killing(place, arrivals, kills, say)
    took = time.perf_counter() - began
    sink.close()
    late = sorted(arrived - due for due, arrived in arrivals.seen)
    return Found(
        runs=len(arrivals.seen),
        seconds=took,
        lateness_s=late,
        spent=spent,
        ledger=await _count(place, dues, until),
        more={
            "kills": kills,
            "recoveryMs": round(sorted(stood_still)[len(stood_still) // 2] * 1e3, 1),
            "recoveryMsMax": round(max(stood_still) * 1e3, 1),
            "schedules": JOBS,
        },
    )


async def _killing(
    place: BenchDatabase, arrivals: _Arrivals, kills: int, say: Progress
) -> tuple[list[float], Instant]:
    """How late the latest occurrence was after each kill, and up to when all that was due had been
    claimed in the end.
    """
    servers = [Server(place.settings) for _ in range(2 if place.settings.on_postgres else 1)]
    found: list[float] = []
    async with running(*servers):
        for number in range(kills):
            say(f"kill {number + 1} of {kills}", number / kills)
            await asyncio.sleep(STEADY_S)
            victim, killed = servers[number % len(servers)], time.time()
            await victim.kill()
            if len(servers) == 1:
                await victim.start()
            await asyncio.sleep(RECOVER_S)
            part = [at - due for due, at in arrivals.seen if at >= killed]
            found.append(max(part, default=RECOVER_S))
            if len(servers) > 1:
                await victim.start()
        await asyncio.sleep(STEADY_S)
        until = time.time_ns() // 1_000
    return found, until


async def _count(place: BenchDatabase, dues: Dues, until: Instant) -> FigureSheet:
    async with opened(place.settings) as (store, _):
        totals = await store.ledger.totals(until=until)
    return FigureSheet(max(0, dues.until(until) - totals.runs), totals.records - totals.runs)


def _population(port: int) -> Iterator[Definition]:
    for number in range(JOBS):
        yield Definition(
            name=f"bench-{number}",
            handler_url=f"http://127.0.0.1:{port}/",
            schedule=Every(SECOND),
            payload=PAYLOAD,
        )
