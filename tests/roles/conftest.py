"""Every test here runs in virtual time, over the real store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest

from onthedot.store.contract import Store
from onthedot.store.sqlite import open_store
from tests.support.clock import ManualClock
from tests.support.roles import FaultyStore, FixedChance, VirtualLoop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"virtual": VirtualLoop}


@pytest.fixture
async def clock() -> ManualClock:
    """The clock that the event loop itself goes by."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.clock


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = await open_store(None, chance=FixedChance())
    yield opened
    await opened.upkeep.close()


@pytest.fixture
async def faulty(store: Store) -> FaultyStore:
    """The same store, with faults where a test wants them."""
    return FaultyStore(store)
