"""`onthedot bench`, in a process of its own, on both stores."""

from __future__ import annotations

import sqlite3

import pytest

from tests.integration.test_cli_kit import Command, check_error
from tests.support.postgres import bare_database, drop_database, programs, shared

KEYS = {
    *("runsPerSecond", "p50LatenessMs", "p99LatenessMs", "rowVersionsPerRun", "walBytesPerRun"),
    *("lost", "recordedTwice"),
}
SMALL = ("--seconds", "1", "--jobs", "2000", "--json")


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


def test_a_database_with_jobs_in_it_is_not_used_for_a_bench(onthedot):
    onthedot.ok("bench", "throughput", *SMALL, "--database", "sqlite:///b.db")

    again = onthedot("bench", "throughput", *SMALL, "--database", "sqlite:///b.db")

    assert again.code == 2
    assert "is in use: it has jobs" in again.err
    assert again.out == ""


def test_a_bench_on_postgresql_needs_a_database_to_be_named(onthedot):
    done = onthedot("bench", "throughput", "--store", "postgres", *SMALL)

    check_error(done, 2, "no PostgreSQL database is named")


def test_a_bench_never_shows_the_password_of_its_database(onthedot):
    url = "postgresql://ana:s3cret@127.0.0.1:1/bench"

    done = onthedot("bench", "throughput", "--store", "postgres", *SMALL, "--database", url)

    assert done.code == 1
    assert "postgresql://ana:***@127.0.0.1:1/bench" in done.err
    assert "s3cret" not in done.out + done.err
