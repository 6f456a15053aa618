"""Statements by chance, as functions could give them: what is ours stays as it is.

A failure prints the seed, which gives the same statements again: ONTHEDOT_HOSTILE_SEED=...
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from onthedot.errors import StatementFailed
from onthedot.store.sqlite import open_store, permitting
from onthedot.store.sqlite.completing import carry_out, query
from onthedot.store.sqlite.connecting import connect
from onthedot.store.sqlite.group_commit import WriteRequest, commit_group
from onthedot.store.transactions import Statement
from tests.hostile.form import LONG
from tests.hostile.sql_grammar import Grammar
from tests.support.builders import a_held_run, a_job, a_node, every
from tests.support.clock import ManualClock

SEED = int(os.environ.get("ONTHEDOT_HOSTILE_SEED", "0")) or int.from_bytes(os.urandom(4), "big")
STATEMENTS = 150_000 if LONG else 10_000
LOOK_EVERY = 5
PRAGMAS = (
    *(
        "writable_schema",
        "user_version",
        "foreign_keys",
        "journal_mode",
        "synchronous",
        "query_only",
    ),
    *("temp_store", "cache_size", "recursive_triggers", "defer_foreign_keys", "busy_timeout"),
    *("ignore_check_constraints", "max_page_count", "wal_autocheckpoint", "trusted_schema"),
    *("reverse_unordered_selects", "legacy_alter_table", "cell_size_check", "secure_delete"),
)
LIMITS = [getattr(sqlite3, name) for name in dir(sqlite3) if name.startswith("SQLITE_LIMIT_")]


@pytest.mark.timeout(900)
def test_no_statement_changes_what_is_ours(tmp_path, monkeypatch):
    # An endless one is to be broken off all the same, and soon, so that there is time for others.
    monkeypatch.setattr(permitting, "STEPS_MAX", 100_000)
    monkeypatch.chdir(tmp_path)
    print(f"ONTHEDOT_HOSTILE_SEED={SEED}")
    grammar, loop = Grammar(SEED), asyncio.new_event_loop()
    came_to: Counter[str] = Counter()
    with closing(a_connection(tmp_path)) as db, closing(loop):
        before, said = everything_of_ours(db), []
        for number in range(STATEMENTS):
            statement = Statement(grammar.statement())
            said.append(statement.sql)
            came_to[outcome(db, statement, loop, reads=number % 10 == 0)] += 1
            if number % LOOK_EVERY == 0:
                now = everything_of_ours(db)
                assert now == before, f"seed {SEED}, after one of {said[-LOOK_EVERY:]}"
            if number % 500 == 0:
                begin_anew(db)
        assert everything_of_ours(db) == before
        assert db.execute("pragma integrity_check").fetchall() == [("ok",)]
    print(came_to)
    assert came_to["done"] > STATEMENTS / 8, "the grammar hits nothing"
    assert came_to["refused"] > STATEMENTS / 8, "the grammar is harmless"
    assert {path.name for path in tmp_path.iterdir()} == {"onthedot.db"}, "it made other files"


def outcome(
    db: sqlite3.Connection, statement: Statement, loop: asyncio.AbstractEventLoop, *, reads: bool
) -> str:
    """In one transaction with somebody who has nothing to do with it."""

    def verb(connection: sqlite3.Connection) -> None:
        if reads:
            query(connection, statement)
        else:
            carry_out(connection, [Statement("insert into probe values (1)"), statement])

    hostile, innocent = WriteRequest(verb, loop), WriteRequest(count, loop)
    commit_group(db, [hostile, innocent])
    assert innocent.error is None, (statement, innocent.error)
    if hostile.error is None:
        return "done"
    assert isinstance(hostile.error, StatementFailed), (statement, hostile.error)
    return "refused" if "it may not" in hostile.error.message else "failed"


def count(db: sqlite3.Connection) -> int:
    return db.execute("update innocent set n = n + 1").rowcount


def a_connection(folder: Path) -> sqlite3.Connection:
    path = str(folder / "onthedot.db")
    asyncio.run(fill(path))
    db = connect(path)
    db.execute("pragma synchronous=off")
    db.execute("create table innocent (n integer)")
    db.execute("insert into innocent values (0)")
    db.execute("create table probe (n integer)")
    begin_anew(db)
    return db


async def fill(path: str) -> None:
    store, clock = await open_store(path), ManualClock()
    node = await a_node(store, clock)
    for number in range(3):
        await a_job(store, clock, name=f"job {number}", key=f"key {number}", schedule=every(60))
    await a_held_run(store, clock, node)
    await store.upkeep.close()


def begin_anew(db: sqlite3.Connection) -> None:
    """Now and then their tables are as they were, else there would be none left."""
    theirs = "select name from sqlite_schema where type = 'table' and name not glob 'sqlite_*'"
    for (name,) in db.execute(theirs).fetchall():
        if name.lower().encode() not in permitting.ours() and name not in ("innocent", "probe"):
            db.execute(f'drop table "{name}"')
    for name in ("mine", "yours", "t1"):
        db.execute(f"create table {name} (a integer primary key, b unique, c)")


def everything_of_ours(db: sqlite3.Connection) -> dict[str, Any]:
    """All of it, and all that decides what the connection does."""
    ours = permitting.ours()
    schema = db.execute("select type, name, tbl_name, sql from sqlite_schema").fetchall()
    tables = sorted(
        name
        for kind, name, _, _ in schema
        if kind == "table" and name.lower().encode() in ours and name != "sqlite_sequence"
    )
    sequences = "select name, seq from sqlite_sequence order by name"
    return {
        "schema": sorted(row for row in schema if row[2].lower().encode() in ours),
        "none of these": [row for row in schema if row[0] not in ("table", "index")][1:],
        "reserved": [row for row in schema if row[1].lower().startswith("onthedot_")],
        "content": [db.execute(f"select * from {name}").fetchall() for name in tables],
        "numbers": [row for row in db.execute(sequences) if row[0].lower().encode() in ours],
        "temp": db.execute("select * from temp.sqlite_schema").fetchall(),
        "databases": [row[1] for row in db.execute("pragma database_list")],
        "pragmas": [db.execute(f"pragma {name}").fetchall() for name in PRAGMAS],
        "limits": [db.getlimit(limit) for limit in LIMITS],
        "transaction": db.in_transaction,
        "factories": (db.row_factory, db.text_factory, db.isolation_level),
        # Past the steps at which a progress handler that was left behind would be asked.
        "progress": db.execute(
            "with recursive c(x) as (select 1 union all select x + 1 from c where x < 500)"
            " select count(*) from c"
        ).fetchone(),
    }


def test_a_fault_of_this_kind_is_found(tmp_path):
    """What was found once, without the authorizer: a table that hides one of ours."""
    with closing(a_connection(tmp_path)) as db:
        before = everything_of_ours(db)
        db.execute("create temp table Job as select * from main.job")

        assert everything_of_ours(db) != before


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_gives_the_same_statements_again(seed):
    one, other = Grammar(seed), Grammar(seed)

    assert [one.statement() for _ in range(200)] == [other.statement() for _ in range(200)]
