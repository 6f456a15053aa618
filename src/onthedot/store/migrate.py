"""Which schema a database has, and bringing it to ours, whichever store its URL names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from onthedot.core.instants import Instant
from onthedot.errors import CannotStart, SchemaMismatch, StoreUnavailable
from onthedot.ids import Chance
from onthedot.store.contract import Store
from onthedot.store.refusals import newer_schema, other_schema
from onthedot.store.sqlite import INSTALLATION_BYTES
from onthedot.store.sqlite import open_store as open_sqlite
from onthedot.store.sqlite import statements as sqlite
from onthedot.store.sqlite.connecting import about as about_sqlite
from onthedot.store.sqlite.lock import LockFile
from onthedot.store.sqlite.migrations import inspected
from onthedot.store.statements import edited

LOCKED = "55P03"
PATIENCE_S = 1_800.0
"""Ten million rows are not vacuumed in a minute."""


class State(StrEnum):
    CURRENT = "current"
    OLDER = "older"
    NEWER = "newer"
    EMPTY = "empty"
    FOREIGN = "foreign"
    """It holds tables, and none of ours."""
    EDITED = "edited"
    """It is ours, made by other migrations than those that this build has."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What was `found` (0: none of ours) beside the newest one that this version `knows`.
    `edited`: the first migration that is not as we have it.
    """

    found: int
    knows: int
    strangers: bool = False
    edited: int | None = None

    @classmethod
    def of(cls, applied: Mapping[int, str], ours: Mapping[int, str], strangers: bool) -> Schema:
        return cls(max(applied, default=0), max(ours), strangers, edited(applied, ours))

    @property
    def state(self) -> State:
        # Before any number is looked at: a landed migration is never edited, so no version of ours,
        # older or newer, has made it.
        if self.edited is not None:
            return State.EDITED
        if self.found == 0:
            return State.FOREIGN if self.strangers else State.EMPTY
        if self.found == self.knows:
            return State.CURRENT
        return State.OLDER if self.found < self.knows else State.NEWER

    def refusal(self) -> SchemaMismatch | None:
        """Why this version cannot work on it, with the next step; None if it can."""
        match self.state:
            case State.OLDER:
                return SchemaMismatch(
                    f"the database has schema {self.found}, this onthedot needs {self.knows}",
                    hint="Make a backup, then bring it up to date: onthedot db upgrade",
                )
            case State.EDITED:
                assert self.edited is not None
                return other_schema(self.edited)
            case State.NEWER:
                return newer_schema(self.found, self.knows)
            case State.FOREIGN:
                return SchemaMismatch(
                    "the database holds tables that are not onthedot's",
                    hint="Give onthedot a database of its own, and check --database.",
                )
            case State.EMPTY:
                return SchemaMismatch(
                    "the database is empty",
                    hint="`onthedot serve` sets it up by itself; so does `onthedot db upgrade`.",
                )
            case State.CURRENT:
                return None


def require_driver() -> None:
    """PostgreSQL's driver is an extra: those who use SQLite need not have it."""
    if find_spec("asyncpg") is None:
        raise CannotStart(
            "PostgreSQL needs the driver asyncpg, which is not installed",
            hint="pip install 'onthedot[postgres]'",
            field="database",
        )


async def inspect(url: str, *, prepared: bool = True) -> Schema:
    """Look, without changing anything. `prepared` as the setting says: a pooler may be between."""
    path = _file(url)
    if path is None:
        return await _inspect_postgres(url, prepared)
    applied, strangers = inspected(str(path)) if path.exists() else ({}, False)
    return Schema.of(applied, sqlite.MIGRATIONS, strangers)


async def upgrade(url: str, *, prepared: bool = True) -> Schema:
    """Bring it to the newest schema; returns what it was before. Nobody may have an SQLite file
    open meanwhile.
    """
    path = _file(url)
    lock = None if path is None else LockFile(path)
    try:
        before = await inspect(url, prepared=prepared)
        refusal = before.refusal()
        # One of the future cannot be brought back, a stranger's is not to be touched, and what a
        # migration is to start from must be what it was written for.
        if refusal is not None and before.state in (State.NEWER, State.FOREIGN, State.EDITED):
            raise refusal
        store = await (open_sqlite(str(path)) if path else _upgrade_postgres(url, prepared, True))
        await store.upkeep.close()
    finally:
        if lock is not None:
            lock.close()
    return before


async def grant(url: str, role: str) -> None:
    """Let a role of PostgreSQL complete the runs of exactly-once functions, and do nothing else."""
    if _file(url) is not None:
        raise CannotStart(
            "an SQLite file has no roles: the server alone opens it",
            hint="Roles are for PostgreSQL: --database postgresql://user@host/name",
            field="database",
        )
    require_driver()
    from onthedot.store.postgres.database import PoolSettings, PostgresDatabase  # noqa: PLC0415 - an extra
    from onthedot.store.postgres.granting import grant_completion  # noqa: PLC0415

    database = await PostgresDatabase.open(url, PoolSettings(size=1))
    try:
        await grant_completion(database, role)
    finally:
        await database.close()


async def restored(
    url: str, *, now: Instant, chance: Chance, copy: bool = False, prepared: bool = True
) -> int:
    """Tell a database that it was restored from a backup while no node was running; `copy`: and
    that the original goes on elsewhere. Returns its new epoch.
    """
    path = _file(url)
    lock = None if path is None else LockFile(path)
    try:
        refusal = (await inspect(url, prepared=prepared)).refusal()
        if refusal is not None:
            raise refusal
        store = await (open_sqlite(str(path)) if path else _upgrade_postgres(url, prepared))
        try:
            if copy:
                await store.upkeep.renew_installation(chance.token(INSTALLATION_BYTES))
            bits = int(chance.token(4), 16) >> 1
            return await store.upkeep.restored(now=now, chance=bits)
        finally:
            await store.upkeep.close()
    finally:
        if lock is not None:
            lock.close()


async def begin_anew(url: str) -> None:
    """Empty a database of ours: everything in it is lost. For benches, on what they have made."""
    path = _file(url)
    if path is None:
        await _asked(url, "schema.begin_anew")
        return
    for each in (path, *(path.with_name(path.name + more) for more in ("-wal", "-shm"))):
        each.unlink(missing_ok=True)


async def vacuum(url: str) -> None:
    """What PostgreSQL does by itself some time after much was written, now. For benches: it is not
    what they measure.
    """
    if _file(url) is None:
        await _asked(url, "schema.vacuum")


async def settings_of(url: str) -> dict[str, str]:
    """What decides how quick and how safe the database is."""
    if _file(url) is not None:
        return about_sqlite()
    return {str(name): str(value) for name, value in await _asked(url, "inspect.settings")}


async def _asked(url: str, statement: str) -> list[Any]:
    """The answer of a PostgreSQL, however long it takes."""
    from onthedot.store.postgres.database import PoolSettings, PostgresDatabase  # noqa: PLC0415
    from onthedot.store.postgres.statements import SQL  # noqa: PLC0415

    database = await PostgresDatabase.open(url, PoolSettings(size=1, timeout_s=PATIENCE_S))
    try:
        return await database.rows(SQL[statement])
    finally:
        await database.close()


async def _inspect_postgres(url: str, prepared: bool) -> Schema:
    require_driver()
    from onthedot.store.postgres.database import Connection, PoolSettings, PostgresDatabase  # noqa: PLC0415
    from onthedot.store.postgres.migrations import applied_to  # noqa: PLC0415
    from onthedot.store.postgres.statements import MIGRATIONS, SQL  # noqa: PLC0415

    async def look(db: Connection) -> Schema:
        applied = await applied_to(db)
        strangers = bool(await db.fetchval(SQL["inspect.strangers"]))
        return Schema.of(applied, MIGRATIONS, strangers)

    database = await PostgresDatabase.open(url, PoolSettings(size=1, prepared=prepared))
    try:
        return await database.snapshot(look)
    finally:
        await database.close()


async def _upgrade_postgres(url: str, prepared: bool, renew: bool = False) -> Store:
    from onthedot.store.postgres import PoolSettings, open_store  # noqa: PLC0415 - an extra

    try:
        return await open_store(url, pool=PoolSettings(prepared=prepared), renew=renew)
    except StoreUnavailable as error:
        if getattr(error.__cause__, "sqlstate", "") != LOCKED:
            raise
        raise StoreUnavailable(
            "somebody holds a lock on a table that has to change: nothing was changed",
            hint="Try again in a quieter moment, or end long transactions first.",
        ) from error


def _file(url: str) -> Path | None:
    """The file, if it is one."""
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:") else None
