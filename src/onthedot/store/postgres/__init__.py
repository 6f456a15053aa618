"""The store on PostgreSQL 15 and newer, for any number of nodes."""

from __future__ import annotations

from onthedot.ids import Chance, SystemChance
from onthedot.store.postgres.audit import Audit
from onthedot.store.postgres.backfills import Backfills
from onthedot.store.postgres.calendars import Calendars
from onthedot.store.postgres.clock import Clock
from onthedot.store.postgres.database import Database, PoolSettings
from onthedot.store.postgres.jobs import Jobs
from onthedot.store.postgres.ledger import Ledger
from onthedot.store.postgres.letters import Letters
from onthedot.store.postgres.migrations import migrate
from onthedot.store.postgres.nodes import Nodes
from onthedot.store.postgres.notes import Notes
from onthedot.store.postgres.outbox import Outbox
from onthedot.store.postgres.runs import Runs
from onthedot.store.postgres.upkeep import Upkeep
from onthedot.store.postgres.zones import Zones

__all__ = ["PoolSettings", "PostgresStore", "open_store"]

INSTALLATION_BYTES = 5


class PostgresStore:
    def __init__(self, database: Database) -> None:
        self.clock = Clock(database)
        self.jobs = Jobs(database, self.clock)
        self.runs = Runs(database)
        self.letters = Letters(database)
        self.outbox = Outbox(database)
        self.notes = Notes(database)
        self.nodes = Nodes(database)
        self.ledger = Ledger(database)
        self.audit = Audit(database)
        self.backfills = Backfills(database)
        self.calendars = Calendars(database)
        self.zones = Zones(database, self.clock)
        self.upkeep = Upkeep(database)


async def open_store(
    url: str, *, chance: Chance | None = None, pool: PoolSettings | None = None
) -> PostgresStore:
    """Connect, bring the database to our schema, and return the store."""
    database = await Database.open(url, pool or PoolSettings())
    try:
        await migrate(database, installation=(chance or SystemChance()).token(INSTALLATION_BYTES))
    except BaseException:
        await database.close()
        raise
    return PostgresStore(database)
