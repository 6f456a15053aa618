"""Brings a database file to the schema that this version speaks, one numbered step after the
other.
"""

from __future__ import annotations

import sqlite3
from importlib.resources import files

from onthedot.core.model import SHARDS
from onthedot.errors import SchemaMismatch
from onthedot.store.sqlite.statements import SQL


def steps() -> dict[int, str]:
    """The migrations by number; the highest number is the schema that this version speaks."""
    folder = files(__package__) / "migrations"
    return {int(file.name.removesuffix(".sql")): file.read_text() for file in folder.iterdir()}


def migrate(connection: sqlite3.Connection, *, installation: str) -> None:
    """Apply what is missing, all in one transaction. A schema from the future is refused."""
    known = steps()
    found = _schema(connection)
    if found == max(known):
        return
    refuse_newer(found, max(known))
    connection.execute("begin immediate")
    try:
        for number in range(found + 1, max(known) + 1):
            for statement in _statements(known[number]):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")
        if found == 0:
            connection.execute(SQL["upkeep.new_installation"], (installation,))
            connection.executemany(SQL["upkeep.new_shard"], [(shard,) for shard in range(SHARDS)])
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise


def refuse_newer(found: int, known: int) -> None:
    if found > known:
        raise SchemaMismatch(
            f"the database has schema {found}, this onthedot knows only up to {known}",
            hint="Run the newer version that made it: pip install --upgrade onthedot",
        )


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
