"""Invoices, each written exactly once; reminders, each sent at most once.

    onthedot serve --app app:app

There is no unique key on the invoices, and no look whether one is there: only the transaction keeps
a second one from being written.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from onthedot import App, Context

app = App()

TABLES = """
create table if not exists invoice (
  customer integer not null, month text not null, cents integer not null, run text not null
)
"""


@app.job(name="billing.install", guarantee="exactly_once")
async def install(ctx: Context) -> None:
    """Only the server opens an SQLite file, so even the table is made by a run."""
    async with ctx.transaction() as db:
        await db.execute(TABLES)


@app.job(name="billing.bill", guarantee="exactly_once", retries=20, backoff={"initial": 0.1})
async def bill(ctx: Context, customer: int, month: str, effort_s: float = 0.0) -> None:
    """Committed together with the success of the run, or not at all."""
    async with ctx.transaction() as db:
        before = await db.fetchval("select count(*) from invoice where customer = $1", customer)
        await db.execute(
            "insert into invoice (customer, month, cents, run) values ($1, $2, $3, $4)",
            *(customer, month, 900 + 100 * before, ctx.run_id),
        )
        await asyncio.sleep(effort_s)
    # From here on the run has succeeded, whatever happens.
    await asyncio.sleep(effort_s)


@app.job(name="billing.remind", guarantee="at_most_once")
def remind(customer: int, outbox: str, effort_s: float = 0.0) -> None:
    """Stands for a message that cannot be taken back: better none than two."""
    with Path(outbox).open("a") as file:
        file.write(f"{customer}\n")
    time.sleep(effort_s)
