"""Brings a database file to the schema that this version speaks, one numbered step after the
other.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from onthedot.core.model import SHARDS
from onthedot.store.refusals import newer_schema, other_schema
from onthedot.store.sqlite.connecting import connect, translated
from onthedot.store.sqlite.statements import MIGRATIONS, SQL
from onthedot.store.statements import edited, fingerprint


def migrate(connection: sqlite3.Connection, *, installation: str) -> None:
    """Apply what is missing, all in one transaction. A schema from the future is refused, and so is
    one that was made by other migrations than ours.
    """
    newest = max(MIGRATIONS)
    applied = _applied(connection)
    found = max(applied, default=0)
    if other := edited(applied, MIGRATIONS):
        raise other_schema(other)
    if found > newest:
        raise newer_schema(found, newest)
    if found == newest:
        return
    connection.execute("begin immediate")
    try:
        for number in range(found + 1, newest + 1):
            for statement in _statements(MIGRATIONS[number]):
                connection.execute(statement)
            kept = (number, fingerprint(MIGRATIONS[number]))
            connection.execute(SQL["inspect.keep"], kept)
            connection.execute(f"pragma user_version = {number}")
        if found == 0:
            connection.execute(SQL["upkeep.new_installation"], (installation,))
            connection.executemany(SQL["upkeep.new_shard"], [(shard,) for shard in range(SHARDS)])
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite has ended it itself
            connection.execute("rollback")
        raise


def inspected(path: str) -> tuple[dict[int, str], bool]:
    """The migrations that were applied to a file, with their fingerprints, none if no schema is
    ours; and whether it holds anything else.
    """
    try:
        with closing(connect(path, read_only=True)) as connection:
            if connection.execute(SQL["inspect.ours"]).fetchone()[0]:
                return _applied(connection), False
            return {}, bool(connection.execute(SQL["inspect.strangers"]).fetchone()[0])
    except sqlite3.Error as error:
        raise translated(error) from error


def _applied(connection: sqlite3.Connection) -> dict[int, str]:
    (found,) = connection.execute("pragma user_version").fetchone()
    if not found:
        return {}
    if not connection.execute(SQL["inspect.has_fingerprints"]).fetchone()[0]:
        return dict.fromkeys(range(1, found + 1), "")  # made before there were fingerprints
    applied = dict(connection.execute(SQL["inspect.applied"]).fetchall())
    return applied if found in applied else {**applied, found: ""}


def _statements(script: str) -> list[str]:
    """The statements of a script. sqlite3's own executescript would commit what is open first."""
    found, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
