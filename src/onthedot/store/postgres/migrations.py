"""Brings a database to the schema that this version speaks: its tables and types one numbered step
after the other, its functions and views as a whole.
"""

from __future__ import annotations

import asyncpg

from onthedot.core.model import SHARDS
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import FUNCTIONS, MIGRATIONS, SQL
from onthedot.store.refusals import newer_schema, not_ours_to_change, other_schema
from onthedot.store.statements import edited, fingerprint

# Any number will do, as long as it is ours: it makes two servers that start together take turns.
_LOCK = 7_031_846_750_113


async def applied_to(db: Connection) -> dict[int, str]:
    """The migrations that were applied, with their fingerprints; none if no schema is ours."""
    if await db.fetchval(SQL["schema.table"]) is None:
        return {}
    if not await db.fetchval(SQL["schema.has_fingerprints"]):
        return dict.fromkeys(range(1, await db.fetchval(SQL["schema.old_version"]) + 1), "")
    return dict(await db.fetch(SQL["schema.applied"]))


async def migrate(database: PostgresDatabase, *, installation: str, renew: bool = False) -> None:
    """Apply what is missing, all in one transaction. A schema from the future is refused, and so is
    one that was made by other migrations than ours. `renew`: functions of a newer version are
    replaced by ours, too.
    """
    newest = max(MIGRATIONS)

    async def verb(db: Connection) -> None:
        await db.execute(SQL["schema.hurry"])
        await db.execute(SQL["schema.lock"], _LOCK)
        applied = await applied_to(db)
        found = max(applied, default=0)
        if other := edited(applied, MIGRATIONS):
            raise other_schema(other)
        if found > newest:
            raise newer_schema(found, newest)
        for number in range(found + 1, newest + 1):
            await db.execute(MIGRATIONS[number])
            await db.execute(SQL["schema.keep"], number, fingerprint(MIGRATIONS[number]))
        if found == 0:
            await db.execute(SQL["upkeep.new_installation"], installation)
            await db.execute(SQL["upkeep.new_shards"], SHARDS)
        await _apply_functions(db, renew)

    try:
        await database.transaction(verb)
    except asyncpg.InsufficientPrivilegeError as error:
        raise not_ours_to_change(str(error)) from error


async def _apply_functions(db: Connection, renew: bool) -> None:
    """Create or replace all of them, unless the database has had them. While nodes of two versions
    run side by side, a start of the older one must not take the newer functions back; `renew` puts
    ours in any case, and so brings back what was lost.
    """
    ours = fingerprint(FUNCTIONS)
    known = [each for (each,) in await db.fetch(SQL["schema.functions"])]
    if ours in known and not renew:
        return
    definers = await db.fetch(SQL["schema.definers"])
    await db.execute(SQL["schema.unchecked"])
    await db.execute(FUNCTIONS)
    for (definer,) in definers:
        await db.execute(definer)
    if ours not in known[-1:]:
        await db.execute(SQL["schema.keep_functions"], ours)
