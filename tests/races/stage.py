"""Holds one verb open just before its commit, lets another one run into it, and says what came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import asyncpg

from onthedot.store.postgres import PostgresStore
from onthedot.store.postgres.database import Connection, PoolSettings, PostgresDatabase
from tests.races.verbs import Verb
from tests.races.world import TABLES, World

Ending = Literal["commit", "roll back"]

PATIENCE_S = 20.0
GLANCE_S = 0.002
ALONE = PoolSettings(size=1, timeout_s=PATIENCE_S, still_s=PATIENCE_S)
WROTE = "select pg_current_xact_id_if_assigned() is not null"
BLOCKED = "select cardinality(pg_blocking_pids($1)) > 0"
STATE = """
select json_build_object(
  'job', (select json_agg(x) from job x),
  'job_version', (select json_agg(x) from job_version x),
  'entry', (
    select json_agg(x) from (
      select 'near' as level, shard, slot, job, version, due
      from near, unnest(jobs, versions, dues) as e(job, version, due)
      union all
      select 'far', shard, slot, job, version, due
      from far, unnest(jobs, versions, dues) as e(job, version, due)
    ) x
  ),
  'cut', (select json_agg(x) from cut x),
  'chain', (select json_agg(x) from chain x),
  'run', (select json_agg(x) from run x),
  'waiting', (select json_agg(x) from waiting x),
  'history', (select json_agg(x) from history x),
  'dead', (select json_agg(x) from dead x),
  'redrive', (select json_agg(x) from redrive x),
  'outbox', (select json_agg(x) from outbox x),
  'node', (select json_agg(x) from node x),
  'signal', (select json_agg(x) from signal x),
  'shard', (select json_agg(x) from shard x)
)
"""

State = dict[str, list[dict[str, Any]]]


class RolledBack(Exception):
    """How a race ends that is not to be committed."""


@dataclass
class Gate:
    """Where the first verb waits before its commit."""

    nth: int
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    ending: Ending = "commit"

    async def pass_through(self, connection: Connection) -> None:
        if self.opened.is_set() or not await connection.fetchval(WROTE):
            return
        self.nth -= 1
        if self.nth > 0:
            return
        self.reached.set()
        await self.opened.wait()
        if self.ending == "roll back":
            raise RolledBack

    def open(self, ending: Ending) -> None:
        self.ending = ending
        self.opened.set()


class LoneDatabase(PostgresDatabase):
    """All on one connection, the heartbeat too: whether it waits for a lock can be seen."""

    @asynccontextmanager
    async def _connection(self, pool: asyncpg.Pool) -> AsyncIterator[Connection]:
        async with super()._connection(self._pool) as connection:
            yield connection


class HeldDatabase(LoneDatabase):
    """A database whose every transaction comes past the gate before it is committed."""

    gate: Gate | None = None

    @asynccontextmanager
    async def _connection(self, pool: asyncpg.Pool) -> AsyncIterator[Connection]:
        async with super()._connection(pool) as connection, connection.transaction():
            yield connection
            if self.gate is not None:
                await self.gate.pass_through(connection)


@dataclass(frozen=True, kw_only=True)
class Race:
    """What happened. `waited`: the second verb was blocked until the first had ended."""

    world: World
    first: Verb
    second: Verb
    ending: Ending
    waited: bool
    answers: tuple[Any, Any]
    died_meanwhile: bool
    state: State

    @property
    def committed(self) -> list[tuple[Verb, Any]]:
        """The verbs that did what they said, in the order of their commits."""
        pairs = [(self.first, self.answers[0]), (self.second, self.answers[1])]
        if not self.waited:
            pairs.reverse()
        return [(verb, answer) for verb, answer in pairs if not isinstance(answer, Exception)]

    def __str__(self) -> str:
        order = "waits" if self.waited else "goes ahead"
        return (
            f"{self.world.name}: {self.first.name}, {self.second.name} {order}, {self.ending}"
            f" → {self.answers[0]!r:.120}, {self.answers[1]!r:.120}"
        )


class Stage:
    """Three connections: of the verb that is held, of the one that runs into it, and of one that
    looks on."""

    def __init__(
        self,
        world: World,
        held: HeldDatabase,
        free: PostgresDatabase,
        looker: asyncpg.Connection,
        pid: int,
    ) -> None:
        self.world = world
        self._held, self._free, self._looker, self._pid = held, free, looker, pid
        self._first, self._second = PostgresStore(held), PostgresStore(free)

    @classmethod
    @asynccontextmanager
    async def of(cls, world: World, url: str) -> AsyncIterator[Stage]:
        held = await HeldDatabase.open(url, ALONE)
        free = await LoneDatabase.open(url, ALONE)
        looker = await asyncpg.connect(url)
        assert isinstance(held, HeldDatabase)
        try:
            pid = await free.value("select pg_backend_pid()")
            yield cls(world, held, free, looker, pid)
        finally:
            await held.close()
            await free.close()
            await looker.close()

    async def sweep(self) -> None:
        """Every race leaves dead rows behind; thousands of them would cost more than the races."""
        await self._looker.execute(f"vacuum {', '.join(TABLES)}")

    async def alone(self, verb: Verb) -> Any:
        """What the verb answers when nobody else is there."""
        await self._restore()
        return await answer_of(verb.act(self._second, self.world))

    async def race(self, first: Verb, second: Verb, ending: Ending) -> Race:
        await self._restore()
        gate = self._held.gate = Gate(first.nth)
        one = asyncio.create_task(answer_of(first.act(self._first, self.world)))
        reached = asyncio.create_task(gate.reached.wait())
        await asyncio.wait({one, reached}, timeout=PATIENCE_S, return_when="FIRST_COMPLETED")
        assert gate.reached.is_set(), f"{first.name} wrote nothing in {self.world.name}: {one}"
        two = asyncio.create_task(answer_of(second.act(self._second, self.world)))
        waited = await self._is_blocked(two)
        died = not waited and await self._is_dead(first)
        gate.open(ending)
        async with asyncio.timeout(PATIENCE_S):
            answers = (await one, await two)
        self._held.gate = None
        return Race(
            world=self.world,
            first=first,
            second=second,
            ending=ending,
            waited=waited,
            answers=answers,
            died_meanwhile=died,
            state=await self._state(),
        )

    async def _is_blocked(self, task: asyncio.Task[Any]) -> bool:
        """Wait until the task is done or stands before a lock; which of the two."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                done, _ = await asyncio.wait({task}, timeout=GLANCE_S)
                if done:
                    return False
                if await self._looker.fetchval(BLOCKED, self._pid):
                    return not task.done()

    async def _is_dead(self, verb: Verb) -> bool:
        if verb.by is None:
            return False
        found = "select dead_at is not null from node where id = $1"
        return bool(await self._looker.fetchval(found, verb.by(self.world)))

    async def _restore(self) -> None:
        """A rollback like any other, which these stores are not to notice."""
        await self._looker.execute("select kept.restore()")
        for database in (self._held, self._free):
            database.memory.seen = database.memory.lost = None

    async def _state(self) -> State:
        found = json.loads(await self._looker.fetchval(STATE))
        return {table: rows or [] for table, rows in found.items()}


async def answer_of(act: Any) -> Any:
    """The answer or the refusal: both are for the judge."""
    try:
        return await act
    except Exception as error:  # noqa: BLE001  (a race is judged by what it leaves, errors included)
        return error
