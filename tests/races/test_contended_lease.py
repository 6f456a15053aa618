"""Two nodes lease from one backlog: the one that comes second takes what lies behind, at the same
cost. It once compared every run that the other had taken with every position it had looked at."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import asyncpg
import pytest

from onthedot.core.model import Lanes
from onthedot.store.postgres import open_store
from tests.races.conftest import INSTALLED, PACKAGED
from tests.support.builders import a_node
from tests.support.clock import ManualClock
from tests.support.postgres import drop_database, new_database, shared

FEW, MANY = 2_000, 16_000
# Eight times the runs cost eight times as much, or, with such a comparison, 64 times.
TIMES_MAX = 24
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
BACKLOG = """
insert into run (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence)
select n, n, 1, 'default|default|', 0, 5, 0, 0, 1, 0, 0 from generate_series(1, $1::integer) n
"""
# A lease asks this after it has its snapshot and before it locks anything.
PAUSE = """
create or replace function is_taken_by(lane text, queues_ text[], functions_ text[])
returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(42);
  return true;
end $$
"""
TAKE = """
update run set owner = $1, fence = fence + 1
where (job, run) in (select job, run from run where owner is null order by job limit $2)
"""
PAUSED = "select pid from pg_locks where locktype = 'advisory' and not granted"


@pytest.mark.parametrize("major", [PACKAGED, *INSTALLED])
async def test_a_lease_that_meets_another_costs_in_proportion_to_what_it_takes(major):
    few = max([await contended(major, FEW) for _ in range(3)])

    assert await contended(major, MANY) < TIMES_MAX * max(few, 2 * TICK_S)


async def contended(major: int, many: int) -> float:
    """Processor time of a lease that finds all it has seen taken: other work does not count."""
    server, clock = shared(major), ManualClock()
    name = await new_database(server)
    store = await open_store(server.url(name))
    connection = await asyncpg.connect(server.url(name))
    first, second = await a_node(store, clock), await a_node(store, clock)
    await connection.execute(BACKLOG, 2 * many)
    await connection.execute(PAUSE)
    await connection.execute("select pg_advisory_lock(42)")

    leasing = asyncio.create_task(
        store.runs.lease(second, Lanes(), limit=many, now=clock.now()), name="second"
    )
    paused = 0
    for _ in range(1_000):
        if paused := await connection.fetchval(PAUSED) or 0:
            break
        await asyncio.sleep(0.01)
    await connection.execute(TAKE, first, many)  # all that the second has seen as the first ones
    before = processor_s(paused)
    await connection.execute("select pg_advisory_unlock(42)")
    leased = await leasing
    took = processor_s(paused) - before

    await store.upkeep.close()
    await connection.close()
    await drop_database(server, name)
    assert len(leased) == many
    return took


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S
