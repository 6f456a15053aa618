"""The server, and the stages on which verbs meet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from tests.races.stage import Stage
from tests.races.world import get_world
from tests.support.postgres import PostgresServer, programs, shared

PACKAGED, *INSTALLED = programs()
GetStage = Callable[[PostgresServer, str], Awaitable[Stage]]


@pytest.fixture
def packaged() -> PostgresServer:
    return shared(PACKAGED)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def get_stage() -> AsyncIterator[GetStage]:
    """One stage a world for all rows: a new connection has every plan to make again, which takes
    longer than the races."""
    stages: dict[tuple[PostgresServer, str], Stage] = {}
    async with AsyncExitStack() as stack:

        async def get(server: PostgresServer, name: str) -> Stage:
            if (server, name) not in stages:
                world = await get_world(server, name)
                opening = Stage.of(world, server.url(world.database))
                stages[server, name] = await stack.enter_async_context(opening)
            return stages[server, name]

        yield get
