"""The store on SQLite: a file beside the server, or memory for tests and simulation."""

from __future__ import annotations

from onthedot.ids import Chance, SystemChance
from onthedot.store.sqlite.audit import Audit
from onthedot.store.sqlite.backfills import Backfills
from onthedot.store.sqlite.calendars import Calendars
from onthedot.store.sqlite.clock import Clock
from onthedot.store.sqlite.database import Database, FileDatabase, InlineDatabase, connect
from onthedot.store.sqlite.jobs import Jobs
from onthedot.store.sqlite.ledger import Ledger
from onthedot.store.sqlite.letters import Letters
from onthedot.store.sqlite.migrations import migrate
from onthedot.store.sqlite.nodes import Nodes
from onthedot.store.sqlite.notes import Notes
from onthedot.store.sqlite.outbox import Outbox
from onthedot.store.sqlite.runs import Runs
from onthedot.store.sqlite.upkeep import Upkeep
from onthedot.store.sqlite.zones import Zones

INSTALLATION_BYTES = 5


class SqliteStore:
    def __init__(self, database: Database) -> None:
        self.clock = Clock(database)
        self.jobs = Jobs(database)
        self.runs = Runs(database)
        self.letters = Letters(database)
        self.outbox = Outbox(database)
        self.notes = Notes(database)
        self.nodes = Nodes(database)
        self.ledger = Ledger(database)
        self.audit = Audit(database)
        self.backfills = Backfills(database)
        self.calendars = Calendars(database)
        self.zones = Zones(database)
        self.upkeep = Upkeep(database)


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
    finally:
        connection.close()
    return SqliteStore(FileDatabase(path))
