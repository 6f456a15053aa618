"""What functions may do to their transaction and their session on PostgreSQL, and a role that may
do nothing to what is ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from onthedot.core.states import Status
from onthedot.errors import StatementFailed
from onthedot.store.contract import Store
from onthedot.store.postgres import open_store
from onthedot.store.postgres.transacting import PostgresTransactions
from onthedot.store.transactions import Claim
from tests.hostile.form import LONG
from tests.integration.test_server_kit import Stage
from tests.support.builders import a_held_run, a_node, status_of
from tests.support.clock import ManualClock
from tests.support.postgres import new_database, programs, shared
from tests.support.receiver import Receiver
from tests.support.server import ONTHEDOT, Server, clean_environment

WRITE = "insert into mine values (1)"
ROLE = "shop"
COMPLETE = (
    "function shop.complete(bigint, bigint, int, int, bigint, bigint) returns void"
    " language sql as ''"
)


@dataclass
class Shop:
    store: Store
    clock: ManualClock
    node: int
    url: str
    transactions: PostgresTransactions

    async def run(self, *statements: str, swallow: bool = False) -> Status:
        """A run whose function says this; what became of it."""
        held = await a_held_run(self.store, self.clock, self.node)
        claim = Claim(held.job, held.run, held.attempt, held.fence, self.clock.now())
        async with self.transactions.open(claim) as connection:
            for statement in statements:
                with contextlib.suppress(*[asyncpg.PostgresError] * swallow):
                    await connection.execute(statement)
        return await status_of(self.store, self.clock, held)

    async def ask(self, statement: str) -> Any:
        connection = await asyncpg.connect(self.url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    async def written(self) -> int:
        return int(await self.ask("select count(*) from public.mine"))


@pytest.fixture(params=programs() if LONG else [max(programs())])
async def shop(request) -> AsyncIterator[Shop]:
    server = shared(request.param)
    url = server.url(await new_database(server))
    store, clock = await open_store(url), ManualClock()
    shop = Shop(store, clock, await a_node(store, clock), url, PostgresTransactions(url))
    await shop.run("create table mine (x int)")
    yield shop
    await shop.transactions.close()
    await store.upkeep.close()


@pytest.mark.parametrize(
    "statements",
    [
        ["create temp table run (like run including all)"],
        ["create temp table outcome (x int)", "create temp table history (x int)"],
        ["create temp view node as select 1 as id"],
        ["create schema shop", "create table shop.run (like run)", "set search_path = shop"],
        ["create schema shop", f"create {COMPLETE}", "set search_path = shop"],
        ["set local search_path = pg_catalog"],
        ["create role nobody_here", "set role nobody_here", "reset role"],
        ["do $$ begin create role nobody_else; exception when others then null; end $$"],
        ["set role pg_monitor"],
        ["set session authorization pg_monitor"],
        ["set local statement_timeout = 1", "set lock_timeout = 1"],
        ["set session_replication_role = replica", "set default_transaction_read_only = on"],
        ["select pg_advisory_lock(1)", "listen onthedot", "prepare p as select 1"],
        ["declare c cursor with hold for select 1", "savepoint x", "release x"],
        ["create temp table t (x int)", "declare c cursor for select * from t", "fetch c"],
    ],
)  # fmt: skip
async def test_whatever_it_does_to_its_session_the_run_is_completed_and_the_next_one_is_untouched(
    shop, statements
):
    named = [each for each in statements if "role nobody" in each]
    assert await shop.run(WRITE, *statements) is Status.SUCCEEDED
    assert await shop.written() == 1

    assert await shop.run(WRITE) is Status.SUCCEEDED
    assert await shop.written() == 2
    assert await shop.ask("select count(*) from public.history where status = 1") == 3
    async with shop.transactions._acquired() as connection:
        left = await connection.fetchrow(
            "select current_setting('search_path'), current_user = session_user,"
            " current_setting('statement_timeout'), pg_my_temp_schema() = 0"
            " or not exists (select from pg_class where relnamespace = pg_my_temp_schema()),"
            " (select count(*) from pg_locks"
            " where locktype = 'advisory' and pid = pg_backend_pid()),"
            " (select count(*) from pg_listening_channels()),"
            " (select count(*) from pg_prepared_statements where from_sql),"
            " (select count(*) from pg_cursors where is_holdable)"
        )
    assert tuple(left) == ('"$user", public', True, "0", True, 0, 0, 0, 0)
    for role in ("nobody_here", "nobody_else") if named else ():
        await shop.ask(f"drop role if exists {role}")


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (["commit"], "ended inside its block"),
        (["rollback"], "ended inside its block"),
        (["commit", "begin"], "ended inside its block"),
        (["rollback", "begin", WRITE], "ended inside its block"),
        (["commit and chain"], "ended inside its block"),
        (["set transaction read only"], "made read-only inside the block"),
        (["nonsense"], "a statement in the block failed, and its error was caught"),
        (["select 1 / 0"], "a statement in the block failed, and its error was caught"),
    ],
)
async def test_a_transaction_that_is_not_the_functions_own_any_more_completes_nothing(
    shop, statements, why
):
    with pytest.raises(StatementFailed, match=why):
        await shop.run(*statements, swallow=True)

    assert len(await shop.store.runs.owned(shop.node)) == 1
    assert await shop.ask("select count(*) from history where status = 1") == 1


# A role of their own


async def grant(shop: Shop) -> str:
    """The URL by which the role comes in."""
    with contextlib.suppress(asyncpg.PostgresError):
        await shop.ask(f"create role {ROLE} login password 'shop'")
    done = await asyncio.to_thread(onthedot, "db", "grant", ROLE, "--database", shop.url)
    assert done.returncode == 0, done.stderr
    await shop.ask(f"create schema {ROLE} authorization {ROLE}")
    return as_role(shop.url)


def as_role(url: str) -> str:
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{ROLE}:shop@{place}"))


def onthedot(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ONTHEDOT), *words],
        capture_output=True,
        text=True,
        check=False,
        env=clean_environment(),
    )


async def test_a_role_of_their_own_completes_runs_and_can_do_nothing_else_to_what_is_ours(shop):
    url = await grant(shop)
    theirs = Shop(shop.store, shop.clock, shop.node, url, PostgresTransactions(url))

    assert await theirs.run("create table shop.note (x int)") is Status.SUCCEEDED
    assert await theirs.run("insert into shop.note values (1)") is Status.SUCCEEDED
    assert await theirs.ask("select count(*) from shop.note") == 1
    tables = "select tablename from pg_tables where schemaname = 'public'"
    names = [name for (name,) in await everything(shop.url, tables) if name != "mine"]
    assert len(names) > 20
    for name in names:
        for statement in (f"delete from {name}", f"select * from {name}", f"drop table {name}"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await theirs.ask(f"{statement}")
    for statement in (
        "select begin_anew()",
        "select rescue(10, 1)",
        "select finish(1, '{}')",
        f"create or replace {COMPLETE.replace('shop', 'public')}",
        "create table public.run2 (x int)",
        "select payload from run",
    ):
        with pytest.raises(asyncpg.PostgresError):
            await theirs.ask(statement)
    for hiding in ("table shop.run (x int)", "type shop.outcome as (x int)", COMPLETE):
        assert await theirs.run(f"create {hiding}") is Status.SUCCEEDED
    assert await theirs.run("select 1") is Status.SUCCEEDED
    await theirs.transactions.close()


async def everything(url: str, statement: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        return list(await connection.fetch(statement))
    finally:
        await connection.close()


async def test_granting_says_what_is_missing(shop):
    nobody = await asyncio.to_thread(onthedot, "db", "grant", "nobody", "--database", shop.url)
    on_a_file = await asyncio.to_thread(
        onthedot, "db", "grant", "x", "--database", "sqlite:///x.db"
    )

    assert nobody.returncode == 1
    assert "there is no role 'nobody'" in nobody.stderr
    assert "create role nobody login" in nobody.stderr
    assert on_a_file.returncode == 1
    assert "an SQLite file has no roles" in on_a_file.stderr


APP = """
import os
from onthedot import App, Context

app = App()


@app.job(name="who", guarantee="exactly_once", retries=0)
async def who(ctx: Context):
    said = os.environ.get("ONTHEDOT_DATABASE", "nothing")
    async with ctx.transaction() as db:
        await db.execute("create table shop.who (name text, said text)")
        await db.execute("insert into shop.who values (current_user, $1)", said)


@app.job(name="harm", guarantee="exactly_once", retries=0)
async def harm(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute("delete from history")
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Stage, str]]:
    (tmp_path / "shop.py").write_text(APP)
    server = shared(max(programs()))
    url = server.url(asyncio.run(new_database(server)))
    asyncio.run(prepare(url))
    environment = {"ONTHEDOT_DATABASE": url, "ONTHEDOT_FUNCTIONS_DATABASE": as_role(url)}
    options = ("--app", "shop:app", "--runners", "1")
    with (
        Receiver() as receiver,
        Server(tmp_path, options=options, url=url, environment=environment) as running,
    ):
        yield Stage(running, receiver), url


async def prepare(url: str) -> None:
    store = await open_store(url)
    try:
        await grant(Shop(store, ManualClock(), 0, url, PostgresTransactions(url)))
    finally:
        await store.upkeep.close()


def test_a_server_lets_its_functions_write_as_the_role_that_is_set(place):
    stage, url = place
    jobs = {job["key"]: job for job in stage.rest.get("/v1/jobs").json["jobs"]}

    who = stage.over(stage.trigger(jobs["who"]), within_s=30)
    harm = stage.over(stage.trigger(jobs["harm"]), within_s=30)

    assert (who["status"], who["error"]) == ("succeeded", None)
    [row] = asyncio.run(everything(url, "select name, said from shop.who"))
    assert tuple(row) == (ROLE, "nothing"), "the server's own address is not for functions"
    assert harm["status"] == "failed"
    assert "permission denied for table history" in harm["error"]
    assert stage.run(who["runId"])["status"] == "succeeded"
