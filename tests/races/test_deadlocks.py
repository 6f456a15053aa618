"""A deadlock is PostgreSQL's way of saying: once more, please. Callers never hear of it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import asyncpg

from onthedot.store.claims import Finished
from onthedot.store.postgres import PostgresStore
from onthedot.store.postgres.database import PostgresDatabase
from tests.races.stage import ALONE, BLOCKED
from tests.support.builders import a_job, a_node, lease, some_runs, succeeded
from tests.support.clock import ManualClock
from tests.support.postgres import drop_database, new_database

LOCK = "select from run where run = $1 for update"
PATIENCE_S = 20.0


async def test_the_victim_of_a_deadlock_begins_again_and_nobody_notices(packaged):
    name, clock = await new_database(packaged), ManualClock()
    async with AsyncExitStack() as stack:
        database = await PostgresDatabase.open(packaged.url(name), ALONE)
        stack.push_async_callback(database.close)
        rival, third, looker = [await a_connection(stack, packaged.url(name)) for _ in range(3)]
        store, pid = PostgresStore(database), await database.value("select pg_backend_pid()")
        node, job = await a_node(store, clock), await a_job(store, clock)
        await some_runs(store, clock, 3, job)
        one, two, three = await lease(store, clock, node)

        # The rival never looks for deadlocks, so that it is the finish that PostgreSQL picks.
        await rival.execute("set deadlock_timeout = '1h'; begin")
        await rival.execute(LOCK.replace("$1", str(one.run)))
        await third.execute("begin")
        await third.execute(LOCK.replace("$1", str(three.run)))
        outcomes = [succeeded(run, clock) for run in (two, three, one)]
        finishing = asyncio.create_task(store.runs.finish(node, outcomes, now=clock.now()))
        await until_blocked(looker, pid)
        crossing = asyncio.create_task(rival.execute(LOCK.replace("$1", str(two.run))))
        await until_blocked(looker, rival.get_server_pid())
        await third.execute("commit")
        async with asyncio.timeout(PATIENCE_S):
            await crossing
            await rival.execute("commit")
            finished = await finishing

        assert finished == Finished(3, 0, 0, None)
        assert await store.runs.owned(node) == []
    await drop_database(packaged, name)


async def a_connection(stack: AsyncExitStack, url: str) -> asyncpg.Connection:
    connection = await asyncpg.connect(url)
    stack.push_async_callback(connection.close)
    return connection


async def until_blocked(looker: asyncpg.Connection, pid: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        blocked = False
        while not blocked:
            blocked = await looker.fetchval(BLOCKED, pid)
