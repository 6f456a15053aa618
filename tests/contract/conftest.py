"""Every store that is held to the contract. A new store is one more line in STORES."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from onthedot.store.contract import Store
from onthedot.store.sqlite import open_store
from tests.support.clock import ManualClock


@dataclass(frozen=True, slots=True)
class Kind:
    """A store and how it is opened, given an empty folder. `lasting`: it can be opened again."""

    name: str
    open: Callable[[Path], Awaitable[Store]]
    lasting: bool


STORES = [
    Kind("sqlite-memory", lambda folder: open_store(None), lasting=False),
    Kind("sqlite-file", lambda folder: open_store(str(folder / "onthedot.db")), lasting=True),
]


@dataclass(slots=True)
class Place:
    """Where a lasting store lives: the same one, however often it is opened."""

    kind: Kind
    folder: Path
    opened: list[Store] = field(default_factory=list)

    async def open(self) -> Store:
        store = await self.kind.open(self.folder)
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
    opened = await kind.open(tmp_path)
    yield opened
    await opened.upkeep.close()


@pytest.fixture(params=[kind for kind in STORES if kind.lasting], ids=lambda kind: kind.name)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(request.param, tmp_path)
    yield place
    for store in place.opened:
        await store.upkeep.close()
