"""Nodes that reach for the same backlog at the same moment share it; they do not queue for it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from onthedot.store.postgres import PostgresStore
from onthedot.store.postgres.database import PostgresDatabase
from tests.races.stage import ALONE, Gate, HeldDatabase
from tests.support.builders import a_node, lease, some_runs
from tests.support.clock import ManualClock
from tests.support.postgres import drop_database, new_database


async def test_who_finds_the_first_runs_taken_looks_further_down_the_queue(packaged):
    name, clock = await new_database(packaged), ManualClock()
    async with AsyncExitStack() as stack:
        held = await HeldDatabase.open(packaged.url(name), ALONE)
        free = await PostgresDatabase.open(packaged.url(name), ALONE)
        for database in (held, free):
            stack.push_async_callback(database.close)
        store = PostgresStore(free)
        first, second = await a_node(store, clock), await a_node(store, clock)
        await some_runs(store, clock, 4)

        assert isinstance(held, HeldDatabase)
        gate = held.gate = Gate(1)
        leasing = asyncio.create_task(lease(PostgresStore(held), clock, first, limit=2))
        await gate.reached.wait()
        others = await lease(store, clock, second, limit=2)
        gate.open("commit")
        mine = await leasing

        assert (len(mine), len(others)) == (2, 2)
        assert {run.run for run in mine}.isdisjoint(run.run for run in others)
    await drop_database(packaged, name)
