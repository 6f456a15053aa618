"""A database that is not as a process remembers it: what is refused, and how it goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing, suppress

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.model import CALLBACKS, LeasedRun
from onthedot.errors import NodeDead, StoreUnavailable, StoreWentBack, Taken
from onthedot.store.postgres import PoolSettings, PostgresStore
from onthedot.store.postgres.database import PostgresDatabase
from onthedot.store.sqlite import open_store as open_sqlite
from tests.integration.test_nodes_kit import PACKAGED
from tests.support import postgres
from tests.support.builders import (
    a_definition,
    a_held_run,
    a_job,
    a_node,
    claim,
    every,
    facts,
    fire,
    plan,
    ref,
    succeeded,
)
from tests.support.clock import ManualClock


class World:
    """A store, and the database behind it, by a way of its own."""

    def __init__(self, url: str, database: PostgresDatabase) -> None:
        self.url = url
        self.database = database
        self.store = PostgresStore(database)
        self.clock = ManualClock()
        self.held: LeasedRun | None = None

    async def tell(self, script: str) -> None:
        await postgres._tell(self.url, script)

    async def beat(self, node: int) -> bool:
        """Whether the database has moved."""
        self.clock.advance(SECOND)
        return (await self.store.nodes.beat(node, now=self.clock.now())).moved

    async def restart(self) -> None:
        """As far as can be told from inside."""
        await self.tell(
            "create or replace function server_started() returns bigint language sql stable"
            " as $$ select 4711::bigint $$"
        )

    async def fail_over(self) -> None:
        await self.restart()
        await self.tell(
            "create or replace function place_in_log(out timeline bigint, out flushed bigint)"
            " language sql as $$ select 2::bigint, 1::bigint $$"
        )


@pytest.fixture
async def world() -> AsyncIterator[World]:
    server = postgres.shared(PACKAGED)
    name = await postgres.new_database(server)
    url = server.url(name)
    database = await PostgresDatabase.open(url, PoolSettings(size=2))
    yield World(url, database)
    await database.close()
    await postgres.drop_database(server, name)


ROLLBACKS = {
    "its heartbeat is older": "update node set beat_at = beat_at - 1",
    "its row is gone": "delete from node",
    "its number is another's": "update node set joined_at = joined_at + 1",
    "its epoch is older": "update installation set epoch = epoch - 1",
    "numbers went back": "select setval(pg_get_serial_sequence('job', 'id'), 1, false)",
}


@pytest.mark.parametrize("script", ROLLBACKS.values(), ids=ROLLBACKS)
async def test_a_heartbeat_notices_that_the_database_went_back(world, script):
    node = await a_node(world.store, world.clock)
    await a_job(world.store, world.clock)
    await world.beat(node)

    await world.tell(script)

    with pytest.raises(StoreWentBack):
        await world.beat(node)


async def test_a_heartbeat_notices_that_another_nodes_went_back(world):
    node, other = [await a_node(world.store, world.clock) for _ in range(2)]
    await world.beat(other)
    await world.beat(node)

    await world.tell(f"update node set beat_at = beat_at - 1 where id = {other}")

    with pytest.raises(StoreWentBack, match=f"a heartbeat of node {other}"):
        await world.beat(node)


async def test_a_heartbeat_leaves_what_shows_a_rollback_as_it_is(world):
    node = await a_node(world.store, world.clock)
    await world.beat(node)
    await world.tell("update node set beat_at = 1")

    for _ in range(2):
        with suppress(StoreWentBack):
            await world.beat(node)

    another = PostgresStore(await PostgresDatabase.open(world.url, PoolSettings(size=1)))
    assert [each.beat_at for each in await another.nodes.all()] == [1]
    await another.upkeep.close()


Verb = Callable[[World, int], Awaitable[object]]


def held(world: World) -> LeasedRun:
    assert world.held is not None
    return world.held


VERBS: dict[str, Verb] = {
    "claim": lambda world, node: claim(world.store, world.clock, node),
    "lease": lambda world, node: world.store.runs.lease(node, CALLBACKS, limit=1, now=0),
    "finish": lambda world, node: world.store.runs.finish(
        node, [succeeded(held(world), world.clock)], now=0
    ),
    "release": lambda world, node: world.store.runs.release(node, [ref(held(world))], now=0),
    "started": lambda world, node: world.store.runs.started(node, {ref(held(world)): 0}),
    "note": lambda world, node: world.store.notes.add(node, []),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("script", ["update node set beat_at = beat_at - 1", None])
async def test_until_a_heartbeat_has_looked_no_owner_writes(world, verb, script):
    node = await a_node(world.store, world.clock)
    await world.beat(node)
    await a_job(world.store, world.clock, schedule=every(1))
    world.held = await a_held_run(world.store, world.clock, node)
    world.clock.advance(2 * SECOND)

    await (world.tell(script) if script else world.restart())

    with pytest.raises(StoreUnavailable, match="restarted or replaced"):
        await verb(world, node)


async def test_after_a_restart_a_heartbeat_says_so_and_everything_goes_on(world):
    node = await a_node(world.store, world.clock)
    job = await a_job(world.store, world.clock, schedule=every(1))
    assert not await world.beat(node)
    world.clock.advance(2 * SECOND)
    planned = await plan(world.store, world.clock)

    await world.restart()

    assert await world.beat(node)
    assert not await world.beat(node)
    with pytest.raises(Taken):  # by rules that may mean something else now
        await fire(world.store, world.clock, node, planned)
    assert {run.job for run in await claim(world.store, world.clock, node)} == {job.id}
    assert await world.store.upkeep.gaps() == []


async def test_after_a_failover_numbers_begin_anew_and_the_node_stays(world):
    node = await a_node(world.store, world.clock)
    before = await a_job(world.store, world.clock)
    await world.beat(node)

    await world.fail_over()

    assert await world.beat(node)
    assert not await world.beat(node)
    after = await a_job(world.store, world.clock)
    assert after.id >> 32 > before.id >> 32
    assert await world.store.upkeep.gaps() == []


async def test_a_node_joins_anew_under_a_number_that_nobody_ever_had(world):
    store, clock = world.store, world.clock
    node = await store.nodes.join(facts("us"), now=clock.now())
    other = await store.nodes.join(facts("them"), now=clock.now())
    job = await a_job(store, clock)
    known = clock.now()
    await world.beat(node)
    await world.tell(f"update node set beat_at = {known}")
    with pytest.raises(StoreWentBack):
        await world.beat(node)
    with pytest.raises(StoreWentBack):  # nor is anything else done before that
        await store.jobs.get(job.id)

    again = await store.nodes.join(facts("us"), now=clock.now())

    assert again >> 20 > 0
    [gap] = await store.upkeep.gaps()
    assert (gap.since, gap.until) == (known, known + SECOND)
    assert (await store.jobs.get(job.id)).id == job.id
    assert (await a_job(store, clock)).id >> 32 == again >> 20
    dead = {each.number for each in await store.nodes.all() if each.dead}
    assert (node in dead, other in dead) == (True, False)
    assert not await world.beat(again)
    with pytest.raises(NodeDead):
        await store.nodes.beat(node, now=clock.now())


async def test_the_second_process_that_notices_begins_no_second_epoch(world):
    stores = [
        PostgresStore(await PostgresDatabase.open(world.url, PoolSettings(size=1)))
        for _ in range(2)
    ]
    nodes = [await store.nodes.join(facts(f"{n}"), now=1) for n, store in enumerate(stores)]
    for store, node in zip(stores, nodes, strict=True):
        await store.nodes.beat(node, now=1_000)
    await world.tell("update node set beat_at = 1")

    again = []
    for n, (store, node) in enumerate(zip(stores, nodes, strict=True)):
        with pytest.raises(StoreWentBack):
            await store.nodes.beat(node, now=2_000)
        again.append(await store.nodes.join(facts(f"{n}"), now=2_000))

    assert len({number >> 20 for number in again}) == 1
    assert len(await stores[0].upkeep.gaps()) == 1
    for store in stores:
        await store.upkeep.close()


async def test_a_create_notices_that_a_number_is_given_out_again(world):
    node = await a_node(world.store, world.clock)
    await world.store.jobs.create_many([a_definition()] * 3, now=world.clock.now())
    await world.tell("select setval(pg_get_serial_sequence('job', 'id'), 2)")

    with pytest.raises(StoreWentBack):
        await a_job(world.store, world.clock)

    with pytest.raises(StoreWentBack):
        await world.beat(node)


async def test_rules_are_looked_up_again_by_who_creates_on_another_server(world):
    await a_node(world.store, world.clock)
    definitions = [a_definition(schedule=every(7))] * 2
    await world.store.jobs.create_many(definitions, now=world.clock.now())
    await world.tell(
        "alter table rule alter id set generated by default; update rule set id = id + 100"
    )
    await world.restart()

    [job, _] = await world.store.jobs.create_many(definitions, now=world.clock.now())

    found = await world.database.value("select rule > 100 from job where id = $1", job)
    assert found


@pytest.mark.parametrize("change", ["beat_at = beat_at - 1", "joined_at = joined_at + 1"])
async def test_a_heartbeat_notices_that_the_content_of_a_file_was_replaced(tmp_path, change):
    store, clock = await open_sqlite(str(tmp_path / "db")), ManualClock()
    node = await a_node(store, clock)
    await store.nodes.beat(node, now=clock.advance(SECOND))
    with closing(sqlite3.connect(tmp_path / "db")) as connection:
        connection.execute(f"update node set {change}")
        connection.commit()

    with pytest.raises(StoreWentBack):
        await store.nodes.beat(node, now=clock.advance(SECOND))

    again = await a_node(store, clock)
    await store.nodes.beat(again, now=clock.advance(SECOND))
    assert again >> 20 == (await a_job(store, clock)).id >> 32 > 0
    await store.upkeep.close()
