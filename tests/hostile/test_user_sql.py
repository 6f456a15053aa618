"""What functions may and may not do with the file that onthedot keeps its own tables in."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from onthedot.errors import StatementFailed
from onthedot.store.sqlite import SqliteStore, open_store
from onthedot.store.sqlite.permitting import FUNCTIONS, RESERVED, ours
from onthedot.store.transactions import Statement
from tests.hostile.form import LONG
from tests.support.builders import a_held_run, a_job, a_node, ref, status_of
from tests.support.clock import ManualClock

# Functions of SQLite that functions of users may not call: they load code, hold addresses, say how
# it was built, or belong to modules that they cannot use.
UNWANTED = {
    *("bm25", "fts3_tokenizer", "fts5", "fts5_get_locale", "fts5_insttoken", "fts5_locale"),
    *("fts5_source_id", "highlight", "load_extension", "match", "matchinfo", "offsets", "optimize"),
    *("regexp", "rtreecheck", "rtreedepth", "rtreenode", "snippet", "sqlite_compileoption_get"),
    *("sqlite_compileoption_used", "sqlite_log", "sqlite_offset", "sqlite_source_id"),
    *("geopoly_area", "geopoly_bbox", "geopoly_blob", "geopoly_ccw", "geopoly_contains_point"),
    *("geopoly_debug", "geopoly_group_bbox", "geopoly_json", "geopoly_overlap", "geopoly_regular"),
    *("geopoly_svg", "geopoly_within", "geopoly_xform"),
}

COUNT = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 100)"


class Shop:
    """A store with a job of its own, and functions that end their runs with statements."""

    def __init__(self, store: SqliteStore, clock: ManualClock, node: int) -> None:
        self.store, self.clock, self.node = store, clock, node

    async def carry_out(self, *statements: str, many: Any = ((),)) -> None:
        run = await a_held_run(self.store, self.clock, self.node)
        try:
            await self.store.runs.complete(
                ref(run),
                run.attempt,
                [Statement(each, many) for each in statements],
                started=self.clock.now(),
                now=self.clock.now(),
            )
        except StatementFailed:
            assert ref(run) in await self.store.runs.owned(self.node)
            raise
        assert await status_of(self.store, self.clock, run) == "succeeded"

    async def read(self, sql: str) -> list[list[Any]]:
        return (await self.store.runs.query(Statement(sql))).rows


@pytest.fixture(params=["file", "memory"] if LONG else ["file"])
async def shop(request, tmp_path: Path) -> AsyncIterator[Shop]:
    path = str(tmp_path / "onthedot.db") if request.param == "file" else None
    store, clock = await open_store(path), ManualClock()
    shop = Shop(store, clock, await a_node(store, clock))
    await shop.carry_out("create table mine (id integer primary key autoincrement, x unique, y)")
    yield shop
    await store.upkeep.close()


@pytest.mark.parametrize(
    "statement",
    [
        # what was found
        "create temp table Job as select * from main.job",
        # the same, with other names for it
        *("create temp table mine2 (x)", "create temporary table t as select 1"),
        *("create table temp.job (x)", 'create table "TEMP"."JOB" (x)'),
        "create temp view job as select 1",
        "create temp trigger t after insert on job begin select 1; end",
        # ours, however they are spelt
        *("insert into Job default values", "delete from RUN", "update 'History' set status = 1"),
        *("update [shard] set horizon = 0", 'replace into "installation" values (1, 2)'),
        *(
            "drop table hIsToRy",
            "drop view LEDGER",
            "drop index Run_Free",
            "drop table if exists job",
        ),
        *("alter table Job add column x", "alter table job rename to mine2"),
        *("alter table main.JOB rename column name to x", "alter table job drop column name"),
        *("create index i on Job (name)", "create unique index i on RUN (job)", "reindex Job_Key"),
        *("create table if not exists Job (x)", "create table main.'run' (x)", "reindex"),
        "with job as (select 1) insert into job select 1, 2 from job",
        "insert into mine (x) select 1 returning (select 1) union select 1",
        # over ours
        "create view v as select * from job",
        "create trigger t after insert on mine begin delete from job; end",
        "create trigger t after insert on job begin delete from mine; end",
        "create trigger t after insert on mine begin select 1; end",
        # SQLite's own
        *("insert into sqlite_master values (1, 2, 3, 4, 5)", "delete from sqlite_schema"),
        *("update sqlite_sequence set seq = 0", "delete from Sqlite_Sequence", "analyze"),
        *(
            "analyze mine",
            "create table sqlite_stat1 (tbl, idx, stat)",
            "drop table sqlite_sequence",
        ),
        "update sqlite_master set sql = '' where name = 'mine'",
        # beyond the file, the connection, the transaction
        *("attach ':memory:' as other", "attach 'job.db' as job", "detach main", "vacuum"),
        *("vacuum into 'copy.db'", "pragma writable_schema = on", "pragma user_version = 9"),
        *("select * from pragma_table_info('job')", "select * from pragma_user_version"),
        *("begin", "commit", "end", "rollback", "savepoint x", "release verb", "rollback to verb"),
        *("/* */ commit", "-- x\n rollback", ";commit", "\ufeffcommit", "explain commit; commit"),
        # what loads code, or holds an address
        *("select load_extension('x')", "select fts3_tokenizer('simple', x'4141414141414141')"),
        *(
            "create virtual table v using fts5(x)",
            "create virtual table temp.v using rtree(a, b, c)",
        ),
        *("select * from sqlite_dbpage", "update dbstat set name = 1", "select sqlite_log(1, 'x')"),
        # later versions may need these
        *("create table onthedot_later (x)", "create table OnTheDot_later (x)"),
        # too much
        "select hex(randomblob(600000))",
        "insert into mine (x) values (zeroblob(2000000))",
        "select replace(hex(zeroblob(400000)), '00', 'xxxxx')",
        f"{COUNT} select group_concat(hex(zeroblob(10000)), '') from c",
        # nothing that SQLite could carry out
        *("select 1; select 2", "nonsense", "select 'x", "insert into mine (x) values (?, ?)"),
        "select " + "(" * 2_000 + "1" + ")" * 2_000,
    ],
)
async def test_it_is_refused_and_nothing_is_changed(shop, statement):
    with pytest.raises(StatementFailed) as refused:
        await shop.carry_out("insert into mine (x) values ('before')", statement)

    assert "in: " in refused.value.message
    assert await shop.read("select * from mine") == []
    job = await a_job(shop.store, shop.clock, name="still here")
    assert (await shop.store.jobs.get(job.id)).definition.name == "still here"


@pytest.mark.parametrize(
    "statements",
    [
        ["insert into mine (x, y) values (1, 2) on conflict (x) do update set y = excluded.y"],
        ["insert into mine (x) values (1) returning id", "delete from mine returning *"],
        ["create table other as select * from mine", "drop table other"],
        ["create table o (x text primary key, y integer check (y > 0)) strict, without rowid"],
        ["create unique index mine_y on mine (lower(y)) where y is not null", "drop index mine_y"],
        ["alter table mine add column z integer not null default 3 check (z > 0)"],
        ["alter table mine rename column y to why", "alter table mine drop column why"],
        ["alter table mine rename to yours", "insert into yours (x) values (9)"],
        ["insert into mine (x) values (9)", "drop table mine"],
        ["create table g (a, b generated always as (a * 2) stored)", "insert into g values (4)"],
        ["create table child (m references mine (id) on delete cascade, r references run (run))"],
        [f"{COUNT} insert into mine (x) select x from c"],
        ["insert into mine (x, y) select count(*), max(name) from JOB"],
        ["insert into mine (x, y) select key, value ->> '$' from json_each('[1, 2]')"],
        ["insert into mine (x) select row_number() over (order by id) from job"],
        ["select strftime('%Y', 'now'), abs(-1), round(sqrt(2), 2), json_object('a', 1)"],
        ["reindex mine"],
        ["create table 日本 (é)", "insert into 日本 values (1)", "drop table 日本"],
    ],
)  # fmt: skip
async def test_what_is_their_own_they_may_change_as_they_like(shop, statements):
    [[before]] = await shop.read("select count(*) from history")

    await shop.carry_out(*statements)

    assert await shop.read("select count(*) from history") == [[before + 1]]


async def test_ours_can_be_read_and_what_is_read_is_not_written(shop):
    assert await shop.read("select count(*) from Job") == [[1]]
    assert await shop.read("select status from ledger") == [["succeeded"]]
    assert (await shop.read("select count(*) from sqlite_schema"))[0][0] > 20
    for statement in ("insert into mine (x) values (1)", "create table t (x)", "drop table mine"):
        with pytest.raises(StatementFailed):
            await shop.read(statement)
    with pytest.raises(StatementFailed, match="more than 10000 rows, or 16 MB"):
        await shop.read(f"{COUNT} select hex(zeroblob(200000)) from c")


async def test_what_takes_too_long_or_too_much_is_broken_off(shop):
    endless = "with recursive c(x) as (select 1 union all select x + 1 from c)"
    for statement, why in (
        (f"{endless} insert into mine (y) select x from c where x < 0", "it takes too long"),
        (
            f"{endless} insert into mine (y) select hex(randomblob(400000)) from c where x < 0",
            "long",
        ),
        (f"{endless} select randomblob(900000) as r from c order by r", "256 MB"),
    ):
        with pytest.raises(StatementFailed, match=why):
            await shop.carry_out(statement)
    await shop.carry_out("insert into mine (x) values (1)")


async def test_those_who_are_in_one_group_with_a_hostile_one_are_kept(tmp_path):
    store, clock = await open_store(str(tmp_path / "onthedot.db")), ManualClock()
    shop = Shop(store, clock, await a_node(store, clock))
    run = await a_held_run(store, clock, shop.node)
    values = {"started": clock.now(), "now": clock.now()}
    hostile = [Statement("create table mine (x primary key)")]
    hostile += [Statement("insert or rollback into mine values (1), (1)")]

    answers = await asyncio.gather(
        *(a_job(store, clock, name=f"before {n}") for n in range(20)),
        store.runs.complete(ref(run), run.attempt, hostile, **values),
        *(a_job(store, clock, name=f"after {n}") for n in range(20)),
        return_exceptions=True,
    )

    [refused] = [each for each in answers if isinstance(each, BaseException)]
    assert isinstance(refused, StatementFailed)
    assert "UNIQUE constraint failed: mine.x" in refused.message
    names = {job.definition.name for job in await store.jobs.page(before=None, limit=99)}
    assert len(names) == 41
    assert await store.runs.owned(shop.node) == [ref(run)]
    await store.upkeep.close()


def test_every_function_of_sqlite_is_allowed_or_known_to_be_unwanted():
    with closing(sqlite3.connect(":memory:")) as db:
        there = {name for (name,) in db.execute("select name from pragma_function_list")}

    assert there - {name.decode() for name in FUNCTIONS} - UNWANTED == set()
    assert not UNWANTED & {name.decode() for name in FUNCTIONS}


def test_ours_are_all_that_a_new_file_holds():
    assert {b"job", b"run", b"history", b"ledger", b"run_free", b"sqlite_sequence"} <= ours()
    assert [name for name in ours() if name.startswith(RESERVED)] == [b"onthedot_schema"]
