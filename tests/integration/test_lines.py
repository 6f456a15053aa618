"""The line to PostgreSQL goes bad: no call hangs, and all is well as soon as the line is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from onthedot.clock import DatabaseClock, SystemClock
from onthedot.errors import StoreUnavailable
from onthedot.roles.membership import BEAT_ANSWER_S, Membership
from onthedot.store.postgres import PoolSettings, PostgresStore, open_store
from tests.integration.test_nodes_kit import PACKAGED
from tests.support import postgres
from tests.support.builders import facts
from tests.support.proxy import Proxy

ANSWER_S = 1.0
CONNECT_S = 0.5
# What a call waits at most: for a connection, for its answer, and for the driver to give up.
BOUND_S = 3 * ANSWER_S + CONNECT_S


@pytest.fixture
async def line() -> AsyncIterator[Proxy]:
    server = postgres.shared(PACKAGED)
    name = await postgres.new_database(server)
    with Proxy(server.url(name)) as proxy:
        yield proxy
    await postgres.drop_database(server, name)


@pytest.fixture
async def store(line: Proxy) -> AsyncIterator[PostgresStore]:
    settings = PoolSettings(size=4, timeout_s=ANSWER_S, connect_s=CONNECT_S)
    opened = await open_store(line.url, pool=settings)
    yield opened
    line.heal()
    await opened.upkeep.close()


async def all_busy(store: PostgresStore) -> None:
    """So many calls at once that every connection of the pool is made and used."""
    await asyncio.gather(*(store.nodes.all() for _ in range(20)))


async def test_a_call_on_a_line_that_swallows_everything_fails_in_time(store, line):
    await all_busy(store)
    line.lose()

    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await store.nodes.all()
    with pytest.raises(StoreUnavailable):  # on a connection that would have to be made
        await store.nodes.all()

    assert time.monotonic() - began <= 2 * BOUND_S


async def test_one_call_that_got_no_answer_is_enough_to_leave_every_old_connection(store, line):
    await all_busy(store)
    line.lose()
    with pytest.raises(StoreUnavailable):
        await store.nodes.all()
    line.heal()

    began = time.monotonic()
    await all_busy(store)

    assert time.monotonic() - began < ANSWER_S


async def test_a_database_that_accepts_and_never_answers_is_given_up_while_opening(line):
    line.lose()

    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await open_store(line.url, pool=PoolSettings(timeout_s=ANSWER_S, connect_s=CONNECT_S))

    assert time.monotonic() - began <= BOUND_S


async def test_a_heartbeat_needs_no_connection_that_others_wait_for(store, line):
    """However many calls hang, the heartbeat has a connection of its own."""
    number = await store.nodes.join(facts(), now=1)
    await all_busy(store)
    hung = [asyncio.create_task(hang(store)) for _ in range(8)]
    await asyncio.sleep(0.1)

    began = time.monotonic()
    await store.nodes.beat(number, now=2)

    assert time.monotonic() - began < 0.5
    await asyncio.gather(*hung)


async def hang(store: PostgresStore) -> None:
    await store.nodes._database.value("select pg_sleep(0.8)")


async def test_a_node_outlives_a_line_that_forgot_its_connections(line):
    """With the real figures: the line is away for a moment, the connections for ever."""
    store = await open_store(line.url)
    clock = DatabaseClock(SystemClock())
    stamp = await store.nodes.time()
    assert stamp is not None
    clock.observe(stamp)
    number = await store.nodes.join(facts(), now=clock.now())
    member = Membership(store, clock, number=number, joined_sent=clock.monotonic())
    await member.step()
    line.lose()
    line.heal()

    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await member.step()
    await member.step()

    assert time.monotonic() - began <= 2 * BEAT_ANSWER_S
    assert member.may_start()
    line.reset()
    await store.upkeep.close()
