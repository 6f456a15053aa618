"""Brings a database to the schema that this version speaks, one numbered step after the other."""

from __future__ import annotations

from onthedot.core.model import SHARDS
from onthedot.store.postgres.database import Connection, Database
from onthedot.store.postgres.statements import MIGRATIONS, SQL
from onthedot.store.refusals import newer_schema

# Any number will do, as long as it is ours: it makes two servers that start together take turns.
_LOCK = 7_031_846_750_113


async def found_schema(db: Connection) -> int:
    """The schema of the database; 0 if it has none of ours."""
    if await db.fetchval(SQL["schema.table"]) is None:
        return 0
    return int(await db.fetchval(SQL["schema.version"]))


async def migrate(database: Database, *, installation: str) -> None:
    """Apply what is missing, all in one transaction. A schema from the future is refused."""
    newest = max(MIGRATIONS)

    async def verb(db: Connection) -> None:
        await db.execute(SQL["schema.hurry"])
        await db.execute(SQL["schema.lock"], _LOCK)
        found = await found_schema(db)
        if found > newest:
            raise newer_schema(found, newest)
        for number in range(found + 1, newest + 1):
            await db.execute(MIGRATIONS[number])
        if found == 0:
            await db.execute(SQL["upkeep.new_installation"], installation)
            await db.execute(SQL["upkeep.new_shards"], SHARDS)
            await db.execute(SQL["schema.first"], newest)
        elif found < newest:
            await db.execute(SQL["schema.next"], newest)

    await database.transaction(verb)
