"""What a verb reads does not grow with the live runs of a job, or with its history: with 20,000 of
each, every verb that is told which runs it is about touches a few pages for each of them."""

from __future__ import annotations

import asyncpg
import pytest

from onthedot.core.model import Outcome, RunRef
from onthedot.core.states import Status
from onthedot.store.notes import RunNote
from onthedot.store.postgres import open_store
from onthedot.store.postgres.statements import SQL
from tests.races.conftest import INSTALLED, PACKAGED
from tests.support.builders import a_node
from tests.support.clock import ManualClock
from tests.support.postgres import drop_database, new_database, shared

MANY, FEW = 20_000, 50
PAGES_MAX = 40
"""For each run: rows that are written, and their indexes. To read through the runs of the job takes
more than 50 pages of the index, for each of them."""

JOB = 7
FILL = """
insert into run (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, owner)
select {job}, n, 1, 'default|default|', 0, 5, 0, 0, 1, 0, 1, {owner}
from generate_series(1, {many}) n;
insert into history (job, run, attempt, fence, version, status, due, finished, node, rescues)
select {job}, n, 1, 1, 1, 1, 0, 0, {owner}, 0 from generate_series({many} + 1, 2 * {many}) n;
insert into waiting (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence)
select {job}, n, 1, 'default|default|', 0, 5, 9e15, 9e15, 1, 0, 0
from generate_series(2 * {many} + 1, 3 * {many}) n;
"""
# A vacuum that happens to come by reads the tables too, and would be counted.
NO_VACUUM = """
do $$ declare name text; begin
  for name in select c.oid::regclass from pg_class c
    where c.relkind = 'r'
      and c.relname ~ '^(run|waiting|history.*|dead|signal|outbox|chain|log|memo)$'
  loop execute format('alter table %s set (autovacuum_enabled = off)', name); end loop;
end $$
"""
PAGES = """
select coalesce(sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit), 0)::bigint
from pg_statio_user_tables
where relname ~ '^(run|waiting|history.*|dead|signal|outbox|chain|log|memo)$'
"""


def outcomes(runs, status, now, retry_at=None):
    error = None if status is Status.SUCCEEDED else "no"
    return [Outcome(JOB, n, 1, 1, status, now, now, error, retry_at=retry_at) for n in runs]


async def successes(store, node, runs, now):
    ended = outcomes(runs, Status.SUCCEEDED, now)
    return (await store.runs.finish(node, ended, now=now)).accepted


async def failures(store, node, runs, now):
    ended = outcomes(runs, Status.FAILED, now)
    return (await store.runs.finish(node, ended, now=now)).accepted


async def retries(store, node, runs, now):
    ended = outcomes(runs, Status.FAILED, now, retry_at=now)
    return (await store.runs.finish(node, ended, now=now)).accepted


async def repeated_successes(store, node, runs, now):
    ended = outcomes([MANY + n for n in runs], Status.SUCCEEDED, now)
    return (await store.runs.finish(node, ended, now=now)).repeated


async def repeated_failures(store, node, runs, now):
    ended = outcomes([MANY + n for n in runs], Status.FAILED, now)
    return (await store.runs.finish(node, ended, now=now)).repeated


async def starts(store, node, runs, now):
    await store.runs.started(node, {RunRef(JOB, n, 1): now for n in runs})
    return FEW


async def notes(store, node, runs, now):
    return await store.notes.add(node, [RunNote(JOB, n, 1, 1, 1, now, "[]", "1") for n in runs])


async def cancels(store, node, runs, now):
    for n in runs:
        await store.runs.cancel(JOB, n, now=now)
    return FEW


async def ends_of_cancelled(store, node, runs, now):
    await cancels(store, node, runs, now)
    return await successes(store, node, runs, now)


async def releases(store, node, runs, now):
    return await store.runs.release(node, [RunRef(JOB, n, 1) for n in runs], now=now)


async def releases_of_cancelled(store, node, runs, now):
    await cancels(store, node, runs, now)
    return await releases(store, node, runs, now)


async def looks_for_what_was_made(store, node, runs, now):
    """What a claim does that made fewer runs than planned."""
    planned = [(JOB, n, 1, "default|default|", 0, 5, 0, 0, None, None) for n in runs]
    return len(await store.runs._database.rows(SQL["clock.made"], planned, node))


VERBS = [
    *(successes, failures, retries, repeated_successes, repeated_failures, starts, notes),
    *(cancels, ends_of_cancelled, releases, releases_of_cancelled, looks_for_what_was_made),
]


@pytest.mark.parametrize("major", [PACKAGED, *INSTALLED])
@pytest.mark.parametrize("planned_for", ["an empty table", "a full table"])
async def test_what_a_verb_reads_does_not_grow_with_the_runs_of_a_job(major, planned_for):
    server, clock = shared(major), ManualClock()
    name = await new_database(server)
    connection = await asyncpg.connect(server.url(name))
    store = await open_store(server.url(name))
    node = await a_node(store, clock)
    await store.upkeep.close()
    await connection.execute(NO_VACUUM)
    fill = FILL.format(job=JOB, owner=node, many=MANY)
    await connection.execute(fill)
    if planned_for == "an empty table":  # the planner sees many pages, and is told: no rows
        await connection.execute("delete from run; delete from waiting; delete from history")
        await connection.execute("analyze run; analyze waiting; analyze history")
        await connection.execute(fill)
    else:
        await connection.execute("analyze run; analyze waiting; analyze history")

    pages = {}
    for place, verb in enumerate(VERBS):
        runs = range(1 + place, MANY, MANY // FEW)
        before = await pages_touched(connection)
        store = await open_store(server.url(name))
        assert await verb(store, node, runs, clock.now()) == FEW
        await store.upkeep.close()  # what a session has counted is told when it ends
        pages[verb.__name__] = (await pages_touched(connection) - before) / FEW
    await connection.close()
    await drop_database(server, name)

    assert {verb: count for verb, count in pages.items() if count > PAGES_MAX} == {}


async def pages_touched(connection):
    await connection.execute("select pg_stat_force_next_flush()")
    await connection.execute("select pg_stat_clear_snapshot()")
    return await connection.fetchval(PAGES)
