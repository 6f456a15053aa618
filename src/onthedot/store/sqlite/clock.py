"""The clock on SQLite. The writer is alone, so its transaction is the shard's lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

import msgspec

from onthedot.core.firing import Plan
from onthedot.core.instants import Instant
from onthedot.core.model import Cut, Entry, LeasedRun, NewRun, Rule
from onthedot.errors import Taken
from onthedot.store.claims import Lessee, Peeked
from onthedot.store.codec import rule_from, rule_text
from onthedot.store.sqlite.database import SqliteDatabase, as_json
from onthedot.store.sqlite.many import execute_many
from onthedot.store.sqlite.nodes import require_alive
from onthedot.store.sqlite.outcomes import is_taken, record_ranges
from onthedot.store.sqlite.statements import SQL

_HEADS: Final = msgspec.json.Decoder(list[list[Entry]])
_SPECS: Final = msgspec.json.Decoder(list[tuple[int, str]])


class SqliteClock:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def peek(
        self, shards: frozenset[int], *, until: Instant, limit: int, queue: bool = False
    ) -> Peeked:
        def read(db: sqlite3.Connection) -> Peeked:
            peeked = _peek(db, shards, until, limit)
            return replace(peeked, free=_has_free(db, until)) if queue and shards else peeked

        return await self._database.read(read)

    async def fire(self, plan: Plan, *, lessee: Lessee, now: Instant) -> list[LeasedRun]:
        return await self._database.write(lambda db: _fire(db, plan, lessee, now))

    async def horizon(self) -> Instant:
        found = await self._database.read(lambda db: db.execute(SQL["clock.horizon"]).fetchone())
        return int(found[0])

    async def rules(self, ids: Sequence[int]) -> dict[int, Rule]:
        return await self._database.read(lambda db: _rules(db, ids))


def _peek(db: sqlite3.Connection, shards: frozenset[int], until: Instant, limit: int) -> Peeked:
    if not shards:
        return Peeked([], [], False, False)
    each = max(1, limit // len(shards))
    bounds = {"shards": as_json(sorted(shards)), "until": until, "limit": each}
    heads, waiting, has_cuts = db.execute(SQL["clock.peek"], bounds).fetchone()
    by_shard = _HEADS.decode(heads)
    entries = list(chain.from_iterable(by_shard))
    more = any(len(head) == each for head in by_shard)
    if len(entries) > limit:
        # The oldest go first whatever their shard, so every shard gets its turn.
        entries, more = sorted(entries, key=lambda entry: entry.due)[:limit], True
    return Peeked(entries, _cuts_of(db, entries) if has_cuts else [], more, bool(waiting))


def _has_free(db: sqlite3.Connection, until: Instant) -> bool:
    return bool(db.execute(SQL["clock.has_free"], (until,)).fetchone()[0])


def _cuts_of(db: sqlite3.Connection, entries: Sequence[Entry]) -> list[Cut]:
    found = []
    for entry in entries:
        row = db.execute(SQL["clock.cut_of"], (entry.job, entry.version)).fetchone()
        if row is not None:
            job, version, cut, deleted = row
            found.append(Cut(job, version, cut, bool(deleted)))
    return found


def _fire(db: sqlite3.Connection, plan: Plan, lessee: Lessee, now: Instant) -> list[LeasedRun]:
    require_alive(db, lessee.node)
    raise_horizon(db, {entry.shard for entry in plan.taken}, plan.until)
    _advance(db, plan)
    leased = _insert_runs(db, plan, lessee)
    waiting = [_row(run, 0) for run in plan.later if not is_taken(db, run.job, run.run)]
    db.executemany(SQL["runs.insert_waiting"], waiting)
    record_ranges(db, plan.records, now)
    db.executemany(SQL["clock.disarm"], plan.ended)
    db.executemany(
        SQL["clock.set_aside"],
        [(e.job, e.version, e.due, e.rule, why, now) for e, why in plan.broken],
    )
    return leased


def raise_horizon(db: sqlite3.Connection, shards: Iterable[int], until: Instant) -> None:
    bounds = {"shards": as_json(list(shards)), "until": until}
    db.execute(SQL["clock.raise_horizon"], bounds)


def _advance(db: sqlite3.Connection, plan: Plan) -> None:
    """Move the plan's entries to when they come again, and remove those that do not, and closed
    cuts; any difference from what it was made of refuses it.
    """
    moves = [
        (*entry[:4], due)
        for entry, due in zip(plan.taken, plan.nexts, strict=True)
        if due is not None
    ]
    gone = [entry[:4] for entry, due in zip(plan.taken, plan.nexts, strict=True) if due is None]
    found = execute_many(db, SQL["clock.move"], moves)
    found += db.executemany(SQL["clock.take"], gone).rowcount if gone else 0
    if found != len(plan.taken):
        raise Taken("another scheduler took some of these entries")
    if db.execute(SQL["clock.any_cut"]).fetchone()[0]:
        known = set(plan.cuts)
        if any(cut not in known for cut in _cuts_of(db, plan.taken)):
            raise Taken("a job was changed after its entry had been read")
    db.executemany(SQL["clock.close_cut"], plan.closed)


def _insert_runs(db: sqlite3.Connection, plan: Plan, lessee: Lessee) -> list[LeasedRun]:
    """A first version that has not ended never had a rival for an instant: nothing to look for."""
    made = [
        run
        for run in plan.runs
        if (run.version == 1 and not plan.cuts) or not is_taken(db, run.job, run.run)
    ]
    mine, rest = lessee.share(made)
    for runs, fence, owner in ((mine, 1, lessee.node), (rest, 0, None)):
        execute_many(db, SQL["runs.insert_claimed"], [run[:8] for run in runs], (fence, owner))
    return [LeasedRun._make((*run[:8], 1, 0, 1, None)) for run in mine]


def _row(run: NewRun, fence: int) -> tuple[object, ...]:
    return (*run[:8], 1, 0, fence, run.payload, run.expires)


def _rules(db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, Rule]:
    found = {}
    (specs,) = db.execute(SQL["clock.rule_specs"], (as_json(ids),)).fetchone()
    for number, spec in _SPECS.decode(specs):
        try:
            found[number] = rule_from(spec)
        except (ValueError, TypeError, KeyError):
            continue  # its entries are set aside by the plan, which says so
    return found


def intern_rule(db: sqlite3.Connection, rule: Rule) -> int:
    spec = rule_text(rule)
    db.execute(SQL["clock.intern_rule"], (spec,))
    (number,) = db.execute(SQL["clock.rule_id"], (spec,)).fetchone()
    return int(number)
