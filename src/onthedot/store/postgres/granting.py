"""A role for functions: it can complete the runs that they hold, and nothing else that is ours."""

from __future__ import annotations

import asyncpg

from onthedot.errors import StoreError
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import SQL

_STEPS = ("definer", "hidden", "schema", "lease", "completion")


async def grant_completion(database: PostgresDatabase, role: str) -> None:
    """All of it or nothing; again is harmless. Raises StoreError if there is no such role, or we
    may not grant it.
    """

    async def verb(db: Connection) -> None:
        place, quoted = await db.fetchrow(SQL["grants.place"], role)
        for step in _STEPS:
            await db.execute(SQL[f"grants.{step}"].format(place=place, role=quoted))

    try:
        await database.transaction(verb)
    except asyncpg.UndefinedObjectError as error:
        hint = f"Make it first: create role {role} login"
        raise StoreError(f"there is no role '{role}'", hint=hint) from error
    except (asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedFunctionError) as error:
        hint = "Name the database of onthedot, as the user who made its tables."
        raise StoreError(f"nothing was granted: {error}", hint=hint) from error
