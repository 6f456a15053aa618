"""Live and waiting runs on PostgreSQL. Each verb of the hot path is one call of one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onthedot.core.instants import Instant
from onthedot.core.model import Lanes, LeasedRun, Outcome, RunRef
from onthedot.core.states import Status
from onthedot.store.claims import Finished, Lessee, Promoted
from onthedot.store.codec import STATUS_OF_CODE
from onthedot.store.postgres.database import Connection, PostgresDatabase, numbers
from onthedot.store.postgres.jobs import keep_answer, kept_answer
from onthedot.store.postgres.statements import SQL
from onthedot.store.postgres.transacting import carry_out, read
from onthedot.store.refusals import no_such_job, no_such_run, run_over
from onthedot.store.rows import job_of
from onthedot.store.transactions import Statement, Table
from onthedot.store.values import CancelVerdict, Created, EnqueueRequest, Receipt, Rescued, Signal

_REASON = "cancelled by request"


_SUCCESS = (None, None, None, None)


def _apart(outcomes: Sequence[Outcome]) -> list[Sequence[Outcome]]:
    """What is given twice goes into a group of its own: one statement would write both."""
    seen = {outcome[:4] for outcome in outcomes}
    if len(seen) == len(outcomes):
        return [outcomes]
    first = {outcome[:4]: place for place, outcome in reversed([*enumerate(outcomes)])}
    again = [each for place, each in enumerate(outcomes) if first[each[:4]] != place]
    return [[outcomes[place] for place in sorted(first.values())], *_apart(again)]


def _is_plain(outcome: Outcome) -> bool:
    """Whether it succeeded, with no output and nothing else to be kept."""
    is_success = outcome.status is Status.SUCCEEDED and outcome.started is not None
    return is_success and outcome[7:] == _SUCCESS


class PostgresRuns:
    def __init__(self, database: PostgresDatabase) -> None:
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
        if receipt is not None:
            return await self._database.transaction(
                lambda db: _enqueue(db, job, asked, now, receipt)
            )
        dues, payloads = [each.due for each in asked], [each.payload for each in asked]
        statement = SQL["runs.enqueue_at_once"]
        row = await self._database.row(statement, job, dues, payloads, now)
        if row is None or row[-1] is None:
            raise no_such_job(job)
        *columns, numbers = row
        return Created(job=job_of(columns), runs=tuple(numbers))

    async def promote(
        self,
        shards: frozenset[int],
        *,
        until: Instant,
        lessee: Lessee,
        limit: int,
        now: Instant,
    ) -> Promoted:
        rows = await self._database.rows(
            SQL["runs.promote"],
            *(sorted(shards), until, lessee.node, lessee.own, limit, now),
            *(lessee.lanes.queues, sorted(lessee.lanes.functions)),
            self._database.memory.proof(lessee.node),
        )
        leased = [LeasedRun(*row[:12]) for row in map(tuple, rows) if row[12]]
        unowned = tuple(row[7] for row in rows if row[12] is False)  # None: it was missed
        return Promoted(leased, len(rows), unowned)

    async def lease(self, node: int, lanes: Lanes, *, limit: int, now: Instant) -> list[LeasedRun]:
        functions = sorted(lanes.functions)
        values = (node, lanes.queues, functions, limit, now, self._database.memory.proof(node))
        rows = await self._database.rows(SQL["runs.lease"], *values)
        return [LeasedRun(*row) for row in rows]

    async def started(self, node: int, starts: Mapping[RunRef, Instant]) -> None:
        proof = self._database.memory.proof(node)

        async def verb(db: Connection) -> None:
            await db.execute(SQL["runs.require_alive"], node, proof)
            await db.execute(SQL["runs.started"], node, list(starts), list(starts.values()))

        await self._database.transaction(verb)

    async def finish(self, node: int, outcomes: Sequence[Outcome], *, now: Instant) -> Finished:
        plain = [outcome for outcome in outcomes if _is_plain(outcome)]
        done = Finished()
        proof = self._database.memory.proof(node)
        if plain:
            columns = map(list, zip(*(outcome[:7] for outcome in plain), strict=True))
            jobs, runs, attempts, fences, _, started, finished = columns
            values = map(numbers, (jobs, runs, attempts, fences, started, finished))
            done += Finished(*await self._database.row(SQL["runs.succeed"], node, *values, proof))
        if len(plain) < len(outcomes):
            others = [outcome for outcome in outcomes if not _is_plain(outcome)]
            for group in _apart(others):
                done += Finished(*await self._database.row(SQL["runs.finish"], node, group, proof))
        return done

    async def complete(
        self,
        ref: RunRef,
        attempt: int,
        statements: Sequence[Statement],
        *,
        started: Instant,
        now: Instant,
    ) -> None:
        async def verb(db: Connection) -> None:
            await carry_out(db, statements)
            values = (ref.job, ref.run, attempt, ref.fence, started, now)
            await db.execute(SQL["runs.complete"], *values)

        await self._database.transaction(verb)

    async def query(self, statement: Statement) -> Table:
        return await self._database.snapshot(lambda db: read(db, statement))

    async def release(self, node: int, refs: Sequence[RunRef], *, now: Instant) -> int:
        proof = self._database.memory.proof(node)
        return int(await self._database.value(SQL["runs.release"], node, refs, now, proof))

    async def owned(self, node: int) -> list[RunRef]:
        return [RunRef(*row) for row in await self._database.rows(SQL["runs.owned"], node)]

    async def rescue(self, *, limit: int, now: Instant) -> Rescued:
        return Rescued(*await self._database.row(SQL["runs.rescue"], limit, now))

    async def cancel(self, job: int, run: int, *, now: Instant) -> CancelVerdict:
        return await self._database.transaction(lambda db: _cancel(db, job, run, now))

    async def signals(self, node: int) -> list[Signal]:
        return [Signal(*row) for row in await self._database.rows(SQL["runs.signals"], node)]


async def _enqueue(
    db: Connection, job: int, asked: Sequence[EnqueueRequest], now: Instant, receipt: Receipt | None
) -> Created:
    repeat = await kept_answer(db, receipt, now)
    if repeat is not None:
        return Created(repeat=repeat)
    dues, payloads = [each.due for each in asked], [each.payload for each in asked]
    numbers = await db.fetchval(SQL["runs.enqueue"], job, dues, payloads, now)
    if numbers is None:
        raise no_such_job(job)
    found = job_of(await db.fetchrow(SQL["jobs.get"], job))
    await keep_answer(db, receipt, found, numbers)
    return Created(job=found, runs=tuple(numbers))


async def _cancel(db: Connection, job: int, run: int, now: Instant) -> CancelVerdict:
    """Look in every place twice: a run may move from one to the next between two looks."""
    for _ in range(2):
        if await db.fetchval(SQL["runs.cancel_waiting"], job, run, now):
            return CancelVerdict.CANCELLED
        row = await db.fetchrow(SQL["runs.lock"], job, run)
        if row is not None and row[0] is None:
            await db.execute(SQL["runs.cancel_live"], job, run, now)
            return CancelVerdict.CANCELLED
        if row is not None:
            await db.execute(SQL["runs.ask"], row[0], job, run, _REASON)
            return CancelVerdict.ASKED
    past = await db.fetchrow(SQL["ledger.past_run"], job, run)
    if past is None:
        raise no_such_run()
    raise run_over(STATUS_OF_CODE[past[3]])
