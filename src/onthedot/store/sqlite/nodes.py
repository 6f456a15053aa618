"""Nodes on SQLite. One server holds the file, yet the whole protocol of many nodes is here."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from zlib import crc32

from onthedot.core.instants import Instant
from onthedot.core.sightings import Pulse
from onthedot.core.views import IDLE, Load, NodeFacts, NodeView
from onthedot.errors import StoreWentBack
from onthedot.store.refusals import node_dead, store_went_back
from onthedot.store.rows import beat_of, node_of
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.statements import SQL
from onthedot.store.sqlite.upkeep import begin_epoch
from onthedot.store.values import Heartbeat

_REPLACED = "the content of the file was replaced"


class SqliteNodes:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._pulses: dict[int, Pulse] = {}
        self._lost = False

    async def join(self, facts: NodeFacts, *, now: Instant) -> int:
        if self._lost:
            chance = crc32(facts.boot_id.encode()) >> 1
            await self._database.write(lambda db: begin_epoch(db, now, chance, _REPLACED))
            self._lost = False
        number = await self._database.write(lambda db: _join(db, facts, now))
        self._pulses = {number: Pulse(now, now)}
        return number

    async def beat(self, node: int, *, now: Instant, load: Load = IDLE) -> Heartbeat:
        seen = self._pulses.get(node)
        try:
            beat, pulse = await self._database.write(lambda db: _beat(db, node, now, load, seen))
        except StoreWentBack:
            self._lost = True
            raise
        self._pulses[node] = pulse
        return beat

    async def declare_dead(
        self, *, silent_before: Instant, gone: Sequence[int] = (), now: Instant
    ) -> list[int]:
        return await self._database.write(lambda db: _declare_dead(db, silent_before, gone, now))

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


def _beat(
    db: sqlite3.Connection, node: int, now: Instant, load: Load, seen: Pulse | None
) -> tuple[Heartbeat, Pulse]:
    found = db.execute(SQL["nodes.pulse"], (node,)).fetchone()
    if seen is not None and found is not None:
        pulse = Pulse(*found)
        # A copy put in the place of the file's content, under a server that has it open.
        if pulse.joined_at != seen.joined_at or pulse.beat_at < seen.beat_at:
            raise store_went_back(f"the heartbeat of node {node} is older than it was")
    require_alive(db, node)
    db.execute(SQL["nodes.beat"], {"node": node, "now": now, **asdict(load)})
    pulse = Pulse(*db.execute(SQL["nodes.pulse"], (node,)).fetchone())
    return beat_of(db.execute(SQL["nodes.alive"]).fetchall()), pulse


def _declare_dead(
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
