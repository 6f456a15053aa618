"""Every store that is held to the contract. A new store is one more line in STORES; how PostgreSQL
fares behind a pooler in transaction mode, and a file whose transactions SQLite ends, is asked where
it may differ."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import pytest

from onthedot.store import postgres, sqlite
from onthedot.store.contract import Store
from tests.support.clock import ManualClock
from tests.support.losing import a_losing_store
from tests.support.pooler import POOLERS, pooled
from tests.support.postgres import (
    bare_database,
    empty_database,
    new_database,
    programs,
    shared,
)
from tests.tiers import QUICK

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


async def losing(folder: Path) -> Open:
    return partial(a_losing_store, folder)


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


async def behind(name: str, folder: Path) -> Open:
    """Through a pooler in transaction mode, on a database of its own."""
    pooler, names = pooled(name), databases()
    if name not in names:
        names[name] = await new_database(pooler.server)
        await pooler.fill(names[name])
    await empty_database(pooler.server.url(names[name]))
    return partial(postgres.open_store, pooler.url(names[name]), pool=UNPREPARED)


async def untouched_behind(name: str, folder: Path) -> Open:
    pooler = pooled(name)
    url = pooler.url(await bare_database(pooler.server))
    return partial(postgres.open_store, url, pool=UNPREPARED)


@cache
def databases() -> dict[int | str, str]:
    return {}


def a_postgres(major: int) -> Kind:
    return Kind(
        f"postgres-{major}",
        partial(in_postgres, major),
        partial(untouched_in_postgres, major),
        lasting=True,
    )


def a_pooled(name: str) -> Kind:
    return Kind(
        f"behind-{name}", partial(behind, name), partial(untouched_behind, name), lasting=True
    )


UNPREPARED = postgres.PoolSettings(prepared=False)
STORES = [
    Kind("sqlite-memory", in_memory, in_memory, lasting=False),
    Kind("sqlite-file", in_a_file, in_a_file, lasting=True),
    *(a_postgres(major) for major in programs()),
]
BEHIND_POOLERS = [] if QUICK else [a_pooled(name) for name in POOLERS]
LOSING = Kind("sqlite-losing", losing, losing, lasting=True)
# What a pooler may break are statements, and together these modules use every one of the store's
# but those that set it up, which servers do behind it in tests/integration/test_poolers.py.
USE_ALL_STATEMENTS = frozenset(
    f"test_{what}"
    for what in (
        *("backlog", "cancel", "fire", "jobs", "dead_letters", "nodes", "one_fate"),
        *("outbox", "overview", "receipts", "release", "restored", "upkeep", "versions"),
    )
)

# Together these use every verb that writes.
USE_ALL_WRITES = frozenset(
    f"test_{what}"
    for what in (
        *("backfills", "calendars", "cancel", "complete", "declared", "enqueue_many", "fire"),
        *(
            "dead_letters",
            "nodes",
            "notes",
            "outbox",
            "promote",
            "release",
            "upkeep",
            "zone_records",
        ),
    )
)

_MODULES = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
assert _MODULES >= USE_ALL_STATEMENTS | USE_ALL_WRITES, "a module that was renamed?"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test with every store, and some of them behind every pooler or where all is lost."""
    kinds, module = list(STORES), metafunc.module.__name__.rpartition(".")[2]
    if module in USE_ALL_STATEMENTS:
        kinds += BEHIND_POOLERS
    if module in USE_ALL_WRITES and not QUICK:
        kinds.append(LOSING)
    lasting = [kind for kind in kinds if kind.lasting]
    for fixture, wanted in (("store", kinds), ("place", lasting)):
        if fixture in metafunc.fixturenames:
            ids = [kind.name for kind in wanted]
            metafunc.parametrize(fixture, wanted, indirect=True, ids=ids)


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


@pytest.fixture
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    kind: Kind = request.param
    opened = await (await kind.place(tmp_path))()
    yield opened
    await opened.upkeep.close()


@pytest.fixture
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    kind: Kind = request.param
    place = Place(kind, await kind.place(tmp_path))
    yield place
    for store in place.opened:
        await store.upkeep.close()
