"""Functions whose writes are committed together with their runs, in real runner processes."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.integration.test_server_kit import Stage
from tests.support.postgres import new_database, programs, shared
from tests.support.receiver import Receiver
from tests.support.server import Server

APP = """
import asyncio, os, signal
from onthedot import App, Context

app = App()
once = dict(guarantee="exactly_once", retries=1, backoff={"initial": 0.1})
WRITE = "insert into note (word) values ($1)"


@app.job(name="install", guarantee="exactly_once")
async def install(ctx):
    async with ctx.transaction() as db:
        await db.execute("create table if not exists note (word text)")


@app.job(name="write", **once)
async def write(ctx: Context, word: str):
    async with ctx.transaction() as db:
        await db.execute(WRITE, word)
        await db.executemany(WRITE, [(word + "!",), (word + "?",)])
        rows = await db.fetch("select word as w from note where word = $1", "before")
        assert [row["w"] for row in rows] == ["before"], rows
        assert (await db.fetchrow("select 1, 2"))[1] == 2
        assert await db.fetchval("select count(*) from note where word = $1", "nobody") == 0


@app.job(name="before", **once)
async def before(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute(WRITE, "before")


@app.job(name="raises_inside", **once)
async def raises_inside(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute(WRITE, "inside")
        raise LookupError("no such customer")


@app.job(name="raises_after", **once)
async def raises_after(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute(WRITE, "after")
    raise LookupError("too late")


@app.job(name="wrong", **once)
async def wrong(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute(WRITE, "wrong")
        await db.execute("insert into nowhere values (1)")


@app.job(name="ends", **once)
async def ends(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute(WRITE, "ends")
        await db.execute("commit")


@app.job(name="unused", **once)
async def unused(ctx: Context):
    return "nothing was written"


@app.job(name="twice", guarantee="exactly_once", retries=0)
async def twice(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute(WRITE, "first")
    async with ctx.transaction() as db:
        await db.execute(WRITE, "second")


@app.job(name="dies_after", **once)
async def dies_after(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute(WRITE, "died")
    os.kill(os.getpid(), signal.SIGKILL)


@app.job(name="plain")
async def plain(ctx: Context):
    async with ctx.transaction():
        pass


@app.job(name="blocking", guarantee="exactly_once", retries=0)
def blocking(ctx: Context):
    with ctx.transaction():
        pass
"""


@dataclass
class Shop(Stage):
    notes: Callable[[], Counter[str]] = Counter

    def ended(self, name: str, **payload: Any) -> dict[str, Any]:
        [job] = self.rest.get("/v1/jobs", key=name).json["jobs"]
        return self.over(self.trigger(job, payload=payload), within_s=30)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shop(request, tmp_path_factory, receiver: Receiver) -> Iterator[Shop]:
    tmp_path: Path = tmp_path_factory.mktemp("shop")
    (tmp_path / "shop.py").write_text(APP)
    url = None
    if request.param == "postgresql":
        postgres = shared(max(programs()))
        url = postgres.url(asyncio.run(new_database(postgres)))

    def notes() -> Counter[str]:
        read = "select word from note"
        if url is not None:
            with psycopg.connect(url) as database:
                return Counter(word for (word,) in database.execute(read))
        path = f"file:{tmp_path / 'onthedot.db'}?mode=ro"
        with contextlib.closing(sqlite3.connect(path, uri=True)) as file:
            return Counter(word for (word,) in file.execute(read))

    options = ("--app", "shop:app", "--runners", "1")
    with Server(tmp_path, options=options, url=url) as server:
        shop = Shop(server, receiver, notes=notes)
        assert shop.ended("install")["status"] == "succeeded"
        yield shop


def test_what_a_function_writes_is_there_if_and_only_if_its_run_succeeded(shop):
    assert shop.ended("before")["status"] == "succeeded"
    written = shop.ended("write", word="x")
    assert (written["status"], written["error"]) == ("succeeded", None)
    assert shop.notes() == Counter(["before", "x", "x!", "x?"])

    inside = shop.ended("raises_inside")
    assert (inside["status"], inside["attempt"]) == ("failed", 2)
    assert "no such customer" in inside["error"]
    wrong = shop.ended("wrong")
    assert wrong["status"] == "failed"
    assert "nowhere" in wrong["error"]
    assert shop.notes() == Counter(["before", "x", "x!", "x?"])


def test_what_comes_after_the_commit_changes_nothing(shop):
    after, died = shop.ended("raises_after"), shop.ended("dies_after")

    assert [(run["status"], run["attempt"]) for run in (after, died)] == [("succeeded", 1)] * 2
    assert (shop.notes()["after"], shop.notes()["died"]) == (1, 1)
    again = shop.ended("before")  # the runner that died has a successor
    assert again["status"] == "succeeded"


def test_a_transaction_that_is_not_used_as_it_must_be_fails_the_run(shop):
    unused, plain, blocking = (shop.ended(each) for each in ("unused", "plain", "blocking"))
    ends = shop.ended("ends")

    assert "without having used ctx.transaction()" in unused["error"]
    assert "has no transaction" in plain["error"]
    assert "needs an event loop" in blocking["error"]
    assert ends["status"] == "failed"
    twice = shop.ended("twice")
    assert (twice["status"], twice["error"]) == ("succeeded", None)
    assert (shop.notes()["first"], shop.notes()["second"]) == (1, 0)
    assert "commit" in ends["error"] or "ended inside its block" in ends["error"]
