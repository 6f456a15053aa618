"""`onthedot bench`, in a process of its own, on both stores."""

from __future__ import annotations

import asyncio
import sqlite3

import asyncpg
import pytest

from onthedot.store.sqlite import open_store
from tests.integration.test_cli_kit import Command
from tests.support.builders import a_definition
from tests.support.postgres import bare_database, drop_database, programs, shared

KEYS = {
    *("runsPerSecond", "p50LatenessMs", "p99LatenessMs", "rowVersionsPerRun", "walBytesPerRun"),
    *("timerFloorP99Ms", "databaseMicrosPerRun", "pythonMicrosPerRun", "rssMb"),
    *("lost", "recordedTwice"),
}
SMALL = ("--seconds", "1", "--jobs", "2000", "--json")
AT_B = ("--database", "sqlite:///b.db")


@pytest.fixture
def onthedot(tmp_path):
    return Command(tmp_path, "http://127.0.0.1:9")


def test_a_bench_on_sqlite_leaves_a_ledger_that_can_be_counted(onthedot, tmp_path):
    figures = onthedot.ok("bench", "throughput", *SMALL, "--database", "sqlite:///b.db").json

    with sqlite3.connect(tmp_path / "b.db") as database:
        query = "select count(*), count(distinct run_id) from ledger where status = 'succeeded'"
        records, runs = database.execute(query).fetchone()
    assert figures.keys() >= KEYS
    assert (figures["lost"], figures["recordedTwice"]) == (0, 0)
    assert records == runs >= figures["runs"] > 0


async def test_a_bench_on_postgresql_counts_what_was_written(onthedot):
    server = shared(max(programs()))
    name = await bare_database(server)
    try:
        url = server.url(name)
        done = onthedot.ok("bench", "throughput", "--store", "postgres", *SMALL, "--database", url)
    finally:
        await drop_database(server, name)

    figures = done.json
    assert (figures["lost"], figures["recordedTwice"]) == (0, 0)
    assert figures["rowVersionsPerRun"] >= 2  # the live row, made and deleted
    assert figures["walBytesPerRun"] > 0


def test_a_database_with_jobs_in_it_is_left_alone(onthedot, tmp_path):
    store = asyncio.run(open_store(str(tmp_path / "b.db")))
    asyncio.run(store.jobs.create(a_definition(), now=0))
    asyncio.run(store.upkeep.close())

    done = onthedot.ok("bench", "throughput", *SMALL, "--database", "sqlite:///b.db")

    assert "it is in use: it has jobs" in done.err
    with sqlite3.connect(tmp_path / "b.db") as database:
        assert database.execute("select count(*) from job").fetchone() == (1,)


def test_what_a_bench_has_made_serves_the_next_one(onthedot, tmp_path):
    onthedot.ok("bench", "idle", "--seconds", "1", "--schedules", "500", *AT_B)

    done = onthedot.ok("bench", "idle", "--seconds", "1", "--schedules", "700", *AT_B)

    assert "left alone" not in done.err
    with sqlite3.connect(tmp_path / "b.db") as database:
        assert database.execute("select count(*) from job").fetchone() == (700,)


async def test_a_postgresql_of_a_bench_is_emptied_for_the_next_one(onthedot):
    server = shared(max(programs()))
    name = await bare_database(server)
    try:
        there = ("--store", "postgres", "--database", server.url(name), "--json")
        onthedot.ok("bench", "idle", "--seconds", "1", "--schedules", "500", *there)
        done = onthedot.ok("bench", "idle", "--seconds", "1", "--schedules", "700", *there)
        connection = await asyncpg.connect(server.url(name))
        count = await connection.fetchval("select count(*) from job")
        await connection.close()
    finally:
        await drop_database(server, name)

    assert count == 700
    assert done.json["queriesPerSecond"] > 0


BENCHES = {
    "lateness": ("--rate", "100", "--seconds", "1"),
    "herd": ("--jobs", "1000"),
    "enqueue": ("--runs", "1000", "--seconds", "1"),
    "http": ("--jobs", "1000", "--seconds", "1"),
    "scale": ("--schedules", "1000", "--seconds", "1"),
    "recovery": ("--kills", "1"),
}


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_has_the_same_figures_and_counts_its_ledger(onthedot, name):
    figures = onthedot.ok("bench", name, *BENCHES[name], "--json").json

    assert figures.keys() >= KEYS
    assert figures["runs"] > 0
    assert (figures["lost"], figures["recordedTwice"]) == (0, 0)


async def test_several_nodes_share_the_work_and_lose_nothing(onthedot):
    server = shared(max(programs()))
    name = await bare_database(server)
    try:
        there = ("--store", "postgres", "--database", server.url(name))
        done = onthedot.ok(
            "bench", "throughput", "--nodes", "2", "--handler", "none", *SMALL, *there
        )
        connection = await asyncpg.connect(server.url(name))
        nodes = await connection.fetchval("select count(distinct node) from history")
        await connection.close()
    finally:
        await drop_database(server, name)

    assert done.json.keys() >= KEYS
    assert (done.json["nodes"], nodes) == (2, 2)
    assert (done.json["lost"], done.json["recordedTwice"]) == (0, 0)
    assert done.json["runs"] > 0


def test_several_nodes_need_postgresql(onthedot):
    done = onthedot("bench", "throughput", "--nodes", "2", *SMALL)

    assert done.code == 2
    assert "Add --store postgres." in done.err


def test_several_numbers_of_schedules_are_a_row_each(onthedot):
    many = ("--schedules", "1000", "--schedules", "2000", "--handler", "none", "--seconds", "1")

    rows = onthedot.ok("bench", "scale", *many, "--json").json

    assert [row["schedules"] for row in rows] == [1_000, 2_000]
    assert all(row.keys() >= {*KEYS, "pageOfJobsMs", "schedulesLoadedPerSecond"} for row in rows)


def test_a_bench_never_shows_the_password_of_its_database(onthedot):
    url = "postgresql://ana:s3cret@127.0.0.1:1/bench"

    done = onthedot("bench", "throughput", "--store", "postgres", *SMALL, "--database", url)

    assert done.code == 1
    assert "does not answer" in done.err
    assert "s3cret" not in done.out + done.err
