"""Reading the ledger on PostgreSQL: what happened, what is under way, what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from onthedot.core.instants import HOUR, Instant
from onthedot.core.model import is_occurrence, occurrence
from onthedot.core.origin import NOT_MOVED, Origin
from onthedot.core.states import is_over
from onthedot.core.views import RunView
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.statements import SQL
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
from onthedot.store.values import Backlog, Overview, RunStory, Totals, Upcoming

_NEWEST = (1 << 63) - 1
RECENT_US = HOUR
"""The page shows what ended within this; older runs are found by their job."""


class PostgresLedger:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def run(self, job: int, run: int, *, now: Instant) -> RunView:
        return await self._database.snapshot(lambda db: _run(db, job, run, now))

    async def story(self, job: int, run: int, *, now: Instant) -> RunStory:
        async def verb(db: Connection) -> RunStory:
            view = await _run(db, job, run, now)
            found = [past_attempt(row) for row in await db.fetch(SQL["ledger.attempts"], job, run)]
            attempts = found if is_over(view.status) else [*found, live_attempt(view)]
            return RunStory(view, attempts, await _moved(db, view))

        return await self._database.snapshot(verb)

    async def page(
        self, job: int, *, before: int | None, limit: int, now: Instant
    ) -> list[RunView]:
        below = _NEWEST if before is None else before

        async def verb(db: Connection) -> list[RunView]:
            rows = await db.fetch(SQL["ledger.past"], job, below, limit)
            alive = await db.fetch(SQL["ledger.live_of_job"], job, below, limit)
            views = [past_run(row) for row in rows] + await _live(db, alive, now)
            views.sort(key=lambda view: view.run, reverse=True)
            return await _with_origins(db, views[:limit])

        return await self._database.snapshot(verb)

    async def totals(self, *, until: Instant) -> Totals:
        return Totals(*await self._database.row(SQL["ledger.totals"], until))

    async def set_aside(self, job: int) -> str | None:
        why = await self._database.value(SQL["ledger.set_aside"], job)
        return None if why is None else str(why)

    async def backlog(self, *, most: int, now: Instant) -> Backlog:
        async def verb(db: Connection) -> Backlog:
            rows = await db.fetch(SQL["ledger.depths"], now, most)
            depths = depths_of(tuple(row) for row in rows)
            return backlog_of(depths, await db.fetchrow(SQL["ledger.backlog"], most))

        return await self._database.snapshot(verb)

    async def overview(self, *, limit: int, now: Instant) -> Overview:
        return await self._database.snapshot(lambda db: _overview(db, limit, now))


async def _run(db: Connection, job: int, run: int, now: Instant) -> RunView:
    found = await find_run(db, job, run, now)
    if found is None:
        raise no_such_run()
    return (await _with_origins(db, [found]))[0]


async def find_run(db: Connection, job: int, run: int, now: Instant) -> RunView | None:
    rows = await db.fetch(SQL["ledger.live_run"], job, run)
    if rows:
        return (await _live(db, rows, now))[0]
    row = await db.fetchrow(SQL["ledger.past_run"], job, run)
    return None if row is None else (await _with_progress(db, [past_run(row)]))[0]


async def _with_origins(db: Connection, views: Sequence[RunView]) -> list[RunView]:
    """With the failed run that each does again, or the instant that it makes up for; no occurrence
    has either.
    """
    made = [(view.job, view.run) for view in views if not is_occurrence(view.run)]
    if not made:
        return list(views)
    jobs, runs = zip(*made, strict=True)
    rows = await db.fetch(SQL["dead_letters.origins"], jobs, runs)
    origins = {(job, run): old for job, run, old in rows}
    rows = await db.fetch(SQL["backfills.origins"], jobs, runs)
    instants = {(job, run): due for job, run, due in rows}
    return [
        replace(view, redrive_of=origins.get(which), backfill_of=instants.get(which))
        for view in views
        for which in [(view.job, view.run)]
    ]


async def _live(db: Connection, rows: Sequence[Any], now: Instant) -> list[RunView]:
    """After a failed attempt a run shows that error until the next attempt ends."""
    jobs, runs = [row[0] for row in rows], [row[1] for row in rows]
    found = await db.fetch(SQL["ledger.last_errors"], jobs, runs) if rows else []
    errors = {(job, run): error for job, run, error in found}
    views = [live_run(row, error=errors.get((row[0], row[1])), now=now) for row in rows]
    return await _with_progress(db, views)


async def _with_progress(db: Connection, views: Sequence[RunView]) -> list[RunView]:
    if not views:
        return []
    keys = zip(*((view.job, view.run, view.attempt) for view in views), strict=True)
    found = {(job, run): text for job, run, text in await db.fetch(SQL["notes.progress"], *keys)}
    return [replace(view, progress=progress_of(found.get((view.job, view.run)))) for view in views]


async def _overview(db: Connection, limit: int, now: Instant) -> Overview:
    live = await _live(db, await db.fetch(SQL["ledger.live"], now, limit), now)
    failed = [past_run(row) for row in await db.fetch(SQL["ledger.failed"], limit)]
    since = now - RECENT_US
    rows = await db.fetch(SQL["ledger.recent"], occurrence(since), since, limit)
    recent = await _with_origins(db, [past_run(row) for row in rows])
    coming = await db.fetch(SQL["ledger.coming"], limit)
    upcoming = [Upcoming(job=job, due=due) for job, due in coming]
    numbers = {each.job for each in (*live, *failed, *recent)} | {each.job for each in upcoming}
    found = await db.fetch(SQL["ledger.names"], sorted(numbers))
    names = dict.fromkeys(numbers, "(deleted)") | dict(map(tuple, found))
    jobs, queued, set_aside = await db.fetchrow(SQL["ledger.counts"], now)
    return Overview(
        live=live,
        failed=failed,
        recent=recent,
        upcoming=upcoming,
        names=names,
        jobs=jobs,
        queued=queued,
        set_aside=set_aside,
    )


async def _moved(db: Connection, view: RunView) -> Origin:
    if not is_occurrence(view.run) or view.until is not None:
        return NOT_MOVED
    return moved_of(view, await db.fetchrow(SQL["ledger.version"], view.job, view.version))
