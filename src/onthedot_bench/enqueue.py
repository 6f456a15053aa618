"""Work that is asked for: by single calls over REST, then many runs at once, which are drained."""

from __future__ import annotations

import asyncio
import json
import time

from onthedot.clock import Clock
from onthedot.core.instants import SECOND
from onthedot.core.model import Definition
from onthedot.store.contract import Store
from onthedot.store.values import EnqueueRequest
from onthedot_bench.clients import posting
from onthedot_bench.driving import BenchNode, Progress
from onthedot_bench.figures import FigureSheet, Found
from onthedot_bench.handlers import Kind, Opened, opened
from onthedot_bench.place import BenchDatabase
from onthedot_bench.population import PAYLOAD, PRIORITIES, QUEUES
from onthedot_bench.probes import Meter, Spent, timer_floor
from onthedot_bench.servers import Server, running

CLIENTS = 32
JOBS = 12
AT_ONCE = 1_000
DRAIN_S = 600.0
LOOK_S = 0.005


async def measure(
    place: BenchDatabase, kind: Kind, *, runs: int, seconds: float, say: Progress
) -> Found:
    """First the single calls, on a server of its own, then everything else on an empty database."""
    async with place.store():
        pass
    creates, triggers = await _single(place, seconds, say)
    async with place.store() as (store, clock), opened(kind) as called:
        found = await _drained(store, clock, called, runs, say)
    found.more |= {"createsPerSecond": creates, "triggersPerSecond": triggers, "clients": CLIENTS}
    return found


async def _single(place: BenchDatabase, seconds: float, say: Progress) -> tuple[int, int]:
    """Jobs created and triggered, one by one, by many clients at once."""
    server = Server(place.settings, roles="api")
    job = {"handlerUrl": "http://127.0.0.1:9/", "payload": json.loads(PAYLOAD), "every": 86_400}
    async with running(server):
        say("creating jobs one by one", 0.0)
        made, failed, took = await posting(
            server.port,
            "/v1/jobs",
            lambda number: json.dumps({"name": f"bench-{number}", **job}).encode(),
            clients=CLIENTS,
            seconds=seconds,
        )
        assert not failed, "a job was refused"
        creates = round(made / took)
        say("triggering runs one by one", 0.5)
        made, failed, took = await posting(
            server.port,
            "/v1/jobs/job-1/trigger",
            lambda _: b'{"payload":%b}' % PAYLOAD.encode(),
            clients=CLIENTS,
            seconds=seconds,
        )
        assert not failed, "a trigger was refused"
    return creates, round(made / took)


async def _drained(store: Store, clock: Clock, called: Opened, runs: int, say: Progress) -> Found:
    await store.upkeep.prepare(now=clock.now())
    jobs = await store.jobs.create_many(
        [
            Definition(
                name=f"bench-{number}",
                handler_url=called.handler.url,
                handler=called.handler.function,
                queue=QUEUES[number % len(QUEUES)],
                priority=PRIORITIES[number % len(PRIORITIES)],
            )
            for number in range(JOBS)
        ],
        now=clock.now(),
    )
    began, asked = time.perf_counter(), 0
    while asked < runs:
        many = [EnqueueRequest(due=clock.now(), payload=PAYLOAD)] * min(AT_ONCE, runs - asked)
        await store.runs.enqueue_many(jobs[asked // AT_ONCE % JOBS], many, now=clock.now())
        asked += len(many)
        say(f"enqueued {asked:,} of {runs:,}", asked / runs)
    enqueue_s = time.perf_counter() - began
    meter, spent = await Meter.begin(store, called.runners), Spent()
    began = time.perf_counter()
    with timer_floor(spent):
        node = await BenchNode.start(store, clock, called)
        await _until_empty(node, called, runs, say)
        took = time.perf_counter() - began
    meter.read_processor(spent)
    await meter.read_costs(spent, store)
    await node.stop()
    totals = await store.ledger.totals(until=clock.now() + SECOND)
    return Found(
        runs=len(called.runner.calls),
        seconds=took,
        lateness_s=[],
        spent=spent,
        ledger=FigureSheet(runs - totals.runs, totals.records - totals.runs),
        more={"enqueuedPerSecond": round(runs / enqueue_s)},
    )


async def _until_empty(node: BenchNode, called: Opened, runs: int, say: Progress) -> None:
    """Until all have been called and are in history."""
    calls, end = called.runner.calls, time.perf_counter() + DRAIN_S
    while len(calls) < runs or node.incarnation.unfinished:
        if node.is_over or time.perf_counter() > end:
            return
        say(f"drained {len(calls):,} of {runs:,}", len(calls) / runs)
        await asyncio.sleep(LOOK_S)
