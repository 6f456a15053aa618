"""Numbers of runs that are no occurrences, where others have taken what was looked for first."""

from __future__ import annotations

import asyncpg
import pytest

from onthedot.core.instants import HOUR
from onthedot.core.model import NUMBER_MAX
from onthedot.store.postgres import open_store
from onthedot.store.values import EnqueueRequest
from tests.support.builders import a_job
from tests.support.clock import ManualClock
from tests.support.postgres import drop_database, new_database

TAKEN = {
    "run": "insert into run (job, run, version, lane, traits, priority, due, at, attempt, rescues,"
    " fence) select $1, $2::bigint << 10 | n, 1, 'default|default|', 0, 5, 0, 0, 1, 0, 0"
    " from generate_series(1, $3) n",
    "waiting": "insert into waiting (job, run, version, lane, traits, priority, due, at, attempt,"
    " rescues, fence) select $1, $2::bigint << 10 | n, 1, 'default|default|', 0, 5, 0, 0, 1, 0, 0"
    " from generate_series(1, $3) n",
    "history": "insert into history (job, run, attempt, fence, version, status, due, finished,"
    " node, rescues) select $1, $2::bigint << 10 | n, 1, 1, 1, 2, 0, 0, 1, 0"
    " from generate_series(1, $3) n",
}


@pytest.mark.parametrize("place", TAKEN)
async def test_a_number_that_is_taken_is_given_to_nobody_wherever_its_run_is(packaged, place):
    name, clock = await new_database(packaged), ManualClock()
    store = await open_store(packaged.url(name))
    job = await a_job(store, clock)
    asked = [
        EnqueueRequest(clock.now()),
        EnqueueRequest(clock.now() + HOUR),
        EnqueueRequest(clock.now()),
    ]
    connection = await asyncpg.connect(packaged.url(name))
    # The last microsecond of those that would be used first is full.
    await connection.execute(TAKEN[place], job.id, clock.now() + 2, NUMBER_MAX)

    made = await store.runs.enqueue_many(job.id, asked, now=clock.now())

    assert [run >> 10 for run in made.runs] == [clock.now() + after for after in (3, 4, 5)]
    await connection.close()
    await store.upkeep.close()
    await drop_database(packaged, name)
