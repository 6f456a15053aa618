"""Brings a database file to the schema that this version speaks, one numbered step after the
other.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from onthedot.core.model import SHARDS
from onthedot.store.refusals import newer_schema
from onthedot.store.sqlite.database import connect, translated
from onthedot.store.sqlite.statements import MIGRATIONS, SQL


def migrate(connection: sqlite3.Connection, *, installation: str) -> None:
    """Apply what is missing, all in one transaction. A schema from the future is refused."""
    newest = max(MIGRATIONS)
    found = _schema(connection)
    if found == newest:
        return
    if found > newest:
        raise newer_schema(found, newest)
    connection.execute("begin immediate")
    try:
        for number in range(found + 1, newest + 1):
            for statement in _statements(MIGRATIONS[number]):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")
        if found == 0:
            connection.execute(SQL["upkeep.new_installation"], (installation,))
            connection.executemany(SQL["upkeep.new_shard"], [(shard,) for shard in range(SHARDS)])
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise


def inspected(path: str) -> tuple[int, bool]:
    """The schema of a file, 0 if it has none of ours, and whether it holds anything else."""
    try:
        with closing(connect(path, read_only=True)) as connection:
            if connection.execute(SQL["inspect.ours"]).fetchone()[0]:
                return _schema(connection), False
            return 0, bool(connection.execute(SQL["inspect.strangers"]).fetchone()[0])
    except sqlite3.Error as error:
        raise translated(error) from error


def _schema(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute("pragma user_version").fetchone()
    return int(found)


def _statements(script: str) -> list[str]:
    """The statements of a script. sqlite3's own executescript would commit what is open first."""
    found, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
