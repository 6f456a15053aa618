"""Enqueueing in the caller's own PostgreSQL transaction, through each of the drivers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import psycopg
import pytest
import sqlalchemy
from psycopg.rows import dict_row
from sqlalchemy.orm import Session

from onthedot import App
from onthedot.clock import SystemClock
from onthedot.core.model import Lanes
from onthedot.core.states import Status
from onthedot.errors import Invalid
from onthedot.ids import parse_run_id
from onthedot.store.contract import Store
from onthedot.store.postgres import open_store
from tests.support.builders import a_definition, facts
from tests.support.postgres import new_database, programs, shared

app = App()


@app.job(name="charge")
def charge(order: int, note: str = "") -> None: ...


SQLALCHEMY = """
import asyncio
from onthedot import App
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

@App().job(name="charge")
def charge(order: int) -> None: ...

async def main():
    engine = create_async_engine("{address}")
    async with {opened} as connection:
        await charge.enqueue(order=1, connection=connection)
        await connection.rollback()
        print(await charge.enqueue(order=2, connection=connection))
        await connection.commit()
    await engine.dispose()

asyncio.run(main())
"""


@pytest.fixture
async def url() -> str:
    server = shared(max(programs()))
    return server.url(await new_database(server))


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    store = await open_store(url)
    job = a_definition(name="charge", key="charge", handler_url="", handler="charge")
    await store.jobs.create(job, now=SystemClock().now())
    yield store
    await store.upkeep.close()


@asynccontextmanager
async def by_asyncpg(url: str) -> AsyncIterator[tuple[Any, Any]]:
    connection = await asyncpg.connect(url)
    # Whoever has his own way with JSON must not be met by it.
    await connection.set_type_codec("json", encoder=repr, decoder=repr, schema="pg_catalog")
    begun = connection.transaction()
    await begun.start()
    try:
        yield connection, begun
    finally:
        await connection.close()


@asynccontextmanager
async def by_psycopg(url: str) -> AsyncIterator[tuple[Any, Any]]:
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as connection:
        yield connection, connection


@contextmanager
def by_blocking_psycopg(url: str):
    with psycopg.connect(url, row_factory=dict_row) as connection:
        yield connection


@contextmanager
def by_blocking_session(url: str):
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with Session(engine) as session:
        yield session
    engine.dispose()


async def made(store: Store) -> list[Any]:
    now = SystemClock().now()
    return await store.ledger.page(1, before=None, limit=100, now=now)


@pytest.mark.parametrize("opened", [by_asyncpg, by_psycopg])
async def test_a_run_is_made_with_the_commit_and_not_by_a_rollback(store, url, opened):
    async with opened(url) as (connection, transaction):
        await charge.enqueue(order=1, connection=connection)
        await transaction.rollback()
    assert await made(store) == []

    async with opened(url) as (connection, transaction):
        run = await charge.enqueue(order=2, note="%:x 'ü'", connection=connection)
        before = await made(store)
        await transaction.commit()

    [after] = await made(store)
    assert before == []
    installation = await store.upkeep.installation()
    assert parse_run_id(run, installation) == (after.job, after.run)
    assert after.status is Status.QUEUED
    node = await store.nodes.join(facts(), now=SystemClock().now())
    lanes = Lanes((), frozenset({"charge"}))
    [leased] = await store.runs.lease(node, lanes, limit=9, now=SystemClock().now())
    assert leased.payload == '{"order":2,"note":"%:x \'ü\'"}'


@pytest.mark.parametrize(
    ("driver", "opened"),
    [("asyncpg", "engine.connect()"), ("psycopg", "AsyncSession(engine)")],
)
async def test_sqlalchemy_does_the_same_on_an_event_loop(store, url, driver, opened):
    address = url.replace("postgresql://", f"postgresql+{driver}://")
    program = SQLALCHEMY.format(address=address, opened=opened)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()

    [view] = await made(store)
    assert said.decode().strip().endswith(f"-{view.run:x}")


@pytest.mark.parametrize("opened", [by_blocking_psycopg, by_blocking_session])
async def test_code_without_an_event_loop_does_the_same(store, url, opened):
    def work() -> list[str]:
        with opened(url) as connection:
            charge.blocking.enqueue(order=1, connection=connection)
            connection.rollback()
            soon = charge.blocking.enqueue_in(60, order=2, connection=connection)
            many = [{"order": 3}, {"order": 4}]
            runs = charge.blocking.enqueue_many(many, connection=connection)
            connection.commit()
            return [soon, *runs]

    runs = await asyncio.to_thread(work)

    found = {run.run: run.status for run in await made(store)}
    numbers = [parse_run_id(run, run.partition("-")[0]).run for run in runs]
    assert [found[number] for number in numbers] == [
        *(Status.SCHEDULED, Status.QUEUED, Status.QUEUED)
    ]


async def test_later_and_many_are_part_of_the_transaction_too(store, url):
    at = datetime.now(UTC) + timedelta(hours=1)
    async with by_asyncpg(url) as (connection, transaction):
        await charge.enqueue_in(timedelta(seconds=90), order=1, connection=connection)
        await charge.enqueue_at(at, order=2, connection=connection)
        runs = await charge.enqueue_many([{"order": n} for n in range(50)], connection=connection)
        await transaction.commit()

    views = await made(store)
    assert len(set(runs)) == 50
    assert len(views) == 52
    later = sorted(view.due for view in views if view.status is Status.SCHEDULED)
    assert later[1] == round(at.timestamp() * 1e6)
    assert 0 < later[0] - SystemClock().now() <= 90_000_000


async def test_workers_hear_of_it_when_it_is_committed(store, url):
    heard: list[str] = []
    listening = await asyncpg.connect(url)
    await listening.add_listener("onthedot", lambda *said: heard.append(said[-1]))
    async with by_asyncpg(url) as (connection, transaction):
        await charge.enqueue(order=1, connection=connection)
        await charge.enqueue_in(60, order=1, connection=connection)
        await listening.execute("select 1")
        before = list(heard)
        await transaction.commit()
    for _ in range(200):
        if len(heard) == 2:
            break
        await asyncio.sleep(0.01)
    await listening.close()

    assert (before, sorted(heard)) == ([], ["clock", "queue"])


@pytest.mark.parametrize(
    ("call", "state", "words"),
    [
        ("onthedot_enqueue('nobody')", "OT004", "there is no job with the key 'nobody'"),
        ("onthedot_enqueue('charge', '{')", "22P02", "json"),
        (
            "onthedot_enqueue('charge', to_json(repeat('x', 70000)))",
            "OT005",
            "payload has 70002 bytes",
        ),
        ("onthedot_enqueue('charge', delay => '-1 s')", "OT005", "before now"),
        ("onthedot_enqueue('charge', run_at => '2300-01-01')", "OT005", "after 2199"),
        ("onthedot_enqueue('charge', null, now(), '1 s')", "OT005", "both given"),
    ],
)
async def test_the_function_refuses_what_the_api_would(store, url, call, state, words):
    connection = await asyncpg.connect(url)

    with pytest.raises(asyncpg.PostgresError, match=words) as refused:
        await connection.execute(f"select {call}")

    await connection.close()
    assert refused.value.sqlstate == state
    assert await made(store) == []


async def test_any_client_of_the_database_can_call_it(store, url):
    connection = await asyncpg.connect(url)
    await connection.execute("create schema shop; set search_path to shop")
    run = await connection.fetchval("""select public.onthedot_enqueue('charge', '{"order": 7}')""")
    await connection.close()

    [view] = await made(store)
    assert run.endswith(f"-{view.run:x}")


async def test_what_does_not_fit_is_refused_before_anything_is_sent(store, url):
    async with by_asyncpg(url) as (connection, transaction):
        with pytest.raises(Invalid, match="does not fit charge"):
            await charge.enqueue(orde=1, connection=connection)
        with pytest.raises(Invalid, match="payload has 70021 bytes"):
            await charge.enqueue(order=1, note="x" * 70_000, connection=connection)
        naive = datetime.now(UTC).replace(tzinfo=None)
        with pytest.raises(Invalid, match="has no time zone"):
            await charge.enqueue_at(naive, order=1, connection=connection)
        with pytest.raises(Invalid, match="needs an event loop"):
            charge.blocking.enqueue(order=1, connection=connection)
        await charge.enqueue(order=1, connection=connection)  # the transaction still stands
        await transaction.commit()
    with pytest.raises(Invalid, match="cannot be enqueued through"):
        await charge.enqueue(order=1, connection=object())
    assert len(await made(store)) == 1


def test_a_parameter_called_connection_is_refused_when_it_is_declared():
    with pytest.raises(Invalid, match="a parameter called connection"):

        @App().job(name="odd")
        def odd(connection: str) -> None: ...
