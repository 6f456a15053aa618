"""The store on PostgreSQL 15 and newer, for any number of nodes."""

from __future__ import annotations

from onthedot.ids import Chance, SystemChance
from onthedot.store.postgres.backfills import PostgresBackfills
from onthedot.store.postgres.clock import PostgresClock, due_slots
from onthedot.store.postgres.database import PoolSettings, PostgresDatabase
from onthedot.store.postgres.dead_letters import PostgresDeadLetters
from onthedot.store.postgres.jobs import PostgresJobs
from onthedot.store.postgres.ledger import PostgresLedger
from onthedot.store.postgres.migrations import migrate
from onthedot.store.postgres.nodes import PostgresNodes
from onthedot.store.postgres.notes import PostgresNotes
from onthedot.store.postgres.runs import PostgresRuns
from onthedot.store.postgres.steps import PostgresSession
from onthedot.store.postgres.upkeep import PostgresUpkeep
from onthedot.store.postgres.zones import PostgresZones
from onthedot.store.shared.audit import SharedAudit
from onthedot.store.shared.calendars import SharedCalendars
from onthedot.store.shared.outbox import SharedOutbox

__all__ = ["PoolSettings", "PostgresStore", "open_store"]

INSTALLATION_BYTES = 5


class PostgresStore:
    def __init__(self, database: PostgresDatabase) -> None:
        session = PostgresSession(database)
        self.clock = PostgresClock(database)
        self.jobs = PostgresJobs(database, self.clock)
        self.runs = PostgresRuns(database)
        self.ledger = PostgresLedger(database)
        self.dead_letters = PostgresDeadLetters(database, self.ledger)
        self.outbox = SharedOutbox(session)
        self.notes = PostgresNotes(database)
        self.nodes = PostgresNodes(database)
        self.audit = SharedAudit(session, due_slots)
        self.backfills = PostgresBackfills(database)
        self.calendars = SharedCalendars(session)
        self.zones = PostgresZones(database, self.clock)
        self.upkeep = PostgresUpkeep(database)


async def open_store(
    url: str,
    *,
    chance: Chance | None = None,
    pool: PoolSettings | None = None,
    renew: bool = False,
) -> PostgresStore:
    """Connect, bring the database to our schema, and return the store. `renew`: with our functions,
    even if a newer version has put its own there.
    """
    database = await PostgresDatabase.open(url, pool or PoolSettings())
    try:
        token = (chance or SystemChance()).token(INSTALLATION_BYTES)
        await migrate(database, installation=token, renew=renew)
    except BaseException:
        await database.close()
        raise
    return PostgresStore(database)
