"""Nodes on SQLite. One server holds the file, yet the whole protocol of many nodes is here."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import asdict

from onthedot.core.instants import Instant
from onthedot.store.refusals import node_dead
from onthedot.store.rows import beat_of, node_of
from onthedot.store.sqlite.database import Database
from onthedot.store.sqlite.statements import SQL
from onthedot.store.values import IDLE, Beat, Load, NodeFacts, NodeView


class Nodes:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def join(self, facts: NodeFacts, *, now: Instant) -> int:
        return await self._database.write(lambda db: _join(db, facts, now))

    async def beat(self, node: int, *, now: Instant, load: Load = IDLE) -> Beat:
        return await self._database.write(lambda db: _beat(db, node, now, load))

    async def bury(
        self, *, silent_before: Instant, gone: Sequence[int] = (), now: Instant
    ) -> list[int]:
        return await self._database.write(lambda db: _bury(db, silent_before, gone, now))

    async def leave(self, node: int, *, now: Instant) -> None:
        await self._database.write(lambda db: db.execute(SQL["nodes.die"], (now, node)).rowcount)

    async def time(self) -> Instant | None:
        """The database lives on this machine: there is no other clock to ask."""
        return None

    async def all(self) -> list[NodeView]:
        return await self._database.read(_all)


def require_alive(db: sqlite3.Connection, node: int) -> None:
    """Nothing of a dead node is committed: every verb of an owner asks this in its own
    transaction.
    """
    if not db.execute(SQL["nodes.is_alive"], (node,)).fetchone()[0]:
        raise node_dead(node)


def _join(db: sqlite3.Connection, facts: NodeFacts, now: Instant) -> int:
    names = ("roles", "queues", "functions")
    lists = {name: ",".join(getattr(facts, name)) for name in names}
    row = asdict(facts) | lists | {"now": now}
    number = db.execute(SQL["nodes.join"], row).lastrowid
    assert number is not None
    return number


def _beat(db: sqlite3.Connection, node: int, now: Instant, load: Load) -> Beat:
    require_alive(db, node)
    db.execute(SQL["nodes.beat"], {"node": node, "now": now, **asdict(load)})
    return beat_of(db.execute(SQL["nodes.alive"]).fetchall())


def _bury(
    db: sqlite3.Connection, silent_before: Instant, gone: Sequence[int], now: Instant
) -> list[int]:
    silent = [number for (number,) in db.execute(SQL["nodes.silent"], (silent_before,))]
    return [
        number
        for number in sorted({*silent, *gone})
        if db.execute(SQL["nodes.die"], (now, number)).rowcount
    ]


def _all(db: sqlite3.Connection) -> list[NodeView]:
    return [node_of(row) for row in db.execute(SQL["nodes.all"])]
