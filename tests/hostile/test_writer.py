"""No statement, and no exception of a verb, ends what others need; and if it ends all the same, it
is said, nobody waits for it, and the process goes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from onthedot.errors import StoreError, StoreUnavailable
from onthedot.sdk.background import Background
from onthedot.store.sqlite import open_store
from onthedot.store.sqlite.database import FileDatabase
from tests.integration.test_server_kit import QUICK, Stage
from tests.support.receiver import Receiver
from tests.support.rest import NoAnswer, eventually
from tests.support.server import Server

APP = """
import asyncio, pathlib
from onthedot import App, Context

app = App()
once = dict(guarantee="exactly_once", retries=1, backoff={"initial": 0.1})


@app.job(name="ends", **once)
async def ends(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute("create table if not exists mine (x primary key)")
        await db.execute("insert or rollback into mine values (1)")
        await db.execute("insert or rollback into mine values (1)")


@app.job(name="endless", **once)
async def endless(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute("create table if not exists many (x)")
        await db.execute(
            "insert into many with recursive c(x) as (select 1 union all select x + 1 from c)"
            " select 1 from c where x < 0"
        )


@app.job(name="waits", **once)
async def waits(ctx: Context):
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.01)
    async with ctx.transaction() as db:
        await db.execute("create table if not exists mine (x primary key)")
        await db.execute("insert or rollback into mine values (2), (2)")


@app.job(name="sound", **once)
async def sound(ctx: Context):
    async with ctx.transaction() as db:
        await db.execute("create table if not exists fine (x)")
        await db.execute("insert into fine values (1)")
"""
UNIQUE = "UNIQUE constraint failed: mine.x, in: insert or rollback into mine"

# Python runs it in every process that finds it on its path: when the file `die` is there, the
# writer gets an exception that nothing expects, from outside of all that it does.
KILLER = """
import ctypes, os, sys, threading

def kill():
    while not os.path.exists("die"):
        threading.Event().wait(0.02)
    for thread in threading.enumerate():
        if thread.name == "sqlite-write":
            number = ctypes.c_ulong(thread.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(SystemExit))

if "serve" in sys.orig_argv:
    threading.Thread(target=kill, daemon=True).start()
"""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    (tmp_path / "shop.py").write_text(APP)
    options = ("--app", "shop:app", "--runners", "1", "--grace", "2")
    with Receiver() as receiver, Server(tmp_path, options=options) as server:
        yield Stage(server, receiver)


def ended(stage: Stage, name: str) -> dict[str, Any]:
    return stage.over(started(stage, name), within_s=40)


def started(stage: Stage, name: str) -> str:
    [job] = stage.rest.get("/v1/jobs", key=name).json["jobs"]
    return stage.trigger(job)


def test_a_statement_that_ends_the_transaction_fails_its_own_run_and_nothing_else(stage):
    neighbour = stage.job(every=1)

    run = ended(stage, "ends")
    tired = ended(stage, "endless")

    assert (run["status"], run["attempt"]) == ("failed", 2)
    assert UNIQUE in run["error"]
    assert (tired["status"], tired["attempt"]) == ("failed", 2)
    assert "it takes too long, in: insert into many" in tired["error"]
    assert ended(stage, "sound")["status"] == "succeeded"
    before = len(stage.receiver.calls())
    stage.receiver.wait_for(before + 2)
    assert stage.runs(neighbour)
    assert stage.rest.get("/health").status == 200
    assert stage.server.terminate(within_s=20) == 0


def test_a_run_that_is_rescued_after_a_crash_does_no_harm_either(stage):
    run_id = started(stage, "waits")
    stage.when(run_id, lambda run: run["status"] == "running", "the start")
    stage.server.restart()
    (stage.server.database.parent / "go").touch()

    run = stage.over(run_id, within_s=20)

    assert (run["status"], run["attempt"], run["rescues"]) == ("failed", 2, 1)
    assert UNIQUE in run["error"]
    assert stage.server.healthy()
    assert stage.ran(retries=0, backoff=QUICK)["status"] == "succeeded"


def test_a_server_whose_writer_has_ended_says_so_and_goes(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(KILLER)
    environment = {"PYTHONPATH": str(tmp_path)}
    with Receiver() as receiver, Server(tmp_path, environment=environment) as server:
        stage = Stage(server, receiver)
        job = stage.job()

        (tmp_path / "die").touch()
        problem = eventually(lambda: named_by_health(server), "word of it", within_s=10) or ""
        with pytest.raises(AssertionError, match="503"):
            stage.trigger(job)

        assert "the thread that writes to" in problem
        assert "has ended: SystemExit" in problem
        assert server.ended(within_s=10) == 1
        assert "store.writer_ended" in server.log_text()
        assert "server.failed" in server.log_text()


def named_by_health(server: Server) -> str | None:
    try:
        problems = server.rest.get("/health").json["problems"]
    except NoAnswer:
        return None
    return next((each for each in problems if "has ended" in each), None)


class Escape(BaseException):
    """What no `except Exception` catches."""


def raising(error: BaseException) -> Callable[[sqlite3.Connection], None]:
    def verb(db: sqlite3.Connection) -> None:
        db.execute("update shard set horizon = 77")
        raise error

    return verb


@pytest.mark.parametrize(
    "error",
    [
        *(StopIteration(3), SystemExit(3), KeyboardInterrupt(), Escape(), GeneratorExit()),
        *(MemoryError(), RecursionError(), asyncio.CancelledError(), sqlite3.Warning("odd")),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_verb_raises_is_its_own_answer(tmp_path, error):
    database = await a_database(tmp_path)
    horizons = "select sum(horizon) from shard"
    gate = threading.Event()
    group = [
        asyncio.create_task(database.write(each))
        for each in (lambda db: gate.wait(30), raising(error), add_node, add_node)
    ]
    await asyncio.sleep(0)
    gate.set()

    _, raised, *numbers = await asyncio.gather(*group, return_exceptions=True)
    with pytest.raises((StoreError, sqlite3.OperationalError)):  # reading only, it cannot write
        await database.read(raising(error))

    assert isinstance(raised, Exception)
    assert isinstance(raised, (type(error), StoreError))
    assert numbers == [1, 2]
    assert await database.read(lambda db: db.execute(horizons).fetchone()) == (0,)
    await database.close()


def add_node(db: sqlite3.Connection) -> int | None:
    names = "boot_id, host, pid, process, roles, slots, version, queues, functions, runners"
    values = "'', '', 1, '', '', 1, '', '', '', 1, 1, 1"
    return db.execute(f"insert into node ({names}, joined_at, beat_at) values ({values})").lastrowid


async def test_readers_outlive_whatever_is_raised_in_them(tmp_path):
    database = await a_database(tmp_path)

    def leave_it_open(db: sqlite3.Connection) -> None:
        db.execute("rollback")  # as if SQLite had ended it
        raise Escape

    for _ in range(10):
        with pytest.raises(StoreError):
            await database.read(leave_it_open)

    assert await database.read(lambda db: db.execute("select 1").fetchone()) == (1,)
    await database.close()


async def test_many_that_end_their_transactions_at_once_cost_the_others_nothing(tmp_path):
    database = await a_database(tmp_path)
    await database.write(lambda db: db.execute("create table mine (x primary key)").rowcount)
    runs = 0

    def lose(db: sqlite3.Connection) -> None:
        nonlocal runs
        runs += 1
        db.execute("insert or rollback into mine values (1), (1)")

    gate = threading.Event()
    verbs: list[Any] = [lambda db: gate.wait(30), *[lose, add_node] * 100]
    group = [asyncio.create_task(database.write(verb)) for verb in verbs]
    await asyncio.sleep(0)
    gate.set()
    _, *answers = await asyncio.gather(*group, return_exceptions=True)

    assert all(isinstance(each, sqlite3.IntegrityError) for each in answers[::2])
    assert set(answers[1::2]) == set(range(1, 101))
    assert runs <= 100 * 8, "each is run at most once for every halving"
    await database.close()


async def test_closing_does_not_wait_for_a_writer_that_hangs(tmp_path, monkeypatch):
    monkeypatch.setattr("onthedot.store.sqlite.database.CLOSE_S", 0.2)
    database = await a_database(tmp_path)
    gate = threading.Event()
    hanging = asyncio.create_task(database.write(lambda db: gate.wait(60)))
    await asyncio.sleep(0)

    async with asyncio.timeout(30):
        await database.close()

    gate.set()
    await hanging
    with pytest.raises(StoreUnavailable):
        await database.write(add_node)


async def a_database(folder: Path) -> FileDatabase:
    path = str(folder / "onthedot.db")
    await (await open_store(path)).upkeep.close()
    return FileDatabase(path)


async def said() -> str:
    return "something"


async def leaves() -> None:
    raise SystemExit(3)


def test_the_loop_of_the_blocking_client_outlives_an_exit_and_a_fork():
    background = Background()
    with pytest.raises(SystemExit):
        background.run(leaves())
    assert background.run(said()) == "something"

    child = os.fork()
    if child == 0:  # without its parent's threads: it must not wait for one of them
        signal.alarm(30)
        os._exit(0 if background.run(said()) == "something" else 1)

    assert os.waitpid(child, 0)[1] == 0
