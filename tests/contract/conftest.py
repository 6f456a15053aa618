"""Every store that is held to the contract. A new store is one more line in STORES."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import pytest

from onthedot.store import postgres, sqlite
from onthedot.store.contract import Store
from tests.support.clock import ManualClock
from tests.support.postgres import (
    bare_database,
    empty_database,
    new_database,
    programs,
    shared,
)

Open = Callable[[], Awaitable[Store]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A store. `place` gives the way to open it, empty, and `untouched` where there never was one;
    both may use an empty folder. `lasting`: it can be opened again."""

    name: str
    place: Callable[[Path], Awaitable[Open]]
    untouched: Callable[[Path], Awaitable[Open]]
    lasting: bool


async def in_memory(folder: Path) -> Open:
    return partial(sqlite.open_store, None)


async def in_a_file(folder: Path) -> Open:
    return partial(sqlite.open_store, str(folder / "onthedot.db"))


async def in_postgres(major: int, folder: Path) -> Open:
    """One database serves all tests, one after the other: emptying it is faster than a new one."""
    server = shared(major)
    names = databases()
    if major not in names:
        names[major] = await new_database(server)
    url = server.url(names[major])
    await empty_database(url)
    return partial(postgres.open_store, url)


async def untouched_in_postgres(major: int, folder: Path) -> Open:
    server = shared(major)
    return partial(postgres.open_store, server.url(await bare_database(server)))


@cache
def databases() -> dict[int, str]:
    return {}


def a_postgres(major: int) -> Kind:
    return Kind(
        f"postgres-{major}",
        partial(in_postgres, major),
        partial(untouched_in_postgres, major),
        lasting=True,
    )


STORES = [
    Kind("sqlite-memory", in_memory, in_memory, lasting=False),
    Kind("sqlite-file", in_a_file, in_a_file, lasting=True),
    *(a_postgres(major) for major in programs()),
]


@dataclass(slots=True)
class Place:
    """Where a lasting store lives: the same one, however often it is opened."""

    kind: Kind
    here: Open
    opened: list[Store] = field(default_factory=list)

    async def open(self) -> Store:
        store = await self.here()
        self.opened.append(store)
        return store

    async def install(self, folder: Path) -> Store:
        """A store of the same kind in a place that has never seen one."""
        store = await (await self.kind.untouched(folder))()
        self.opened.append(store)
        return store

    async def close(self, store: Store) -> None:
        self.opened.remove(store)
        await store.upkeep.close()

    async def reopen(self, store: Store) -> Store:
        await self.close(store)
        return await self.open()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=STORES, ids=lambda kind: kind.name)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    kind: Kind = request.param
    opened = await (await kind.place(tmp_path))()
    yield opened
    await opened.upkeep.close()


@pytest.fixture(params=[kind for kind in STORES if kind.lasting], ids=lambda kind: kind.name)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    kind: Kind = request.param
    place = Place(kind, await kind.place(tmp_path))
    yield place
    for store in place.opened:
        await store.upkeep.close()
