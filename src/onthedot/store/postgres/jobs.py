"""Definitions on PostgreSQL: creating, changing and reading jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import asyncpg

from onthedot.core import editing
from onthedot.core.chaining import Chain
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.firing import VersionRef
from onthedot.core.instants import Instant
from onthedot.core.model import (
    Definition,
    Entry,
    ExecutionSpec,
    Job,
    NewRun,
    Rule,
    lane_of,
    rule_of,
    shard_of,
    traits_of,
)
from onthedot.errors import KeyTaken, NotFound
from onthedot.store.codec import definition_text, execution_spec_from
from onthedot.store.postgres.chains import keep_chain
from onthedot.store.postgres.clock import (
    KnownRules,
    PostgresClock,
    put_entries,
    record_ranges,
    rule_number,
)
from onthedot.store.postgres.current import locked_job
from onthedot.store.postgres.database import Connection, PostgresDatabase
from onthedot.store.postgres.group_commit import GroupCommit
from onthedot.store.postgres.memory import DatabaseMemory, next_numbers
from onthedot.store.postgres.statements import SQL
from onthedot.store.postgres.steps import drive
from onthedot.store.refusals import (
    idempotency_mismatch,
    key_taken,
    no_such_job,
    version_conflict,
)
from onthedot.store.rows import job_of, one_offs, with_links
from onthedot.store.shared.calendars import use
from onthedot.store.values import Created, Receipt, Undeclared

Asked: TypeAlias = tuple[Definition, Instant]


class PostgresJobs:
    def __init__(self, database: PostgresDatabase, clock: PostgresClock) -> None:
        self._database = database
        self._memory = database.memory
        self._clock = clock
        self._rules = KnownRules()
        database.memory.on_moved.append(self._rules.forget)
        self._creating = GroupCommit(self._create_group)

    async def create(
        self, definition: Definition, *, now: Instant, receipt: Receipt | None = None
    ) -> Created:
        try:
            if receipt is None:
                made = Created(job=await self._creating.ask((definition, now)))
            else:
                made = await self._database.transaction(
                    lambda db: _create(db, self._memory, (definition, now), receipt)
                )
        except asyncpg.UniqueViolationError:
            raise await self._key_taken(definition) from None
        self._clock.rescan()
        return made

    async def create_many(self, definitions: Sequence[Definition], *, now: Instant) -> list[int]:
        try:
            made = await self._create_all([(each, now) for each in definitions])
        except asyncpg.UniqueViolationError:
            raise key_taken("of one of them", None) from None
        self._clock.rescan()
        return [job.id for job in made]

    async def _create_all(self, asked: Sequence[Asked]) -> list[Job]:
        made, found = await self._database.transaction(
            lambda db: _create_many(db, self._memory, asked, self._rules)
        )
        self._rules.keep(found)
        return made

    async def change(
        self,
        job: int,
        decide: Callable[[CurrentJob], Change | None],
        *,
        now: Instant,
        expected: int | None = None,
    ) -> Job | None:
        wanted: list[Definition] = []

        def remembered(current: CurrentJob) -> Change | None:
            change = decide(current)
            wanted[:] = [] if change is None or change.job is None else [change.job.definition]
            return change

        try:
            changed = await self._database.transaction(
                lambda db: _change(db, job, remembered, now, expected)
            )
        except asyncpg.UniqueViolationError:
            raise await self._key_taken(wanted[0]) from None
        self._clock.rescan()
        return changed

    async def remake(
        self, jobs: Mapping[int, Callable[[CurrentJob], Change | None]], *, now: Instant
    ) -> list[Job]:
        made = await self._database.transaction(lambda db: _remake(db, jobs, now))
        self._clock.rescan()
        return made

    async def get(self, job: int) -> Job:
        found = await self._linked("jobs.get", job)
        if not found:
            raise no_such_job(job)
        return found[0]

    async def keyed(self, namespace: str, key: str) -> Job | None:
        found = await self._linked("jobs.keyed", namespace, key)
        return found[0] if found else None

    async def page(self, *, before: int | None, limit: int) -> list[Job]:
        return await self._linked("jobs.page", 1 << 62 if before is None else before, limit)

    async def _linked(self, statement: str, *values: object) -> list[Job]:
        jobs = [job_of(row) for row in await self._database.rows(SQL[statement], *values)]
        asked = one_offs(jobs)
        if not asked:
            return jobs
        waiting = await self._database.rows(SQL["jobs.ahead"], *map(list, zip(*asked, strict=True)))
        return with_links(jobs, waiting)

    async def declare(self, app: str, jobs: Sequence[int], *, now: Instant) -> list[Job]:
        async def verb(db: Connection) -> list[Job]:
            await db.execute(SQL["jobs.declare"], app, jobs)
            await db.execute(SQL["jobs.undeclare"], app, jobs, now)
            await db.execute(SQL["jobs.forget_declared"], app)
            return [job_of(row) for row in await db.fetch(SQL["jobs.gone_of"], app)]

        return await self._database.transaction(verb)

    async def undeclared(self, *, limit: int) -> list[Job]:
        return [job_of(row) for row in await self._database.rows(SQL["jobs.undeclared"], limit)]

    async def gone(self, job: int) -> Undeclared | None:
        row = await self._database.row(SQL["jobs.gone"], job)
        return None if row is None else Undeclared(*row)

    async def execution_specs(
        self, refs: Sequence[VersionRef]
    ) -> Mapping[VersionRef, ExecutionSpec]:
        found = await self._handlings("jobs.execution_specs", refs)
        if len(found) < len(refs):
            ended = [ref for ref in refs if ref not in found]
            found |= await self._handlings("jobs.ended_handlings", ended)
        return found

    async def _handlings(
        self, statement: str, refs: Sequence[VersionRef]
    ) -> dict[VersionRef, ExecutionSpec]:
        jobs, versions = [ref.job for ref in refs], [ref.version for ref in refs]
        rows = await self._database.rows(SQL[statement], jobs, versions)
        return {
            VersionRef(job, version): execution_spec_from(definition, payload)
            for job, version, definition, payload in rows
        }

    async def _create_group(self, asked: Sequence[Asked]) -> list[Job]:
        if len(asked) > 1:
            return await self._create_all(asked)
        made = await self._database.transaction(lambda db: _create(db, self._memory, asked[0]))
        assert made.job is not None, "without a receipt there is nothing to repeat"
        return [made.job]

    async def _key_taken(self, definition: Definition) -> KeyTaken:
        holder = await self._database.value(
            SQL["jobs.by_key"], definition.namespace, definition.key
        )
        return key_taken(definition.key, holder)


async def kept_answer(db: Connection, receipt: Receipt | None, now: Instant) -> str | None:
    """The answer that this Idempotency-Key was given before; else the key is ours from now on."""
    if receipt is None:
        return None
    row = None
    while row is None:  # bounded: between the two looks the key can only have been pruned
        tag = await db.execute(SQL["jobs.keep_key"], receipt.key, receipt.fingerprint, now)
        if tag.endswith(" 1"):
            return None
        row = await db.fetchrow(SQL["jobs.kept_answer"], receipt.key)
    fingerprint, answer = row
    if fingerprint != receipt.fingerprint:
        raise idempotency_mismatch(receipt.key)
    return str(answer)


async def keep_answer(
    db: Connection, receipt: Receipt | None, job: Job, runs: Sequence[int]
) -> None:
    if receipt is not None:
        await db.execute(SQL["jobs.keep_answer"], receipt.key, receipt.answer(job, runs))


async def _create(
    db: Connection, memory: DatabaseMemory, asked: Asked, receipt: Receipt | None = None
) -> Created:
    definition, now = asked
    repeat = await kept_answer(db, receipt, now)
    if repeat is not None:
        return Created(repeat=repeat)
    (number,) = await next_numbers(db, memory, 1)
    await db.fetchval(SQL["jobs.lock_shard"], shard_of(number))
    change = editing.create(number, definition, now=now)
    job = change.job
    assert job is not None
    rule = await rule_number(db, job.definition)
    await db.execute(SQL["jobs.insert"], *_row(job, rule, change.entry is not None))
    await _place(db, job, change, rule)
    await drive(db, use(number, None, definition))
    await keep_answer(db, receipt, job, ())
    return Created(job=job)


async def _create_many(
    db: Connection, memory: DatabaseMemory, asked: Sequence[Asked], known: KnownRules
) -> tuple[list[Job], dict[Rule, int]]:
    """The rows by COPY, the entries packed in one statement: a few microseconds a job. Also returns
    the rules that were not known before.
    """
    if not asked:
        return [], {}
    numbers = await next_numbers(db, memory, len(asked))
    await db.execute(SQL["jobs.lock_shards"])
    changes = [
        editing.create(number, definition, now=now)
        for number, (definition, now) in zip(numbers, asked, strict=True)
    ]
    jobs = [change.job for change in changes if change.job is not None]
    rules, found = await known.numbers(db, [rule_of(job.definition) for job in jobs])
    rows: list[tuple[Any, ...]] = []
    entries: list[Entry] = []
    runs: list[NewRun] = []
    chains: list[Chain] = []
    for job, change, rule in zip(jobs, changes, rules, strict=True):
        rows.append(_row(job, rule, change.entry is not None))
        if change.entry is not None and rule is not None:
            entries.append(Entry(job.shard, change.entry, job.id, 1, rule))
        if change.run is not None:
            runs.append(change.run)
        if change.chain is not None:
            chains.append(change.chain)
    await db.copy_records_to_table("job", records=rows, columns=_JOB_COLUMNS)
    await put_entries(db, entries)
    if runs:
        await db.executemany(SQL["runs.insert_waiting"], runs)
    if chains:
        await db.executemany(SQL["chains.put"], chains)
    for job in jobs:
        if job.definition.calendar is not None:
            await drive(db, use(job.id, None, job.definition))
    return jobs, found


async def _change(
    db: Connection,
    number: int,
    decide: Callable[[CurrentJob], Change | None],
    now: Instant,
    expected: int | None,
) -> Job | None:
    current, armed = await locked_job(db, number, now)
    old = current.job
    if expected is not None and expected != old.version:
        raise version_conflict(old.version, expected)
    change = decide(current)
    return old if change is None else await carry_out(db, old, change, armed, now)


async def carry_out(
    db: Connection, old: Job, change: Change, armed: bool, now: Instant
) -> Job | None:
    """Give a job its new version instead of the old one. The caller holds the shard and the job."""
    number = old.id
    await drive(
        db, use(number, old.definition, None if change.job is None else change.job.definition)
    )
    await _end_version(db, old, change, armed, now)
    if change.job is None:
        await db.execute(SQL["jobs.delete_cuts"], number)
        await db.execute(SQL["jobs.end_runs"], number, now)
        await db.execute(SQL["jobs.delete"], [number])
        return None
    rule = await rule_number(db, change.job.definition)
    await db.execute(SQL["jobs.update"], *_row(change.job, rule, change.entry is not None))
    lane, traits = lane_of(change.job.definition), traits_of(change.job.definition)
    if (lane, traits) != (lane_of(old.definition), traits_of(old.definition)):
        for statement in ("jobs.move_live", "jobs.move_waiting"):
            await db.execute(SQL[statement], number, lane, traits)
    await _place(db, change.job, change, rule)
    return change.job


async def _remake(
    db: Connection, jobs: Mapping[int, Callable[[CurrentJob], Change | None]], now: Instant
) -> list[Job]:
    made = []
    # Shards in the order of their numbers, as everybody takes them.
    for number in sorted(jobs, key=lambda number: (shard_of(number), number)):
        with suppress(NotFound):
            current, armed = await locked_job(db, number, now)
            change = jobs[number](current)
            if change is not None:
                made.append(await carry_out(db, current.job, change, armed, now))
    return [job for job in made if job is not None]


async def _end_version(db: Connection, old: Job, change: Change, armed: bool, now: Instant) -> None:
    deleted = change.job is None
    await db.execute(SQL["jobs.keep_version"], old.id, change.cut, now, deleted)
    if armed:
        await db.execute(SQL["jobs.end_version"], old.id, old.version, change.cut, deleted)
    aside = await db.fetchrow(SQL["jobs.forget_aside"], old.id, old.version)
    await record_ranges(db, editing.never_fired(old, change.cut, aside), now)
    if change.record is not None:
        await record_ranges(db, [change.record], now)
    if change.drop is not None:
        await db.execute(SQL["runs.leave_waiting"], old.id, change.drop)
    if change.job is not None and change.chain is None:
        await db.execute(SQL["chains.drop"], old.id)


async def _place(db: Connection, job: Job, change: Change, rule: int | None) -> None:
    """Give the new version its entry in the clock, or its waiting run."""
    if change.entry is not None:
        assert rule is not None, job
        await put_entries(db, [Entry(job.shard, change.entry, job.id, job.version, rule)])
    run = change.run
    if change.chain is not None:
        run = await keep_chain(db, change.chain, run)
    if run is not None and not await is_taken(db, job.id, run.run):
        await _insert_waiting(db, run)


async def is_taken(db: Connection, job: int, run: int) -> bool:
    return bool(await db.fetchval(SQL["runs.is_taken"], job, run))


async def _insert_waiting(db: Connection, run: NewRun) -> None:
    await db.execute(SQL["runs.insert_waiting"], *run)


# In the order of the statements `jobs.insert` and `jobs.update`.
_JOB_COLUMNS = (
    *("id", "version", "namespace", "key", "name", "lane", "traits", "priority"),
    *("rule", "armed"),
    *("definition", "payload", "anchor", "since", "skipping_from", "created_at", "updated_at"),
)


def _row(job: Job, rule: int | None, armed: bool) -> tuple[Any, ...]:
    number, version, definition, anchor, since, created_at, updated_at, skipping_from, _ = job
    return (
        number,
        version,
        definition.namespace,
        definition.key,
        definition.name,
        lane_of(definition),
        traits_of(definition),
        definition.priority,
        rule,
        armed,
        definition_text(definition),
        definition.payload,
        anchor,
        since,
        skipping_from,
        created_at,
        updated_at,
    )
