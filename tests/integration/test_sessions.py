"""What we ask of a session of PostgreSQL, and that nothing stays behind in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from onthedot.core.model import CALLBACKS
from onthedot.errors import NodeDead
from onthedot.store.migrate import upgrade, vacuum
from onthedot.store.postgres import PoolSettings, PostgresStore
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import SQL
from tests.integration.test_nodes_kit import PACKAGED
from tests.support import postgres
from tests.support.builders import a_definition, facts

LEFT_BEHIND = """
    select name from pg_settings where source = 'session' and name <> 'jit'
    union all select mode from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
    union all select name from pg_cursors where name <> ''
    union all select relname from pg_class where pg_my_temp_schema() = relnamespace
    union all select * from pg_listening_channels()
"""

# Before version 18 a plan that was forbidden a scan and has none other is reckoned as very dear,
# and what is dear is compiled: 10 ms and more for a verb that takes one.
COMPILED = """
    select proname
    from pg_proc
    where 'enable_seqscan=off' = any(proconfig) and not 'jit=off' = any(proconfig)
"""


@pytest.fixture
async def database() -> AsyncIterator[PostgresDatabase]:
    """With one connection, so that every verb has the same session."""
    server = postgres.shared(PACKAGED)
    name = await postgres.new_database(server)
    opened = await PostgresDatabase.open(server.url(name), PoolSettings(size=1))
    await opened.value("select 1")  # connects
    yield opened
    await opened.close()
    await postgres.drop_database(server, name)


async def test_the_driver_asks_about_types_once_a_connection(database, monkeypatch):
    asked: list[object] = []
    real = asyncpg.Connection._introspect_types

    async def counted(self: asyncpg.Connection, types: object, timeout: object) -> object:
        asked.append(types)
        return await real(self, types, timeout)

    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", counted)

    async def prepare_all(db: Connection) -> None:
        for name, statement in SQL.items():
            if not name.startswith("grants."):  # PostgreSQL prepares none of those
                await db.prepare(statement.format(place="public"))

    await database.transaction(prepare_all)

    assert not asked, "a kind of array is missing in schema.types"


async def test_a_verb_leaves_nothing_behind_in_its_session(database):
    store = PostgresStore(database)
    node = await store.nodes.join(facts(), now=1)
    await store.jobs.create(a_definition(), now=1)
    await store.clock.peek(frozenset(range(16)), until=1, limit=10)
    await store.runs.lease(node, CALLBACKS, limit=10, now=1)
    await store.upkeep.prepare(now=1)
    await store.ledger.overview(now=1, limit=10)
    await store.nodes.leave(node, now=1)
    with pytest.raises(NodeDead):
        await store.runs.lease(node, CALLBACKS, limit=10, now=1)

    assert await database.rows(LEFT_BEHIND) == []


async def test_a_function_with_pinned_plans_is_never_compiled(database):
    assert await database.rows(COMPILED) == []


async def test_a_bench_has_what_it_loaded_vacuumed() -> None:
    server = postgres.shared(PACKAGED)
    name = await postgres.new_database(server)
    await upgrade(server.url(name))

    await vacuum(server.url(name))

    connection = await asyncpg.connect(server.url(name))
    when = "select last_vacuum from pg_stat_user_tables where relname = 'job'"
    assert await connection.fetchval(when) is not None
    await connection.close()
    await postgres.drop_database(server, name)
