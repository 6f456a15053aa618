"""Reading the ledger on SQLite: what happened, what is under way, what comes next."""

from __future__ import annotations

import heapq
import sqlite3
from dataclasses import replace
from typing import Any

from onthedot.core.instants import Instant
from onthedot.core.model import SHARDS, is_occurrence
from onthedot.core.origin import NOT_MOVED, Origin
from onthedot.core.views import AttemptView, RunView
from onthedot.store.refusals import no_such_run
from onthedot.store.rows import (
    backlog_of,
    depths_of,
    live_attempt,
    live_run,
    moved_of,
    past_attempt,
    past_run,
    progress_of,
)
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.statements import SQL
from onthedot.store.values import Backlog, Overview, RunStory, Totals, Upcoming

_NEWEST = (1 << 63) - 1


class SqliteLedger:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def run(self, job: int, run: int, *, now: Instant) -> RunView:
        return await self._database.read(lambda db: _run(db, job, run, now))

    async def story(self, job: int, run: int, *, now: Instant) -> RunStory:
        def look(db: sqlite3.Connection) -> RunStory:
            view = _run(db, job, run, now)
            return RunStory(view, _attempts(db, job, run, now), _moved(db, view))

        return await self._database.read(look)

    async def page(
        self, job: int, *, before: int | None, limit: int, now: Instant
    ) -> list[RunView]:
        below = _NEWEST if before is None else before
        return await self._database.read(lambda db: _page(db, job, below, limit, now))

    async def totals(self, *, until: Instant) -> Totals:
        return await self._database.read(
            lambda db: Totals(*db.execute(SQL["ledger.totals"], {"until": until}).fetchone())
        )

    async def set_aside(self, job: int) -> str | None:
        row = await self._database.read(
            lambda db: db.execute(SQL["ledger.set_aside"], {"job": job}).fetchone()
        )
        return None if row is None else str(row[0])

    async def backlog(self, *, most: int, now: Instant) -> Backlog:
        return await self._database.read(lambda db: _backlog(db, most, now))

    async def overview(self, *, limit: int, now: Instant) -> Overview:
        return await self._database.read(lambda db: _overview(db, limit, now))


def _run(db: sqlite3.Connection, job: int, run: int, now: Instant) -> RunView:
    found = find_run(db, job, run, now)
    if found is None:
        raise no_such_run()
    return _with_origin(db, found)


def find_run(db: sqlite3.Connection, job: int, run: int, now: Instant) -> RunView | None:
    which = {"job": job, "run": run}
    row = db.execute(SQL["ledger.live_run"], which).fetchone()
    if row is not None:
        return _live(db, row, now)
    row = db.execute(SQL["ledger.past_run"], which).fetchone()
    return None if row is None else _with_progress(db, past_run(row))


def _page(db: sqlite3.Connection, job: int, before: int, limit: int, now: Instant) -> list[RunView]:
    """Each source in the order of the page, so the first `limit` of all of them are the page."""
    bounds = {"job": job, "before": before, "limit": limit}
    views = [past_run(row) for row in db.execute(SQL["ledger.past"], bounds)]
    for source in ("ledger.live_of_job", "ledger.waiting_of_job"):
        views += [_live(db, row, now) for row in db.execute(SQL[source], bounds)]
    views.sort(key=lambda view: view.run, reverse=True)
    return [_with_origin(db, view) for view in views[:limit]]


def _attempts(db: sqlite3.Connection, job: int, run: int, now: Instant) -> list[AttemptView]:
    which = {"job": job, "run": run}
    found = [past_attempt(row) for row in db.execute(SQL["ledger.attempts"], which)]
    row = db.execute(SQL["ledger.live_run"], which).fetchone()
    if row is not None:
        found.append(live_attempt(_live(db, row, now)))
    return found


def _backlog(db: sqlite3.Connection, most: int, now: Instant) -> Backlog:
    depths = []
    for (lane,) in db.execute(SQL["runs.lanes_with_work"]).fetchall():
        bounds = {"lane": lane, "now": now, "most": most}
        count, oldest = db.execute(SQL["ledger.depth"], bounds).fetchone()
        if count:
            depths.append((lane, count, oldest))
    queues = depths_of(depths)
    return backlog_of(queues, db.execute(SQL["ledger.backlog"], {"most": most}).fetchone())


def _overview(db: sqlite3.Connection, limit: int, now: Instant) -> Overview:
    bounded = {"limit": limit}
    live = [_live(db, row, now) for row in db.execute(SQL["ledger.live"], bounded | {"now": now})]
    failed = [past_run(row) for row in db.execute(SQL["ledger.failed"], bounded)]
    rows = db.execute(SQL["ledger.recent"], bounded).fetchall()
    recent = [_with_origin(db, past_run(row)) for row in rows]
    upcoming = _upcoming(db, limit)
    jobs, queued, set_aside = db.execute(SQL["ledger.counts"], {"now": now}).fetchone()
    numbers = {each.job for each in (*live, *failed, *recent)} | {each.job for each in upcoming}
    return Overview(
        live=live,
        failed=failed,
        recent=recent,
        upcoming=upcoming,
        names={number: _name(db, number) for number in sorted(numbers)},
        jobs=jobs,
        queued=queued,
        set_aside=set_aside,
    )


def _with_origin(db: sqlite3.Connection, view: RunView) -> RunView:
    """With the failed run that it does again, or the instant that it makes up for; no occurrence
    has either.
    """
    if is_occurrence(view.run):
        return view
    row = db.execute(SQL["dead_letters.redrive_of"], (view.job, view.run)).fetchone()
    if row is not None:
        return replace(view, redrive_of=row[0])
    row = db.execute(SQL["backfills.origin"], (view.job, view.run)).fetchone()
    return view if row is None else replace(view, backfill_of=row[0])


def _upcoming(db: sqlite3.Connection, limit: int) -> list[Upcoming]:
    found: list[tuple[Instant, int]] = []
    for shard in range(SHARDS):
        bounds = {"shard": shard, "limit": limit}
        for source in ("ledger.coming_entries", "ledger.coming_runs"):
            found += [(due, job) for job, due in db.execute(SQL[source], bounds)]
    return [Upcoming(job=job, due=due) for due, job in heapq.nsmallest(limit, found)]


def _name(db: sqlite3.Connection, job: int) -> str:
    row = db.execute(SQL["ledger.name_of"], {"job": job}).fetchone()
    return "(deleted)" if row is None else str(row[0])


def _live(db: sqlite3.Connection, row: tuple[Any, ...], now: Instant) -> RunView:
    """After a failed attempt a run shows that error until the next attempt ends."""
    job, run, *_ = row
    last = db.execute(SQL["ledger.last_error"], {"job": job, "run": run}).fetchone()
    return _with_progress(db, live_run(row, error=None if last is None else last[0], now=now))


def _with_progress(db: sqlite3.Connection, view: RunView) -> RunView:
    row = db.execute(SQL["notes.progress"], (view.job, view.run, view.attempt)).fetchone()
    return view if row is None else replace(view, progress=progress_of(row[0]))


def _moved(db: sqlite3.Connection, view: RunView) -> Origin:
    if not is_occurrence(view.run) or view.until is not None:
        return NOT_MOVED
    which = {"job": view.job, "version": view.version}
    return moved_of(view, db.execute(SQL["ledger.version"], which).fetchone())
