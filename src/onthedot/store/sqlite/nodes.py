"""Nodes on SQLite. One server holds the file, yet the whole protocol of many nodes is here."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from onthedot.core.instants import Instant
from onthedot.errors import NodeDead
from onthedot.store.contract import Beat, NodeFacts, NodeView
from onthedot.store.sqlite.database import Database
from onthedot.store.sqlite.statements import SQL


class Nodes:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def join(self, facts: NodeFacts, *, now: Instant) -> int:
        return await self._database.write(lambda db: _join(db, facts, now))

    async def beat(self, node: int, *, now: Instant) -> Beat:
        return await self._database.write(lambda db: _beat(db, node, now))

    async def bury(
        self, *, silent_before: Instant, gone: Sequence[int] = (), now: Instant
    ) -> list[int]:
        return await self._database.write(lambda db: _bury(db, silent_before, gone, now))

    async def leave(self, node: int, *, now: Instant) -> None:
        await self._database.write(lambda db: db.execute(SQL["nodes.die"], (now, node)).rowcount)

    async def all(self) -> list[NodeView]:
        return await self._database.read(_all)


def require_alive(db: sqlite3.Connection, node: int) -> None:
    """Nothing of a dead node is committed: every verb of an owner asks this in its own
    transaction.
    """
    if not db.execute(SQL["nodes.is_alive"], (node,)).fetchone()[0]:
        raise NodeDead(
            f"node {node} was declared dead: it was silent for longer than its lease",
            hint="It joins again under a new number by itself; check for long stalls if it recurs.",
        )


def _join(db: sqlite3.Connection, facts: NodeFacts, now: Instant) -> int:
    row = asdict(facts) | {"roles": ",".join(facts.roles), "now": now}
    number = db.execute(SQL["nodes.join"], row).lastrowid
    assert number is not None
    return number


def _beat(db: sqlite3.Connection, node: int, now: Instant) -> Beat:
    require_alive(db, node)
    db.execute(SQL["nodes.beat"], {"node": node, "now": now})
    alive = db.execute(SQL["nodes.alive"]).fetchall()
    return Beat(tuple(number for number, roles in alive if "scheduler" in roles.split(",")))


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
    return [_view(row) for row in db.execute(SQL["nodes.all"])]


def _view(row: tuple[Any, ...]) -> NodeView:
    number, boot_id, host, pid, roles, slots, version, joined_at, beat_at, dead_at = row
    return NodeView(
        number=number,
        facts=NodeFacts(
            boot_id=boot_id,
            host=host,
            pid=pid,
            roles=tuple(roles.split(",")),
            slots=slots,
            version=version,
        ),
        joined_at=joined_at,
        beat_at=beat_at,
        dead=dead_at is not None,
    )
