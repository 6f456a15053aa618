"""Live and waiting runs on SQLite: how they are made, leased, given back and ended."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from onthedot.core.ending import EndedRun
from onthedot.core.instants import Instant
from onthedot.core.model import (
    Lanes,
    LeasedRun,
    Outcome,
    RunRef,
    is_occurrence,
    shard_of,
)
from onthedot.core.states import Status
from onthedot.core.traits import is_at_most_once
from onthedot.store.claims import Finished, Lessee, Promoted
from onthedot.store.codec import RETRIED, STATUS_OF_CODE
from onthedot.store.refusals import no_such_run, run_over
from onthedot.store.sqlite.chains import links_among
from onthedot.store.sqlite.clock import raise_horizon
from onthedot.store.sqlite.completing import complete, query
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.enqueueing import enqueue
from onthedot.store.sqlite.many import execute_many
from onthedot.store.sqlite.nodes import require_alive
from onthedot.store.sqlite.outcomes import (
    HeldRun,
    end_runs,
    end_unstarted,
    is_taken,
    lose,
    signal_for,
)
from onthedot.store.sqlite.statements import SQL
from onthedot.store.transactions import Statement, Table
from onthedot.store.values import CancelVerdict, Created, EnqueueRequest, Receipt, Rescued, Signal


class Waiting(NamedTuple):
    """A row of the waiting table: a run to come, and until when it may be late."""

    job: int
    run: int
    version: int
    lane: str
    traits: int
    priority: int
    due: Instant
    at: Instant
    attempt: int
    rescues: int
    fence: int
    payload: str | None
    expires: Instant | None


class SqliteRuns:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def enqueue(
        self,
        job: int,
        *,
        due: Instant,
        payload: str | None,
        now: Instant,
        receipt: Receipt | None = None,
    ) -> Created:
        return await self.enqueue_many(
            job, [EnqueueRequest(due, payload)], now=now, receipt=receipt
        )

    async def enqueue_many(
        self,
        job: int,
        asked: Sequence[EnqueueRequest],
        *,
        now: Instant,
        receipt: Receipt | None = None,
    ) -> Created:
        return await self._database.write(lambda db: enqueue(db, job, asked, now, receipt))

    async def promote(
        self,
        shards: frozenset[int],
        *,
        until: Instant,
        lessee: Lessee,
        limit: int,
        now: Instant,
    ) -> Promoted:
        return await self._database.write(
            lambda db: _promote(db, _coming(db, shards, until, limit), lessee, now)
        )

    async def lease(self, node: int, lanes: Lanes, *, limit: int, now: Instant) -> list[LeasedRun]:
        return await self._database.write(lambda db: _lease(db, node, lanes, limit, now))

    async def started(self, node: int, starts: Mapping[RunRef, Instant]) -> None:
        rows = [(at, ref.job, ref.run, node, ref.fence) for ref, at in starts.items()]
        await self._database.write(lambda db: _started(db, node, rows))

    async def finish(self, node: int, outcomes: Sequence[Outcome], *, now: Instant) -> Finished:
        return await self._database.write(lambda db: _finish(db, node, outcomes, now))

    async def complete(
        self,
        ref: RunRef,
        attempt: int,
        statements: Sequence[Statement],
        *,
        started: Instant,
        now: Instant,
    ) -> None:
        outcome = Outcome(ref.job, ref.run, attempt, ref.fence, Status.SUCCEEDED, started, now)
        await self._database.write(
            lambda db: complete(
                *(db, ref, attempt, statements),
                lambda node: _finish(db, node, [outcome], now),
            )
        )

    async def query(self, statement: Statement) -> Table:
        return await self._database.read(lambda db: query(db, statement))

    async def release(self, node: int, refs: Sequence[RunRef], *, now: Instant) -> int:
        return await self._database.write(lambda db: _release(db, node, refs, now))

    async def owned(self, node: int) -> list[RunRef]:
        return await self._database.read(
            lambda db: [RunRef._make(row) for row in db.execute(SQL["runs.owned"], (node,))]
        )

    async def rescue(self, *, limit: int, now: Instant) -> Rescued:
        return await self._database.write(lambda db: _rescue(db, limit, now))

    async def cancel(self, job: int, run: int, *, now: Instant) -> CancelVerdict:
        return await self._database.write(lambda db: _cancel(db, job, run, now))

    async def signals(self, node: int) -> list[Signal]:
        return await self._database.read(
            lambda db: [Signal._make(row) for row in db.execute(SQL["runs.signals"], (node,))]
        )


def _coming(
    db: sqlite3.Connection, shards: frozenset[int], until: Instant, limit: int
) -> list[Waiting]:
    rows: list[Waiting] = []
    for shard in sorted(shards):
        bounds = {"shard": shard, "until": until, "limit": limit}
        rows += map(Waiting._make, db.execute(SQL["runs.coming"], bounds))
    return sorted(rows, key=lambda row: (row.at, row.job, row.run))[:limit]


def _promote(
    db: sqlite3.Connection, rows: Sequence[Waiting], lessee: Lessee, now: Instant
) -> Promoted:
    require_alive(db, lessee.node)
    leased: list[LeasedRun] = []
    unowned: list[Instant] = []
    for row in rows:
        if row.attempt == 1 and row.expires is not None and row.expires < now:
            _miss(db, row, now)
            continue
        db.execute(SQL["runs.leave_waiting"], (row.job, row.run))
        if row.attempt == 1 and is_occurrence(row.run):
            if is_taken(db, row.job, row.run):
                continue
            # An edit must know that this instant is claimed, as it does of those in the clock.
            raise_horizon(db, [shard_of(row.job)], row.at)
        current = db.execute(SQL["runs.job_of"], (row.job,)).fetchone()
        version, lane, traits, _ = current or row[2:6]
        takes = len(leased) < lessee.own and lessee.takes(lane, traits)
        owner = lessee.node if takes else None
        run = LeasedRun._make(row[:-1])._replace(
            version=version, lane=lane, traits=traits, fence=row.fence + (owner is not None)
        )
        db.execute(SQL["runs.insert_live"], (*run, None, owner))
        if owner is None:
            unowned.append(run.at)
        else:
            leased.append(run)
    return Promoted(leased, len(rows), tuple(unowned))


def _miss(db: sqlite3.Connection, row: Waiting, now: Instant) -> None:
    """Nothing was ever tried, so it is a record like any other missed occurrence: attempt 0."""
    run = HeldRun(
        *(row.job, row.run, row.version, 0, row.rescues, row.fence, row.due, None, None),
        *(row.payload, row.traits),
    )
    reason = "nobody claimed it within its window, catchUp is none"
    end_unstarted(db, run, Status.MISSED, reason=reason, now=now)


def _lease(
    db: sqlite3.Connection, node: int, lanes: Lanes, limit: int, now: Instant
) -> list[LeasedRun]:
    require_alive(db, node)
    wanted = [lane for (lane,) in db.execute(SQL["runs.lanes_with_work"]) if lanes.take(lane)]
    free: list[tuple[Instant, int, int]] = []
    for lane in wanted:
        bounds = {"lane": lane, "now": now, "limit": limit}
        free += [(rank, job, run) for job, run, rank in db.execute(SQL["runs.free"], bounds)]
    leased = []
    for _, job, run in sorted(free)[:limit]:
        rows = db.execute(SQL["runs.lease"], {"node": node, "job": job, "run": run}).fetchall()
        leased += [LeasedRun._make(row) for row in rows]
    return leased


def _started(db: sqlite3.Connection, node: int, rows: Sequence[tuple[int, ...]]) -> None:
    require_alive(db, node)
    db.executemany(SQL["runs.started"], rows)


def _finish(
    db: sqlite3.Connection, node: int, outcomes: Sequence[Outcome], now: Instant
) -> Finished:
    require_alive(db, node)
    cancel_requests, chains = map(bool, db.execute(SQL["runs.what_else"]).fetchone())
    links = links_among(db, outcomes) if chains else set()
    plain: list[Outcome] = []
    rest: list[Outcome] = []
    for outcome in outcomes:
        is_plain = outcome.status is Status.SUCCEEDED and not cancel_requests
        is_plain = is_plain and not (links and outcome[:2] in links)
        (plain if is_plain else rest).append(outcome)
    return _finish_plainly(db, node, plain) + _finish_singly(db, node, rest, cancel_requests)


def _finish_plainly(db: sqlite3.Connection, node: int, outcomes: Sequence[Outcome]) -> Finished:
    """Successes, to which nothing is attached: two statements for all of them."""
    if not outcomes:
        return Finished()
    last = db.execute(SQL["runs.last_recorded"]).fetchone()
    rows = [_end_row(outcome) for outcome in outcomes]
    accepted = execute_many(db, SQL["runs.finish_plainly"], rows, (node,))
    db.execute(SQL["runs.leave_finished"], last)
    if accepted == len(outcomes):
        return Finished(accepted, 0, 0, None)
    # Those that were accepted are in history by now, too.
    repeated = sum(_is_recorded(db, outcome) for outcome in outcomes) - accepted
    return Finished(accepted, repeated, len(outcomes) - accepted - repeated, None)


def _end_row(outcome: Outcome) -> tuple[object, ...]:
    said = outcome[7:10]
    if said == (None, None, None):
        return (*outcome[:4], *outcome[5:7], 0, 0, 0)
    return (*outcome[:4], *outcome[5:7], *(0 if text is None else text for text in said))


def _finish_singly(
    db: sqlite3.Connection, node: int, outcomes: Sequence[Outcome], cancel_requests: bool
) -> Finished:
    """One after the other; those that are retried do not end."""
    refused: list[Outcome] = []
    ended: list[EndedRun] = []
    retries: list[Instant] = []
    for outcome in outcomes:
        key = {"job": outcome.job, "run": outcome.run, "node": node}
        fenced = key | {"fence": outcome.fence, "attempt": outcome.attempt}
        rows = db.execute(SQL["runs.finish"], fenced).fetchall()
        if not rows:
            refused.append(outcome)
            continue
        (row,) = rows
        final = _cancelled_if_requested(db, outcome, node) if cancel_requests else outcome
        if final.retry_at is None:
            ended.append(_ended(final, row, node))
        else:
            _wait_for_retry(db, final, row, node)
            retries.append(final.retry_at)
    following = end_runs(db, ended)
    soonest = min((at for at in (*retries, following) if at is not None), default=None)
    # What was given twice is in history by now, too.
    repeated = sum(_is_recorded(db, outcome) for outcome in refused)
    accepted = len(ended) + len(retries)
    return Finished(accepted, repeated, len(refused) - repeated, soonest)


def _is_recorded(db: sqlite3.Connection, outcome: Outcome) -> bool:
    row = db.execute(
        SQL["runs.recorded_fence"], (outcome.job, outcome.run, outcome.attempt)
    ).fetchone()
    return row is not None and row[0] == outcome.fence


def _cancelled_if_requested(db: sqlite3.Connection, outcome: Outcome, node: int) -> Outcome:
    """A run that somebody wants to end gets no further attempt."""
    cancel_request = signal_for(db, node, outcome.job, outcome.run)
    if cancel_request is None:
        return outcome
    if outcome.retry_at is None:
        return outcome
    return outcome._replace(status=Status.CANCELLED, retry_at=None, reason=cancel_request)


def _ended(outcome: Outcome, row: tuple[Any, ...], node: int) -> EndedRun:
    version, _, traits, _, due, rescues, payload = row
    return EndedRun(
        *(outcome.job, outcome.run, outcome.attempt, outcome.fence, version, outcome.status, due),
        *(outcome.started, outcome.finished, node, rescues),
        *(outcome.error, outcome.output, outcome.reason, payload, traits),
    )


def _wait_for_retry(
    db: sqlite3.Connection, outcome: Outcome, row: tuple[Any, ...], node: int
) -> None:
    version, lane, traits, priority, due, rescues, payload = row
    db.execute(
        SQL["runs.append"],
        (
            *(outcome.job, outcome.run, outcome.attempt, outcome.fence, version, RETRIED, due),
            *(outcome.started, outcome.finished, node, rescues),
            *(outcome.error, outcome.output, outcome.reason, None, None),
        ),
    )
    db.execute(
        SQL["runs.insert_waiting"],
        (
            *(outcome.job, outcome.run, version, lane, traits, priority, due, outcome.retry_at),
            *(outcome.attempt + 1, rescues, outcome.fence + 1, payload, None),
        ),
    )


def _release(db: sqlite3.Connection, node: int, refs: Sequence[RunRef], now: Instant) -> int:
    require_alive(db, node)
    released = 0
    for ref in refs:
        bounds = {"job": ref.job, "run": ref.run, "node": node, "fence": ref.fence}
        row = db.execute(SQL["runs.held"], bounds).fetchone()
        if row is not None:
            _leave_owner(db, HeldRun._make(row), SQL["runs.give_back"], now)
            released += 1
    return released


def _rescue(db: sqlite3.Connection, limit: int, now: Instant) -> Rescued:
    rescued = lost = 0
    for (node,) in db.execute(SQL["nodes.unsettled"]).fetchall():
        bounds = {"node": node, "limit": limit - rescued}
        rows = db.execute(SQL["runs.of_node"], bounds).fetchall()
        for run in map(HeldRun._make, rows):
            if is_at_most_once(run.traits):
                lose(db, run, now)
                lost += 1
            else:
                _leave_owner(db, run, SQL["runs.take_from_dead"], now)
        rescued += len(rows)
        if rescued >= limit:
            break
        db.execute(SQL["nodes.settle"], (node,))
    return Rescued(rescued, lost)


def _leave_owner(db: sqlite3.Connection, run: HeldRun, statement: str, now: Instant) -> None:
    """A run that its owner no longer holds: anybody may lease it, unless somebody wants it
    to end.
    """
    assert run.owner is not None
    cancel_request = signal_for(db, run.owner, run.job, run.run)
    if cancel_request is not None:
        end_unstarted(db, run, Status.CANCELLED, reason=cancel_request, now=now)
    else:
        db.execute(statement, (run.job, run.run))


def _cancel(db: sqlite3.Connection, job: int, run: int, now: Instant) -> CancelVerdict:
    row = db.execute(SQL["runs.find"], {"job": job, "run": run}).fetchone()
    if row is None:
        _refuse_ended(db, job, run)
    held = HeldRun._make(row)
    if held.owner is None:
        end_unstarted(db, held, Status.CANCELLED, reason="cancelled by request", now=now)
        return CancelVerdict.CANCELLED
    db.execute(SQL["runs.ask"], (held.owner, job, run, "cancelled by request"))
    return CancelVerdict.ASKED


def _refuse_ended(db: sqlite3.Connection, job: int, run: int) -> NoReturn:
    row = db.execute(SQL["ledger.past_run"], {"job": job, "run": run}).fetchone()
    if row is None:
        raise no_such_run()
    raise run_over(STATUS_OF_CODE[row[3]])
