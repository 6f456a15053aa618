"""`onthedot db` on SQLite, and what it says when PostgreSQL's driver is missing."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from onthedot.store.sqlite.lock import LockFile
from tests.unit.test_cli_job import onthedot


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONTHEDOT_DATABASE", raising=False)
    return tmp_path / "onthedot.db"


def set_schema(file: Path, number: int) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"pragma user_version = {number}")
        connection.commit()


def test_upgrade_sets_up_a_file_and_check_finds_it_up_to_date(file):
    made = onthedot("db", "upgrade")
    checked = onthedot("db", "check")

    assert (made.exit_code, made.stdout) == (0, "sqlite:///onthedot.db: schema 0 -> 1\n")
    assert (checked.exit_code, checked.stdout) == (
        0,
        "sqlite:///onthedot.db has schema 1: up to date\n",
    )


def test_a_second_upgrade_has_nothing_to_do(file):
    onthedot("db", "upgrade")

    again = onthedot("db", "upgrade")

    assert (again.exit_code, again.stdout) == (
        0,
        "sqlite:///onthedot.db has schema 1: up to date already\n",
    )
    said = json.loads(onthedot("db", "upgrade", "--json").stdout)
    assert said == {"database": "sqlite:///onthedot.db", "from": 1, "to": 1}


def test_check_of_a_file_that_is_not_there_makes_none(file):
    result = onthedot("db", "check")

    assert result.exit_code == 1
    assert "the database is empty" in result.stderr
    assert "onthedot serve" in result.stderr
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("schema", "state", "said"),
    [(99, "newer", "pip install --upgrade onthedot"), (0, "empty", "onthedot db upgrade")],
)
def test_check_fails_and_says_what_to_do(file, schema, state, said):
    if schema:
        onthedot("db", "upgrade")
        set_schema(file, schema)

    result = onthedot("db", "check")
    found = onthedot("db", "check", "--json")

    assert (result.exit_code, found.exit_code) == (1, 1)
    assert said in result.stderr
    assert json.loads(found.stdout) == {
        "database": "sqlite:///onthedot.db",
        "state": state,
        "schema": schema,
        "needed": 1,
    }


def test_a_file_of_the_future_is_not_upgraded(file):
    onthedot("db", "upgrade")
    set_schema(file, 99)

    result = onthedot("db", "upgrade")

    assert result.exit_code == 1
    assert "has schema 99" in result.stderr


@pytest.mark.parametrize("command", ["check", "upgrade"])
@pytest.mark.parametrize(
    "made_by",
    ["update onthedot_schema set fingerprint = upper(fingerprint)", "drop table onthedot_schema"],
)
def test_a_file_made_by_another_migration_of_the_same_number_is_refused(file, command, made_by):
    onthedot("db", "upgrade")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(made_by)
        connection.commit()

    result = onthedot("db", command)
    found = onthedot("db", "check", "--json")

    assert result.exit_code == 1
    assert "its migration 1 is not the one" in result.stderr
    assert "a new, empty database" in result.stderr
    assert json.loads(found.stdout)["state"] == "edited"


@pytest.mark.parametrize("command", ["check", "upgrade"])
def test_somebody_elses_file_is_left_alone(file, command):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create table theirs (x)")
        connection.commit()
    before = file.read_bytes()

    result = onthedot("db", command)

    assert result.exit_code == 1
    assert "tables that are not onthedot's" in result.stderr
    assert file.read_bytes() == before


@pytest.mark.parametrize("command", ["check", "upgrade"])
def test_a_file_that_is_no_database_is_named_as_such(file, command):
    file.write_bytes(b"not a database at all" * 100)

    result = onthedot("db", command)

    assert result.exit_code == 1
    assert "not a usable SQLite database" in result.stderr


def test_upgrade_refuses_a_file_that_a_server_holds(file):
    lock = LockFile(file)
    try:
        result = onthedot("db", "upgrade")
    finally:
        lock.close()

    assert result.exit_code == 1
    assert "another server" in result.stderr
    assert "Stop it first" in result.stderr


@pytest.mark.parametrize(
    "arguments", [("db", "check"), ("db", "upgrade"), ("serve", "--port", "0")]
)
def test_without_the_driver_postgresql_is_refused_with_the_command_to_run(file, arguments):
    program = (
        "import sys; sys.modules['asyncpg'] = None; from onthedot.cli.main import main; main()"
    )
    command = [sys.executable, "-c", program, *arguments, "--database", "postgresql://db/x"]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)

    assert done.returncode == 1
    assert done.stderr.endswith("\nhint: pip install 'onthedot[postgres]'\n")


def test_sqlite_needs_no_driver_of_postgresql(file):
    program = "import sys; sys.modules['asyncpg'] = None; import onthedot.node, onthedot.cli.main"

    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=30)

    assert done.returncode == 0


def test_a_wrong_address_is_wrong_use(file):
    result = onthedot("db", "check", "--database", "mysql://db/x")

    assert result.exit_code == 2
    assert "is not the address of a database" in result.stderr


def test_restored_begins_an_epoch_and_keeps_the_ids_that_there_are(file):
    onthedot("db", "upgrade")
    before = installation(file)

    told = onthedot("db", "restored")
    again = json.loads(onthedot("db", "restored", "--json").stdout)

    assert told.exit_code == 0
    assert told.stdout.startswith("sqlite:///onthedot.db begins epoch ")
    assert again["epoch"] > int(told.stdout.split()[3].rstrip(":")) > 0
    assert installation(file) == before


def test_restored_gives_a_copy_an_installation_id_of_its_own(file):
    onthedot("db", "upgrade")
    before = installation(file)

    told = json.loads(onthedot("db", "restored", "--copy", "--json").stdout)

    assert told["copy"] is True
    assert installation(file) != before


def test_restored_refuses_a_file_that_is_empty_or_in_use(file):
    empty = onthedot("db", "restored")
    onthedot("db", "upgrade")
    lock = LockFile(file)
    try:
        used = onthedot("db", "restored")
    finally:
        lock.close()

    assert (empty.exit_code, used.exit_code) == (1, 1)
    assert "the database is empty" in empty.stderr
    assert "Stop it first" in used.stderr


def installation(file: Path) -> str:
    with closing(sqlite3.connect(file)) as connection:
        return str(connection.execute("select id from installation").fetchone()[0])
