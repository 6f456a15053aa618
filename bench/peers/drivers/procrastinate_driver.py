"""procrastinate: jobs are rows that stay."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import procrastinate
from driver import DATABASE, PAYLOAD, RECURRING, instants, main, note, option, portions

POOL = 6
connector = procrastinate.PsycopgConnector(conninfo=DATABASE, min_size=POOL, max_size=POOL)
# Without it every schedule would first catch up with the last ten minutes.
app = procrastinate.App(connector=connector, periodic_defaults={"max_delay": 10.0})


@app.task(name="nothing")
async def nothing(template: str, to: str, items: list[int], locale: str) -> None:
    note()


@app.task(name="due")
async def due(at: float, template: str, to: str, items: list[int], locale: str) -> None:
    note(at)


@app.task(name="tick")
async def tick(timestamp: int) -> None:
    note(float(timestamp))


for number in range(RECURRING):
    app.periodic(cron="*/10 * * * * *", periodic_id=str(number))(tick)


async def prepare() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def enqueue(count: float) -> None:
    async with app.open_async():
        for many in portions(count):
            await nothing.batch_defer_async(*[PAYLOAD] * many)


async def delay(count: float, first: float, seconds: float) -> None:
    async with app.open_async():
        for at in instants(count, first, seconds):
            instant = datetime.fromtimestamp(at, UTC)
            await due.configure(schedule_at=instant).defer_async(at=at, **PAYLOAD)


async def recur(count: float, seconds: float) -> None:
    """They stand in code."""


async def work() -> None:
    logging.disable(logging.WARNING)
    async with app.open_async():
        await app.run_worker_async(concurrency=20, fetch_job_polling_interval=option("POLL", 5.0))


if __name__ == "__main__":
    main({"prepare": prepare, "enqueue": enqueue, "delay": delay, "recur": recur, "work": work})
