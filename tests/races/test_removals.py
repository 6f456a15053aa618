"""Each lock, predicate and raise on which the races rest is needed: without it, the matrix turns
red. The text is taken out of a copy of the database, or of the statement, and must be there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import asyncpg
import pytest

from onthedot.store.postgres.statements import SQL
from tests.races.matrix import row_of_the_matrix
from tests.races.stage import Stage
from tests.races.verbs import VERBS
from tests.races.world import World, get_world
from tests.support.postgres import PostgresServer, bare_database, drop_database

DEFINITION = "select pg_get_functiondef(oid) from pg_proc where proname = $1"


@dataclass(frozen=True, kw_only=True)
class Removal:
    """`where`: a function of the database, or the name of a statement (with a dot). `row`: the
    verb that is held and the world, where its lack shows as `fault`."""

    what: str
    where: str
    text: str
    instead: str = ""
    row: tuple[str, str]
    fault: str


REMOVALS = (
    Removal(
        what="the shard's lock of a claim",
        where="fire",
        text="perform from shard where id = any(shards_) order by id for update;",
        row=("split", "behind"),
        fault="stranded in a far slot",
    ),
    Removal(
        what="the shard's lock of a change",
        where="jobs.lock_shard",
        text="where id = $1\nfor share",
        instead="where id = $1",
        row=("fire", "held"),
        fault="has 2 fates",
    ),
    Removal(
        what="the shard's lock of a split",
        where="split",
        text=" order by id for update loop",
        instead=" order by id loop",
        row=("fire", "behind"),
        fault="stranded in a far slot",
    ),
    Removal(
        what="the raise on a cut that the plan did not know",
        where="require_known_cuts",
        text="if n <> known_cuts then",
        instead="if false then",
        row=("delete", "held"),
        fault="was not told that its job is gone",
    ),
    Removal(
        what="the look of a claim at live runs",
        where="fire_others",
        text="case when versions_ended",
        instead="case when false",
        row=("finish", "twice"),
        fault="is in 2 places",
    ),
    Removal(
        what="the node's key share",
        where="require_alive",
        text=" for key share",
        row=("fire", "held"),
        fault="committed after the death of its node",
    ),
    Removal(
        what="the lock of a burial",
        where="nodes.declare_dead",
        text="for update skip locked",
        row=("lease", "free"),
        fault="committed after the death of its node",
    ),
    Removal(
        what="the lock of a farewell",
        where="nodes.leave",
        text="for update",
        row=("finish", "held"),
        fault="committed after the death of its node",
    ),
    Removal(
        what="the fence in a success",
        where="succeed",
        text="and run.fence = g.fence",
        row=("beat", "held"),
        fault="has the run with fence",
    ),
    Removal(
        what="the fence in the completion of a transaction",
        where="complete",
        text="if n is distinct from 1 then",
        instead="if false then",
        row=("finish", "held"),
        fault="outcomes of one attempt were accepted",
    ),
    Removal(
        what="the row locks of the finish",
        where="lock_held",
        text="    for update\n",
        row=("started", "held"),
        fault="is in 2 places",
    ),
    Removal(
        what="the share of a note in the run",
        where="note",
        text=" for share",
        row=("release", "held"),
        fault="a note was accepted after its hold had ended",
    ),
    Removal(
        what="the lock of a redrive on the letter",
        where="redrive_dead_letters",
        text="    for update\n",
        row=("redrive", "dead"),
        fault="an error that the contract does not know",
    ),
    Removal(
        what="the number of the try in a settlement",
        where="outbox.delivered",
        text="tries = $3",
        instead="tries >= 0 * $3",
        row=("take notices", "dead"),
        fault="and taken by somebody else",
    ),
    Removal(
        what="the locks of a delete on live runs",
        where="end_runs_of",
        text="(select from run where job = job_ for update)",
        instead="(select from run where job = job_)",
        row=("retry", "held"),
        fault="waits, but its job is gone",
    ),
    Removal(
        what="the locks of a delete on waiting runs",
        where="end_runs_of",
        text="(select from waiting where job = job_ for update)",
        instead="(select from waiting where job = job_)",
        row=("promote", "waiting"),
        fault="was not told that its job is gone",
    ),
    Removal(
        what="the job's key share of an enqueue",
        where="enqueue_many",
        text=" for key share",
        row=("delete", "held"),
        fault="is left behind by its job",
    ),
    Removal(
        what="the job's lock of a change",
        where="jobs.lock",
        text="for update",
        row=("edit", "held"),
        fault="an error that the contract does not know",
    ),
    Removal(
        what="the shard's lock while entries are made again for a zone",
        where="jobs.lock_shard",
        text="where id = $1\nfor share",
        instead="where id = $1",
        row=("remake", "zoned"),
        fault="stranded in a far slot",
    ),
    Removal(
        what="the jobs' locks while entries are made again for a zone",
        where="jobs.lock",
        text="for update",
        row=("remake", "zoned"),
        fault="an error that the contract does not know",
    ),
    Removal(
        what="the job's lock while it takes a calendar over",
        where="jobs.lock",
        text="for update",
        row=("follow", "held"),
        fault="an error that the contract does not know",
    ),
    Removal(
        what="the lock on a one-off that is forgotten",
        where="forget_one_offs",
        text="    for update of j skip locked\n",
        row=("enqueue", "spent"),
        fault="is left behind by its job",
    ),
    Removal(
        what="the next link after the end of the last",
        where="after_end",
        text="return advance_chains(ended_);",
        instead="return null;",
        row=("beat", "link"),
        fault="is over, and nobody goes on",
    ),
    Removal(
        what="the end of a chain with its job",
        where="end_runs_of",
        text="delete from chain where job = job_;",
        row=("beat", "link"),
        fault="is left behind",
    ),
    Removal(
        what="the lock of a cancel",
        where="runs.lock",
        text="for update",
        row=("lease", "free"),
        fault="was cancelled, but goes on",
    ),
)


@pytest.mark.parametrize("removal", REMOVALS, ids=lambda each: each.what.replace(" ", "-"))
async def test_the_matrix_turns_red_without_it(packaged, monkeypatch, removal):
    world = await a_copy(packaged, await get_world(packaged, removal.row[1]))
    url = packaged.url(world.database)
    if "." in removal.where:
        monkeypatch.setitem(SQL, removal.where, without(removal, SQL[removal.where]))
    else:
        await take_out(removal, url)
    [first] = [verb for verb in VERBS if verb.name == removal.row[0]]

    async with Stage.of(world, url) as stage:
        found = await row_of_the_matrix(stage, first, rolling_back=False)
    await drop_database(packaged, world.database)

    assert any(removal.fault in fault for fault in found), "\n".join(["", *found])


async def a_copy(server: PostgresServer, world: World) -> World:
    return replace(world, database=await bare_database(server, template=world.database))


async def take_out(removal: Removal, url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        [definition] = await connection.fetch(DEFINITION, removal.where)
        await connection.execute(without(removal, definition[0]))
    finally:
        await connection.close()


def without(removal: Removal, source: str) -> str:
    assert source.count(removal.text) == 1, f"{removal.where} has no such place: {removal.text}"
    return source.replace(removal.text, removal.instead)
