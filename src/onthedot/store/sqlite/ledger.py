"""Reading the ledger on SQLite: what happened, what is under way, what comes next."""

from __future__ import annotations

import heapq
import sqlite3
from typing import Any

from onthedot.core.instants import Instant
from onthedot.core.model import SHARDS
from onthedot.core.states import live_status
from onthedot.errors import NotFound
from onthedot.store.codec import STATUS_OF_CODE
from onthedot.store.contract import AttemptView, Overview, RunView, Upcoming
from onthedot.store.sqlite.database import Database
from onthedot.store.sqlite.statements import SQL

_NEWEST = (1 << 63) - 1


class Ledger:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, job: int, run: int, *, now: Instant) -> RunView:
        return await self._database.read(lambda db: _run(db, job, run, now))

    async def attempts(self, job: int, run: int, *, now: Instant) -> list[AttemptView]:
        return await self._database.read(lambda db: _attempts(db, job, run, now))

    async def page(
        self, job: int, *, before: int | None, limit: int, now: Instant
    ) -> list[RunView]:
        below = _NEWEST if before is None else before
        return await self._database.read(lambda db: _page(db, job, below, limit, now))

    async def overview(self, *, limit: int, now: Instant) -> Overview:
        return await self._database.read(lambda db: _overview(db, limit, now))


def _run(db: sqlite3.Connection, job: int, run: int, now: Instant) -> RunView:
    which = {"job": job, "run": run}
    row = db.execute(SQL["ledger.live_run"], which).fetchone()
    if row is not None:
        return _live(db, row, now)
    row = db.execute(SQL["ledger.past_run"], which).fetchone()
    if row is not None:
        return _past(row)
    raise NotFound(
        "there is no such run",
        hint="It may be older than the retention; GET /v1/jobs/{jobId}/runs lists a job's runs.",
    )


def _page(db: sqlite3.Connection, job: int, before: int, limit: int, now: Instant) -> list[RunView]:
    """Each source in the order of the page, so the first `limit` of all of them are the page."""
    bounds = {"job": job, "before": before, "limit": limit}
    views = [_past(row) for row in db.execute(SQL["ledger.past"], bounds)]
    for source in ("ledger.live_of_job", "ledger.waiting_of_job"):
        views += [_live(db, row, now) for row in db.execute(SQL[source], bounds)]
    views.sort(key=lambda view: view.run, reverse=True)
    return views[:limit]


def _attempts(db: sqlite3.Connection, job: int, run: int, now: Instant) -> list[AttemptView]:
    which = {"job": job, "run": run}
    found = [
        AttemptView(
            attempt=attempt,
            status=STATUS_OF_CODE[status],
            started_at=started,
            finished_at=finished,
            error=error,
            output=output,
            reason=reason,
        )
        for attempt, status, started, finished, error, output, reason in db.execute(
            SQL["ledger.attempts"], which
        )
    ]
    row = db.execute(SQL["ledger.live_run"], which).fetchone()
    if row is not None:
        live = _live(db, row, now)
        found.append(
            AttemptView(
                attempt=live.attempt,
                status=live.status,
                started_at=live.started_at,
                finished_at=None,
                error=None,
                output=None,
                reason=None,
            )
        )
    return found


def _overview(db: sqlite3.Connection, limit: int, now: Instant) -> Overview:
    bounded = {"limit": limit}
    live = [_live(db, row, now) for row in db.execute(SQL["ledger.live"], bounded | {"now": now})]
    failed = [_past(row) for row in db.execute(SQL["ledger.failed"], bounded)]
    recent = [_past(row) for row in db.execute(SQL["ledger.recent"], bounded)]
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


def _past(row: tuple[Any, ...]) -> RunView:
    job, run, version, status, due, attempt, rescues, started, finished, *rest = row
    error, output, reason, until, count = rest
    return RunView(
        job=job,
        run=run,
        version=version,
        status=STATUS_OF_CODE[status],
        due=due,
        at=due,
        attempt=attempt,
        rescues=rescues,
        started_at=started,
        finished_at=finished,
        error=error,
        output=output,
        reason=reason,
        until=until,
        count=count,
    )


def _live(db: sqlite3.Connection, row: tuple[Any, ...], now: Instant) -> RunView:
    """A run that is not over. After a failed attempt it shows that error until the next one
    ends.
    """
    job, run, version, due, at, attempt, rescues, owner, started = row
    error = None
    if attempt > 1:
        last = db.execute(SQL["ledger.last_error"], {"job": job, "run": run}).fetchone()
        error = None if last is None else last[0]
    return RunView(
        job=job,
        run=run,
        version=version,
        status=live_status(at=at, started=started, owned=owner is not None, now=now),
        due=due,
        at=at,
        attempt=attempt,
        rescues=rescues,
        started_at=started,
        error=error,
        reason="waiting for a retry" if attempt > 1 and owner is None else None,
    )
