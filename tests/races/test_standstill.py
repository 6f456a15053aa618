"""A process that freezes in the middle of a transaction does not hold up the others for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from onthedot.core.instants import SECOND
from onthedot.errors import StoreUnavailable
from onthedot.store.postgres import PostgresStore
from onthedot.store.postgres.database import Connection, PoolSettings, PostgresDatabase
from tests.races.stage import ALONE, PATIENCE_S, Gate, HeldDatabase
from tests.support.builders import a_job, a_node, claim, every, pause
from tests.support.clock import ManualClock
from tests.support.postgres import PostgresServer, a_server, drop_database, new_database, programs

LOCK = "select pg_advisory_xact_lock(7)"
TRY = "select pg_try_advisory_xact_lock(7)"
# More than the kernel keeps for somebody who does not read it.
MUCH = "select repeat('x', 100000), pg_sleep(0.001) from generate_series(1, 2000)"
FROZEN = PoolSettings(size=1, timeout_s=PATIENCE_S, still_s=0.3)


@asynccontextmanager
async def two_stores(
    server: PostgresServer,
) -> AsyncIterator[tuple[HeldDatabase, PostgresStore, PostgresStore]]:
    """One whose transactions can be held, and one that runs into them."""
    name = await new_database(server)
    async with AsyncExitStack() as stack:
        held = await HeldDatabase.open(server.url(name), FROZEN)
        free = await PostgresDatabase.open(server.url(name), ALONE)
        for database in (held, free):
            stack.push_async_callback(database.close)
        assert isinstance(held, HeldDatabase)
        yield held, PostgresStore(held), PostgresStore(free)
    await drop_database(server, name)


async def test_a_node_that_froze_while_it_beat_can_be_declared_dead(packaged):
    clock = ManualClock()
    async with two_stores(packaged) as (held, frozen, store):
        node = await a_node(store, clock)
        gate = held.gate = Gate(1)
        beating = asyncio.create_task(frozen.nodes.beat(node, now=clock.now()))
        await gate.reached.wait()
        later = clock.now() + 60 * SECOND

        dead: list[int] = []
        async with asyncio.timeout(PATIENCE_S):
            while not dead:
                dead = await store.nodes.declare_dead(silent_before=later, now=later)
        gate.open("commit")

        assert dead == [node]
        with pytest.raises(StoreUnavailable):
            await beating


async def test_claims_go_on_although_somebody_froze_while_it_paused_a_job(packaged):
    clock = ManualClock()
    async with two_stores(packaged) as (held, frozen, store):
        node = await a_node(store, clock)
        job = await a_job(store, clock, schedule=every(1))
        gate = held.gate = Gate(1)
        pausing = asyncio.create_task(pause(frozen, clock, job))
        await gate.reached.wait()
        clock.advance(SECOND)

        async with asyncio.timeout(PATIENCE_S):
            claimed = await claim(store, clock, node)
        gate.open("commit")

        assert {run.job for run in claimed} == {job.id}
        with pytest.raises(StoreUnavailable):
            await pausing


async def test_whoever_takes_nothing_of_its_answer_lets_go_of_its_locks():
    server = a_server(programs()[max(programs())], tcp=True)
    server.start()
    locked, free = threading.Event(), threading.Event()
    answers: list[object] = []

    async def freeze_while_the_answer_comes() -> None:
        frozen = await PostgresDatabase.open(server.url(), FROZEN)

        async def verb(db: Connection) -> object:
            await db.fetchval(LOCK)
            locked.set()
            asyncio.get_running_loop().call_later(0.1, free.wait, PATIENCE_S)
            return await db.fetch(MUCH)

        answers.extend(await asyncio.gather(frozen.transaction(verb), return_exceptions=True))
        await frozen.close()

    thread = threading.Thread(target=lambda: asyncio.run(freeze_while_the_answer_comes()))
    thread.start()
    store = await PostgresDatabase.open(server.url(), ALONE)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.to_thread(locked.wait)
        while not await store.value(TRY):
            pass
    free.set()
    await asyncio.to_thread(thread.join)
    await store.close()
    server.dispose()

    assert [type(answer) for answer in answers] == [StoreUnavailable]
