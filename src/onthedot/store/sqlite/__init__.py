"""The store on SQLite: a file beside the server, or memory for tests and simulation."""

from __future__ import annotations

import sqlite3

from onthedot.ids import Chance, SystemChance
from onthedot.store.shared.audit import SharedAudit
from onthedot.store.shared.calendars import SharedCalendars
from onthedot.store.shared.outbox import SharedOutbox
from onthedot.store.sqlite.backfills import SqliteBackfills
from onthedot.store.sqlite.clock import SqliteClock
from onthedot.store.sqlite.connecting import connect, translated
from onthedot.store.sqlite.database import FileDatabase, InlineDatabase, SqliteDatabase
from onthedot.store.sqlite.dead_letters import SqliteDeadLetters
from onthedot.store.sqlite.jobs import SqliteJobs
from onthedot.store.sqlite.ledger import SqliteLedger
from onthedot.store.sqlite.migrations import migrate
from onthedot.store.sqlite.nodes import SqliteNodes
from onthedot.store.sqlite.notes import SqliteNotes
from onthedot.store.sqlite.runs import SqliteRuns
from onthedot.store.sqlite.steps import SqliteSession
from onthedot.store.sqlite.upkeep import SqliteUpkeep
from onthedot.store.sqlite.zones import SqliteZones

INSTALLATION_BYTES = 5


class SqliteStore:
    def __init__(self, database: SqliteDatabase) -> None:
        session = SqliteSession(database)
        self.clock = SqliteClock(database)
        self.jobs = SqliteJobs(database)
        self.runs = SqliteRuns(database)
        self.ledger = SqliteLedger(database)
        self.dead_letters = SqliteDeadLetters(database, self.ledger)
        self.outbox = SharedOutbox(session)
        self.notes = SqliteNotes(database)
        self.nodes = SqliteNodes(database)
        self.audit = SharedAudit(session)
        self.backfills = SqliteBackfills(database)
        self.calendars = SharedCalendars(session)
        self.zones = SqliteZones(database)
        self.upkeep = SqliteUpkeep(database)


async def open_store(path: str | None, *, chance: Chance | None = None) -> SqliteStore:
    """Open a database file, or one in memory if `path` is None, and bring it to our schema."""
    installation = (chance or SystemChance()).token(INSTALLATION_BYTES)
    if path is None:
        memory = InlineDatabase()
        memory.apply(lambda connection: migrate(connection, installation=installation))
        return SqliteStore(memory)
    connection = connect(path)
    try:
        migrate(connection, installation=installation)
    except sqlite3.Error as error:
        raise translated(error) from error
    finally:
        connection.close()
    return SqliteStore(FileDatabase(path))
