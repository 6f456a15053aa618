"""onthedot, as anybody would run it: `onthedot serve --app`, all roles, every guarantee on."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime

import asyncpg
from driver import DATABASE, PAYLOAD, instants, main, note, portions

from onthedot import App, Context, config
from onthedot.core.instants import SECOND
from onthedot.core.model import Definition
from onthedot.core.schedules import Every
from onthedot.factory import opened
from onthedot.store.values import EnqueueRequest

app = App()


@app.job(name="nothing")
async def nothing(template: str, to: str, items: list[int], locale: str) -> None:
    note()


@app.job(name="due")
async def due(ctx: Context, template: str, to: str, items: list[int], locale: str) -> None:
    note(ctx.scheduled_for.timestamp())


async def prepare() -> None:
    async with opened(config.load({"database": DATABASE})) as (store, clock):
        await store.upkeep.prepare(now=clock.now())
        for name in ("nothing", "due"):
            await store.jobs.create(Definition(name=name, key=name, handler=name), now=clock.now())


async def enqueue(count: float) -> None:
    body = json.dumps(PAYLOAD)
    async with opened(config.load({"database": DATABASE})) as (store, clock):
        for many in portions(count):
            now = clock.now()
            await store.runs.enqueue_many(1, [EnqueueRequest(now, body)] * many, now=now)


async def delay(count: float, first: float, seconds: float) -> None:
    connection = await asyncpg.connect(DATABASE)
    for at in instants(count, first, seconds):
        instant = datetime.fromtimestamp(at, UTC)
        await due.enqueue_at(instant, connection=connection, **PAYLOAD)


async def recur(count: float, seconds: float) -> None:
    """All at the same instant: so every one of them falls due together with the others."""
    schedule, body = Every(int(seconds * SECOND)), json.dumps(PAYLOAD)
    async with opened(config.load({"database": DATABASE})) as (store, clock):
        await store.jobs.create_many(
            [
                Definition(name=f"tick-{number}", handler="due", schedule=schedule, payload=body)
                for number in range(int(count))
            ],
            now=clock.now(),
        )


async def work() -> None:
    serving = ("serve", "--app", "onthedot_driver:app", "--port", "0", "--log-level", "warning")
    os.environ["ONTHEDOT_DATABASE"] = DATABASE
    os.execv(sys.executable, [sys.executable, "-m", "onthedot", *serving])


if __name__ == "__main__":
    main({"prepare": prepare, "enqueue": enqueue, "delay": delay, "recur": recur, "work": work})
