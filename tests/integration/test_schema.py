"""Bringing a PostgreSQL to another version's tables and functions, step by step or as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from onthedot import config
from onthedot.errors import CannotStart
from onthedot.factory import opened
from onthedot.store import migrate
from onthedot.store.migrate import State
from onthedot.store.postgres import open_store
from onthedot.store.postgres.statements import FUNCTIONS, MIGRATIONS
from tests.support import postgres

PACKAGED = max(postgres.programs())
ROLE = "upgraded"
NEWER = f"""{FUNCTIONS}
create or replace function newest() returns integer language sql as $$ select 2 $$;
create or replace function has_free(until_ bigint) returns boolean language sql
as $$ select null::boolean $$;
"""


@dataclass(frozen=True)
class Database:
    url: str

    async def ask(self, statement: str) -> Any:
        connection = await asyncpg.connect(self.url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    async def tell(self, script: str) -> None:
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(script)
        finally:
            await connection.close()

    async def start(self) -> None:
        """As a node does."""
        settings = config.load({"database": self.url}, environ={})
        async with opened(settings):
            pass

    async def applied(self) -> int:
        found = await self.ask("select count(*) from onthedot_functions")
        assert isinstance(found, int)
        return found


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    server = postgres.shared(PACKAGED)
    name = await postgres.new_database(server)
    yield Database(server.url(name))
    await postgres.drop_database(server, name)


def functions_are(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr("onthedot.store.postgres.migrations.FUNCTIONS", script)


async def test_an_older_schema_is_refused_by_a_node_and_brought_up_to_date_by_hand(
    database, monkeypatch
):
    newest = max(MIGRATIONS)
    monkeypatch.setitem(MIGRATIONS, newest + 1, "create table later (x integer)")

    with pytest.raises(CannotStart, match=f"has schema {newest}, this onthedot needs") as refused:
        await database.start()
    assert (refused.value.hint or "").endswith("onthedot db upgrade")
    assert await database.ask("select to_regclass('later')") is None

    before = await migrate.upgrade(database.url)

    assert (before.state, before.found) == (State.OLDER, newest)
    assert await database.ask("select count(*) from later") == 0
    await database.start()


async def test_a_database_with_more_migrations_but_another_first_one_is_of_another_build(database):
    await database.tell("update onthedot_schema set fingerprint = md5(fingerprint)")
    await database.tell("insert into onthedot_schema select n, 'x' from generate_series(2, 5) n")

    with pytest.raises(CannotStart, match="made by another build") as refused:
        await database.start()

    assert "a new, empty database" in (refused.value.hint or "")
    assert (await migrate.inspect(database.url)).state is State.EDITED


async def test_a_start_puts_functions_that_it_has_and_the_database_has_not(database, monkeypatch):
    await database.start()
    assert await database.applied() == 1

    functions_are(monkeypatch, NEWER)
    await database.start()
    await database.start()

    assert await database.ask("select newest()") == 2
    assert await database.ask("select has_free(0)") is None
    assert await database.applied() == 2


async def test_an_older_version_that_starts_does_not_take_newer_functions_back(
    database, monkeypatch
):
    functions_are(monkeypatch, NEWER)
    await database.start()

    functions_are(monkeypatch, FUNCTIONS)
    await database.start()

    assert await database.ask("select has_free(0)") is None


async def test_an_upgrade_by_hand_puts_the_functions_of_its_own_version(database, monkeypatch):
    functions_are(monkeypatch, NEWER)
    await database.start()
    functions_are(monkeypatch, FUNCTIONS)

    await migrate.upgrade(database.url)

    assert await database.ask("select has_free(0)") is False
    assert await database.applied() == 3


async def test_an_upgrade_by_hand_brings_back_a_function_that_was_lost(database):
    await database.tell("drop function has_free(bigint)")
    await database.start()
    lost = await database.ask("select to_regproc('has_free')")

    await migrate.upgrade(database.url)

    assert lost is None
    assert await database.ask("select to_regproc('has_free')::text") == "has_free"
    assert await database.applied() == 1


async def test_functions_that_cannot_be_put_leave_everything_as_it_was(database, monkeypatch):
    functions_are(monkeypatch, f"{NEWER}\ncreate or replace view ledger as select 1 as other;")

    with pytest.raises(asyncpg.PostgresError):
        await open_store(database.url)

    assert await database.ask("select to_regproc('newest')") is None
    assert await database.applied() == 1


async def test_a_role_that_may_not_put_functions_is_told_who_may(database, monkeypatch):
    await database.tell(f"drop role if exists {ROLE}; create role {ROLE} login password 'upgraded'")
    await database.tell(f"grant select, insert on all tables in schema public to {ROLE}")
    parts = urlsplit(database.url)
    place = parts.netloc.rpartition("@")[2]
    url = urlunsplit(parts._replace(netloc=f"{ROLE}:upgraded@{place}"))
    await Database(url).start()

    functions_are(monkeypatch, NEWER)
    with pytest.raises(CannotStart, match="may not change") as refused:
        await Database(url).start()

    assert "onthedot db upgrade" in (refused.value.hint or "")
    await database.start()
    await Database(url).start()
    await database.tell(f"drop owned by {ROLE}; drop role {ROLE}")


async def test_what_was_granted_outlasts_new_functions(database, monkeypatch):
    await database.tell(f"drop role if exists {ROLE}")
    await database.tell(f"create role {ROLE}")
    await migrate.grant(database.url, ROLE)
    complete = "select {} from pg_proc where proname = 'complete'"
    before = await database.ask(complete.format("(prosecdef, proconfig, proacl)::text"))

    functions_are(monkeypatch, NEWER)
    await database.start()

    assert await database.ask("select newest()") == 2
    assert await database.ask(complete.format("prosecdef")) is True
    assert await database.ask(complete.format("(prosecdef, proconfig, proacl)::text")) == before
    assert await database.ask("select count(*) from pg_proc where prosecdef") == 1
    await database.tell(f"drop owned by {ROLE}; drop role {ROLE}")


async def test_every_function_names_only_what_is_there(database):
    """They are put without a look into their bodies, since they may call what comes after."""
    await database.tell(f"set check_function_bodies = on; {FUNCTIONS}")

    assert await database.applied() == 1
