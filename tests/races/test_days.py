"""The days of history on PostgreSQL: made ahead, filled with what came early, and dropped whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from onthedot.core.instants import DAY, HOUR
from onthedot.core.model import occurrence
from onthedot.core.states import Status
from onthedot.errors import NotFound
from onthedot.store.postgres import PostgresStore, open_store
from onthedot.store.postgres.statements import SQL
from onthedot.store.postgres.transacting import PostgresTransactions
from onthedot.store.transactions import Claim
from tests.support.builders import RunKey, a_held_run, a_node, a_one_off, prune, status_of
from tests.support.clock import ManualClock
from tests.support.postgres import drop_database, new_database

WAITING = "select count(*) from pg_locks where not granted"
BY_TABLE = "select tableoid::regclass::text, count(*) from history group by 1"


@pytest.fixture
async def store(packaged) -> AsyncIterator[PostgresStore]:
    name = await new_database(packaged)
    opened = await open_store(packaged.url(name))
    yield opened
    await opened.upkeep.close()
    await drop_database(packaged, name)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def tables(store: PostgresStore) -> dict[str, int]:
    return dict(map(tuple, await store.upkeep._database.rows(BY_TABLE)))


async def days(store: PostgresStore) -> list[str]:
    names = [name for (name,) in await store.upkeep._database.rows(SQL["upkeep.partitions"])]
    return sorted(name.removeprefix("history_") for name in names if name != "history_default")


async def cancelled_tomorrow(store: PostgresStore, clock: ManualClock) -> RunKey:
    """History that comes before its day: what is cancelled is over at once."""
    at = clock.now() + DAY + HOUR
    job = await a_one_off(store, clock, at=at)
    await store.runs.cancel(job.id, occurrence(at), now=clock.now())
    return RunKey(job.id, occurrence(at))


async def test_a_day_takes_over_what_came_before_it_was_made(store, clock):
    run = await cancelled_tomorrow(store, clock)
    before = await tables(store)

    await store.upkeep.prepare(now=clock.now())
    await store.upkeep.prepare(now=clock.now())

    assert before == {"history_default": 1}
    assert await tables(store) == {"history_20260302": 1}
    assert await status_of(store, clock, run) is Status.CANCELLED


async def test_a_function_completes_its_run_while_the_day_is_being_made(store, clock, packaged):
    """The completion has chosen the table to write to, and waits; meanwhile that is another one."""
    database = await store.upkeep._database.value("select current_database()")
    url = packaged.url(database)
    held = await a_held_run(store, clock, await a_node(store, clock))
    transactions, other = PostgresTransactions(url), await asyncpg.connect(url)
    claim = Claim(held.job, held.run, held.attempt, held.fence, clock.now())
    today = clock.now() // DAY * DAY

    async def complete() -> None:
        async with transactions.open(claim):
            pass

    async with other.transaction():
        bounds = occurrence(today), occurrence(today + DAY)
        await other.fetchval(SQL["upkeep.make_day"], "history_20260301", *bounds)
        completing = asyncio.create_task(complete())
        for _ in range(1000):
            if await store.upkeep._database.value(WAITING):
                break
            await asyncio.sleep(0.01)
    await completing

    assert await status_of(store, clock, held) is Status.SUCCEEDED
    assert await tables(store) == {"history_20260301": 1}
    await transactions.close()
    await other.close()


async def test_a_day_that_is_older_than_the_retention_goes_as_a_whole(store, clock):
    run = await cancelled_tomorrow(store, clock)
    await store.upkeep.prepare(now=clock.now())

    await prune(store, before=clock.now())
    before = await days(store), await status_of(store, clock, run)
    await prune(store, before=clock.now() + 2 * DAY)

    assert before == (["20260301", "20260302", "20260303"], Status.CANCELLED)
    assert await days(store) == ["20260303"]
    with pytest.raises(NotFound):
        await status_of(store, clock, run)
