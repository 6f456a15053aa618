"""Brings a database to the schema that this version speaks, one numbered step after the other."""

from __future__ import annotations

from onthedot.core.model import SHARDS
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import MIGRATIONS, SQL
from onthedot.store.refusals import newer_schema, other_schema
from onthedot.store.statements import edited, fingerprint

# Any number will do, as long as it is ours: it makes two servers that start together take turns.
_LOCK = 7_031_846_750_113


async def applied_to(db: Connection) -> dict[int, str]:
    """The migrations that were applied, with their fingerprints; none if no schema is ours."""
    if await db.fetchval(SQL["schema.table"]) is None:
        return {}
    if not await db.fetchval(SQL["schema.has_fingerprints"]):
        return {int(await db.fetchval(SQL["schema.old_version"])): ""}
    return dict(await db.fetch(SQL["schema.applied"]))


async def migrate(database: PostgresDatabase, *, installation: str) -> None:
    """Apply what is missing, all in one transaction. A schema from the future is refused, and so is
    one that was made by other migrations than ours.
    """
    newest = max(MIGRATIONS)

    async def verb(db: Connection) -> None:
        await db.execute(SQL["schema.hurry"])
        await db.execute(SQL["schema.lock"], _LOCK)
        applied = await applied_to(db)
        found = max(applied, default=0)
        if found > newest:
            raise newer_schema(found, newest)
        if other := edited(applied, MIGRATIONS):
            raise other_schema(other)
        for number in range(found + 1, newest + 1):
            await db.execute(MIGRATIONS[number])
            await db.execute(SQL["schema.keep"], number, fingerprint(MIGRATIONS[number]))
        if found == 0:
            await db.execute(SQL["upkeep.new_installation"], installation)
            await db.execute(SQL["upkeep.new_shards"], SHARDS)

    await database.transaction(verb)
