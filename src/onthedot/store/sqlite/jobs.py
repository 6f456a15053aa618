"""Definitions on SQLite: creating, changing and reading jobs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from onthedot.core import editing
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.firing import VersionRef
from onthedot.core.instants import Instant
from onthedot.core.model import (
    Definition,
    ExecutionSpec,
    Job,
    NewRun,
    Once,
    Rule,
    lane_of,
    occurrence,
    rule_of,
    traits_of,
)
from onthedot.core.states import Status
from onthedot.errors import NotFound
from onthedot.store.codec import definition_text, execution_spec_from
from onthedot.store.refusals import (
    idempotency_mismatch,
    key_taken,
    no_such_job,
    version_conflict,
)
from onthedot.store.rows import job_of, one_offs, with_links
from onthedot.store.shared.calendars import use
from onthedot.store.sqlite.chains import chain_of, keep_chain
from onthedot.store.sqlite.clock import intern_rule
from onthedot.store.sqlite.database import SqliteDatabase, as_json
from onthedot.store.sqlite.outcomes import HeldRun, end_unstarted, is_taken, record_ranges
from onthedot.store.sqlite.statements import SQL
from onthedot.store.sqlite.steps import drive
from onthedot.store.values import Created, Receipt, Undeclared

_NO_RUN = -1


class SqliteJobs:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def create(
        self, definition: Definition, *, now: Instant, receipt: Receipt | None = None
    ) -> Created:
        return await self._database.write(lambda db: _create(db, definition, now, receipt))

    async def create_many(self, definitions: Sequence[Definition], *, now: Instant) -> list[int]:
        return await self._database.write(lambda db: _create_many(db, definitions, now))

    async def change(
        self,
        job: int,
        decide: Callable[[CurrentJob], Change | None],
        *,
        now: Instant,
        expected: int | None = None,
    ) -> Job | None:
        return await self._database.write(lambda db: _change(db, job, decide, now, expected))

    async def remake(
        self, jobs: Mapping[int, Callable[[CurrentJob], Change | None]], *, now: Instant
    ) -> list[Job]:
        return await self._database.write(lambda db: _remake(db, jobs, now))

    async def get(self, job: int) -> Job:
        return await self._database.read(lambda db: get_job(db, job))

    async def keyed(self, namespace: str, key: str) -> Job | None:
        def look(db: sqlite3.Connection) -> Job | None:
            found = _linked(db, db.execute(SQL["jobs.keyed"], (namespace, key)))
            return found[0] if found else None

        return await self._database.read(look)

    async def page(self, *, before: int | None, limit: int) -> list[Job]:
        bounds = {"before": 1 << 62 if before is None else before, "limit": limit}
        return await self._database.read(
            lambda db: _linked(db, db.execute(SQL["jobs.page"], bounds))
        )

    async def declare(self, app: str, jobs: Sequence[int], *, now: Instant) -> list[Job]:
        return await self._database.write(lambda db: _declare(db, app, jobs, now))

    async def undeclared(self, *, limit: int) -> list[Job]:
        return await self._database.read(
            lambda db: [job_of(row) for row in db.execute(SQL["jobs.undeclared"], (limit,))]
        )

    async def gone(self, job: int) -> Undeclared | None:
        def look(db: sqlite3.Connection) -> Undeclared | None:
            row = db.execute(SQL["jobs.gone"], (job,)).fetchone()
            return None if row is None else Undeclared._make(row)

        return await self._database.read(look)

    async def execution_specs(
        self, refs: Sequence[VersionRef]
    ) -> Mapping[VersionRef, ExecutionSpec]:
        return await self._database.read(lambda db: _handlings(db, refs))


def get_job(db: sqlite3.Connection, job: int) -> Job:
    found = _linked(db, db.execute(SQL["jobs.get"], (job,)))
    if not found:
        raise no_such_job(job)
    return found[0]


def _linked(db: sqlite3.Connection, rows: Iterable[Sequence[Any]]) -> list[Job]:
    jobs = [job_of(row) for row in rows]
    asked = one_offs(jobs)
    return with_links(jobs, db.execute(SQL["jobs.ahead"], (as_json(asked),))) if asked else jobs


def kept_answer(db: sqlite3.Connection, receipt: Receipt | None) -> str | None:
    """The answer that this Idempotency-Key was given before, if it was for the same request."""
    if receipt is None:
        return None
    row = db.execute(SQL["jobs.kept_answer"], (receipt.key,)).fetchone()
    if row is None:
        return None
    fingerprint, answer = row
    if fingerprint != receipt.fingerprint:
        raise idempotency_mismatch(receipt.key)
    return str(answer)


def keep_answer(
    db: sqlite3.Connection, receipt: Receipt | None, job: Job, runs: Sequence[int], now: Instant
) -> None:
    if receipt is not None:
        answer = receipt.answer(job, runs)
        db.execute(SQL["jobs.keep_answer"], (receipt.key, receipt.fingerprint, answer, now))


def _create(
    db: sqlite3.Connection, definition: Definition, now: Instant, receipt: Receipt | None
) -> Created:
    repeat = kept_answer(db, receipt)
    if repeat is not None:
        return Created(repeat=repeat)
    _refuse_taken_key(db, definition, None)
    (number,) = db.execute(SQL["jobs.next_number"]).fetchone()
    change = editing.create(number, definition, now=now)
    job = change.job
    assert job is not None
    rule = _rule_number(db, job.definition, {})
    inserted = db.execute(SQL["jobs.insert"], _columns(job, change, rule)).lastrowid
    assert inserted == number, (inserted, number)
    _place(db, job, change, rule)
    drive(db, use(number, None, definition))
    keep_answer(db, receipt, job, (), now)
    return Created(job=job)


def _create_many(
    db: sqlite3.Connection, definitions: Sequence[Definition], now: Instant
) -> list[int]:
    """The same as many creations, with one statement for all rows and one for all entries."""
    (first,) = db.execute(SQL["jobs.next_number"]).fetchone()
    rules: dict[Rule, int] = {}
    keys: dict[tuple[str, str], int] = {}
    rows, entries = [], []
    for number, definition in enumerate(definitions, first):
        _refuse_taken_key(db, definition, None)
        if definition.key is not None:
            holder = keys.setdefault((definition.namespace, definition.key), number)
            if holder != number:
                raise key_taken(definition.key, holder)
        change = editing.create(number, definition, now=now)
        job = change.job
        assert job is not None
        rule = _rule_number(db, job.definition, rules)
        rows.append(_columns(job, change, rule))
        if change.entry is not None:
            entries.append((job.shard, change.entry, number, 1, rule))
        _place_run(db, job, change)
        if definition.calendar is not None:
            drive(db, use(number, None, definition))
    db.executemany(SQL["jobs.insert"], rows)
    db.executemany(SQL["clock.put"], sorted(entries))
    return list(range(first, first + len(rows)))


def _declare(db: sqlite3.Connection, app: str, jobs: Sequence[int], now: Instant) -> list[Job]:
    db.executemany(SQL["jobs.declare"], [{"job": job, "app": app} for job in jobs])
    numbers = as_json(list(jobs))
    db.execute(SQL["jobs.undeclare"], {"app": app, "jobs": numbers, "now": now})
    db.execute(SQL["jobs.forget_declared"], {"app": app})
    return [job_of(row) for row in db.execute(SQL["jobs.gone_of"], (app,))]


def _change(
    db: sqlite3.Connection,
    job: int,
    decide: Callable[[CurrentJob], Change | None],
    now: Instant,
    expected: int | None,
) -> Job | None:
    old = get_job(db, job)
    if expected is not None and expected != old.version:
        raise version_conflict(old.version, expected)
    change = decide(_standing(db, old, now))
    return old if change is None else carry_out(db, old, change, now)


def carry_out(db: sqlite3.Connection, old: Job, change: Change, now: Instant) -> Job | None:
    """End the old version of a job, and give the new one what it begins with."""
    job = old.id
    if change.job is not None:
        _refuse_taken_key(db, change.job.definition, job)
    drive(db, use(job, old.definition, None if change.job is None else change.job.definition))
    (armed,) = db.execute(SQL["jobs.armed"], (job,)).fetchone()
    deleted = change.job is None
    ending = {"job": job, "cut": change.cut, "now": now, "deleted": deleted}
    db.execute(SQL["jobs.keep_version"], ending)
    if armed:
        db.execute(SQL["jobs.end_version"], (job, old.version, change.cut, deleted))
    aside = db.execute(SQL["jobs.forget_aside"], (job, old.version)).fetchone()
    record_ranges(db, editing.never_fired(old, change.cut, aside), now)
    if change.record is not None:
        record_ranges(db, [change.record], now)
    if change.drop is not None:
        db.execute(SQL["runs.leave_waiting"], (job, change.drop))
    if change.chain is None:
        db.execute(SQL["chains.drop"], (job,))
    if change.job is None:
        db.execute(SQL["jobs.delete_cuts"], (job,))
        _end_runs(db, job, now)
        db.execute(SQL["jobs.delete"], (job,))
        return None
    rule = _rule_number(db, change.job.definition, {})
    db.execute(SQL["jobs.update"], _columns(change.job, change, rule))
    lane, traits = lane_of(change.job.definition), traits_of(change.job.definition)
    if (lane, traits) != (lane_of(old.definition), traits_of(old.definition)):
        db.execute(SQL["jobs.move_live"], (job, lane, traits))
        db.execute(SQL["jobs.move_waiting"], (job, lane, traits))
    _place(db, change.job, change, rule)
    return change.job


def _remake(
    db: sqlite3.Connection, jobs: Mapping[int, Callable[[CurrentJob], Change | None]], now: Instant
) -> list[Job]:
    made = []
    for number in sorted(jobs):
        with suppress(NotFound):
            old = get_job(db, number)
            change = jobs[number](_standing(db, old, now))
            if change is not None:
                made.append(carry_out(db, old, change, now))
    return [job for job in made if job is not None]


def _standing(db: sqlite3.Connection, job: Job, now: Instant) -> CurrentJob:
    schedule = job.definition.schedule
    chain = chain_of(db, job.id)
    link = _NO_RUN if chain is None or chain.run is None else chain.run
    run = occurrence(schedule.at) if isinstance(schedule, Once) else link
    horizon, waiting, live = db.execute(
        SQL["jobs.current"], {"job": job.id, "run": run, "shard": job.shard}
    ).fetchone()
    waits, lives = bool(waiting), bool(live)
    return CurrentJob(job=job, horizon=horizon, waiting=waits, now=now, chain=chain, live=lives)


def _place(db: sqlite3.Connection, job: Job, change: Change, rule: int | None) -> None:
    """Give the new version its entry in the clock, or its waiting run."""
    if change.entry is not None:
        db.execute(SQL["clock.put"], (job.shard, change.entry, job.id, job.version, rule))
    _place_run(db, job, change)


def _place_run(db: sqlite3.Connection, job: Job, change: Change) -> None:
    run = change.run
    if change.chain is not None:
        run = keep_chain(db, change.chain, run)
    if run is not None and not is_taken(db, job.id, run.run):
        insert_waiting(db, run)


def insert_waiting(db: sqlite3.Connection, run: NewRun) -> None:
    row = (*run[:8], 1, 0, 0, run.payload, run.expires)
    db.execute(SQL["runs.insert_waiting"], row)


def _end_runs(db: sqlite3.Connection, job: int, now: Instant) -> None:
    """What a deleted job leaves behind: runs that nobody holds end, the others' owners are told."""
    rows = db.execute(SQL["jobs.live_of"], (job,)).fetchall()
    rows += db.execute(SQL["jobs.waiting_of"], (job,)).fetchall()
    for run in map(HeldRun._make, rows):
        if run.owner is None:
            end_unstarted(db, run, Status.CANCELLED, reason="job deleted", now=now)
        else:
            db.execute(SQL["runs.ask"], (run.owner, run.job, run.run, "job deleted"))


def _refuse_taken_key(db: sqlite3.Connection, definition: Definition, job: int | None) -> None:
    if definition.key is None:
        return
    row = db.execute(SQL["jobs.by_key"], (definition.namespace, definition.key)).fetchone()
    if row is not None and row[0] != job:
        raise key_taken(definition.key, row[0])


def _rule_number(
    db: sqlite3.Connection, definition: Definition, known: dict[Rule, int]
) -> int | None:
    """None for a job that has no place in the clock."""
    rule = rule_of(definition)
    if rule is None:
        return None
    if rule not in known:
        known[rule] = intern_rule(db, rule)
    return known[rule]


def _columns(job: Job, change: Change, rule: int | None) -> dict[str, Any]:
    definition = job.definition
    return {
        "id": job.id,
        "version": job.version,
        "namespace": definition.namespace,
        "key": definition.key,
        "name": definition.name,
        "lane": lane_of(definition),
        "traits": traits_of(definition),
        "priority": definition.priority,
        "rule": rule,
        "armed": change.entry is not None,
        "definition": definition_text(definition),
        "payload": definition.payload,
        "anchor": job.anchor,
        "since": job.since,
        "skipping_from": job.skipping_from,
        "created_at": job.created_at,
        "updated_at": job.updated_at,
    }


def _handlings(
    db: sqlite3.Connection, refs: Sequence[VersionRef]
) -> dict[VersionRef, ExecutionSpec]:
    found = {}
    for ref in refs:
        row = (
            db.execute(SQL["jobs.current_definition"], ref).fetchone()
            or db.execute(SQL["jobs.old_definition"], ref).fetchone()
        )
        if row is not None:
            found[ref] = execution_spec_from(*row)
    return found
