"""The worlds, built once a session each, on every PostgreSQL that there is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache

import pytest

from tests.races.world import World, build
from tests.support.postgres import PostgresServer, programs, shared

PACKAGED, *INSTALLED = programs()
GetWorld = Callable[[str], Awaitable[World]]


@cache
def built(server: PostgresServer) -> dict[str, World]:
    return {}


@pytest.fixture
def packaged() -> PostgresServer:
    return shared(PACKAGED)


@pytest.fixture
def get_world() -> Callable[[PostgresServer, str], Awaitable[World]]:
    async def get(server: PostgresServer, name: str) -> World:
        worlds = built(server)
        if name not in worlds:
            worlds[name] = await build(name, server)
        return worlds[name]

    return get
