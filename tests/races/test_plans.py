"""A verb reads what it is about, whatever the planner was last told of the size of a table. Queues
are empty most of the time, and that is when it is told."""

from __future__ import annotations

import asyncpg
import pytest

from onthedot.core.model import Lanes, Outcome, RunRef
from onthedot.core.states import Status
from onthedot.store.postgres import open_store
from tests.support.builders import ALL_SHARDS, a_node
from tests.support.clock import ManualClock
from tests.support.postgres import drop_database, new_database

MANY, FEW = 3_000, 100
RUNS = (
    "insert into run (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence,"
    " owner) select n, n, 1, 'default|default|', 0, 5, 0, 0, 1, 0, 1, $1"
    " from generate_series(1, $2::bigint) n"
)
READ = (
    "select seq_tup_read + (select sum(idx_tup_read)::bigint from pg_stat_user_indexes i"
    " where i.relid = t.relid) from pg_stat_user_tables t where relname = 'run'"
)


async def ends(store, node, now):
    outcomes = [Outcome(n, n, 1, 1, Status.SUCCEEDED, now, now) for n in range(1, FEW + 1)]
    return (await store.runs.finish(node, outcomes, now=now)).accepted


async def failures(store, node, now):
    outcomes = [Outcome(n, n, 1, 1, Status.FAILED, now, now, "no") for n in range(1, FEW + 1)]
    return (await store.runs.finish(node, outcomes, now=now)).accepted


async def returns(store, node, now):
    return await store.runs.release(node, [RunRef(n, n, 1) for n in range(1, FEW + 1)], now=now)


async def looks(store, node, now):
    """Finds none, among runs that are all held."""
    peeked = await store.clock.peek(ALL_SHARDS, until=now, limit=FEW, queue=True)
    return FEW if peeked.free is False else 0


async def leases(store, node, now):
    return len(await store.runs.lease(node, Lanes(), limit=FEW, now=now))


@pytest.mark.parametrize("verb", [ends, failures, returns, leases])
async def test_a_verb_reads_only_its_own_runs_if_the_table_was_empty_when_it_was_last_looked_at(
    packaged, verb
):
    assert await rows_read(packaged, verb, ["delete from run", "analyze run"]) < MANY


async def test_none_is_found_in_the_queue_at_once_if_all_were_in_it_when_it_was_last_looked_at(
    packaged,
):
    before = ["analyze run", "delete from run", "vacuum run"]
    assert await rows_read(packaged, looks, before) < MANY


async def rows_read(packaged, verb, before):
    """By a verb, of so many runs that are there after `before`, which happens to as many others."""
    name, clock = await new_database(packaged), ManualClock()
    store = await open_store(packaged.url(name))
    node = await a_node(store, clock)
    connection = await asyncpg.connect(packaged.url(name))
    await connection.execute(RUNS, None if verb is looks else node, MANY)
    for statement in before:
        await connection.execute(statement)
    await connection.execute(RUNS, None if verb is leases else node, MANY)
    await connection.fetchval("select pg_stat_force_next_flush()")
    read = await connection.fetchval(READ)

    done = await verb(store, node, clock.now())
    await store.upkeep.close()  # what a session has counted is told when it ends

    assert done == FEW
    read = await connection.fetchval(READ) - read
    await connection.close()
    await drop_database(packaged, name)
    return read
