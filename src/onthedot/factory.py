"""Opens the store that the settings name, with the clock that is its authority."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from onthedot.clock import Clock, DatabaseClock, SystemClock
from onthedot.config import Settings
from onthedot.errors import (
    CannotStart,
    DatabaseAway,
    SchemaMismatch,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from onthedot.ids import Chance
from onthedot.store.contract import Store
from onthedot.store.migrate import State, inspect
from onthedot.store.sqlite import open_store as open_sqlite
from onthedot.store.sqlite.lock import LockFile


async def in_memory() -> Store:
    """A store that lasts as long as whoever holds it, for the testing kit."""
    return await open_sqlite(None)


@contextlib.asynccontextmanager
async def opened(
    settings: Settings, chance: Chance | None = None
) -> AsyncIterator[tuple[Store, Clock]]:
    """The store, and the clock that is its authority. On SQLite the lock file comes first."""
    lock = None if settings.on_postgres else LockFile(settings.database_path)
    try:
        store = await _open(settings, chance)
        if lock is not None:
            lock.opened()
        try:
            yield store, await _clock_of(store)
        finally:
            await store.upkeep.close()
    finally:
        if lock is not None:
            lock.close()


async def _clock_of(store: Store) -> Clock:
    own = SystemClock()
    stamp = await store.nodes.time()
    if stamp is None:
        return own
    clock = DatabaseClock(own)
    clock.observe(stamp)
    return clock


async def _open(settings: Settings, chance: Chance | None) -> Store:
    """An empty database is set up. One of a newer version or of somebody else is refused, and on
    PostgreSQL an older one too: other nodes may be at work on it.
    """
    harmless = (State.EMPTY,) if settings.on_postgres else (State.EMPTY, State.OLDER)
    try:
        schema = await inspect(settings.database, prepared=settings.prepared)
        refusal = schema.refusal()
        if refusal is not None and schema.state not in harmless:
            raise refusal
        if settings.on_postgres:
            return await _open_postgres(settings, chance)
        return await open_sqlite(str(settings.database_path), chance=chance)
    except SchemaMismatch as error:
        raise CannotStart(error.message, hint=error.hint, field="database") from error
    except StoreUnavailable as error:
        kind = DatabaseAway if settings.on_postgres else CannotStart
        raise kind(_cannot_open(settings, error), hint=error.hint, field="database") from error
    except StoreError as error:
        hint = "Free some space, and start again." if isinstance(error, StoreFull) else error.hint
        raise CannotStart(_cannot_open(settings, error), hint=hint, field="database") from error


def _cannot_open(settings: Settings, error: StoreError) -> str:
    where = "the database" if settings.on_postgres else f"'{settings.database_path}'"
    return f"cannot open {where}: {error.message}"


async def _open_postgres(settings: Settings, chance: Chance | None) -> Store:
    from onthedot.store.postgres import PoolSettings, open_store  # its driver is an extra

    pool = PoolSettings(size=settings.pool, prepared=settings.prepared)
    return await open_store(settings.database, chance=chance, pool=pool)
