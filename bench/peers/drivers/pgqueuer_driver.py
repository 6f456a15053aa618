"""pgqueuer: jobs are rows that go when they are done."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import timedelta

import asyncpg
import uvloop
from driver import DATABASE, PAYLOAD, RECURRING, instants, main, note, option, portions
from pgqueuer import Job, PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Schedule
from pgqueuer.queries import Queries

BODY = json.dumps(PAYLOAD).encode()


async def queries() -> Queries:
    return Queries(AsyncpgDriver(await asyncpg.connect(DATABASE)))


async def prepare() -> None:
    await (await queries()).install()


async def enqueue(count: float) -> None:
    there = await queries()
    for many in portions(count):
        await there.enqueue(["nothing"] * many, [BODY] * many, [0] * many)


async def delay(count: float, first: float, seconds: float) -> None:
    there = await queries()
    for due in instants(count, first, seconds):
        body = json.dumps({**PAYLOAD, "due": due}).encode()
        await there.enqueue("due", body, execute_after=timedelta(seconds=due - time.time()))


async def recur(count: float, seconds: float) -> None:
    """They stand in code."""


async def work() -> None:
    queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(DATABASE)))

    @queuer.entrypoint("nothing")
    async def nothing(job: Job) -> None:
        note()

    @queuer.entrypoint("due")
    async def due(job: Job) -> None:
        note(json.loads(job.payload or b"{}")["due"])

    async def tick(schedule: Schedule) -> None:
        note(0.0)

    for number in range(RECURRING):
        queuer.schedule(f"tick-{number}", "* * * * * */10")(tick)
    await queuer.run(batch_size=int(option("BATCH", 100)))


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    main({"prepare": prepare, "enqueue": enqueue, "delay": delay, "recur": recur, "work": work})
