"""The audit of a job, or of all jobs, in bounded parts."""

from __future__ import annotations

from typing import Final, NamedTuple

from onthedot.core.audit import AuditBalance, Audited, AuditSnapshot, audit, broken_chain
from onthedot.core.backfilling import BACKFILL_MAX, missing
from onthedot.core.instants import Instant, format_instant
from onthedot.errors import Invalid
from onthedot.store.audit_rows import LIVE_MAX
from onthedot.store.contract import Store

FATES_MAX: Final = 2_000
BURST: Final = 2_000
"""Instants audited without letting others have a turn: some milliseconds."""

JOBS_MAX: Final = 1_000
LOOKED_AT_MAX: Final = 200_000
JOB_COST: Final = 100
"""Reading the snapshot of a job is worth so many instants."""


class WalkPosition(NamedTuple):
    """How far an audit of all jobs has come: `after` in the books of `job`; the jobs before it are
    done.
    """

    job: int
    after: Instant


START: Final = WalkPosition(0, 0)


class WalkPart(NamedTuple):
    """A part of an audit. `place` None: it is done. `faulty`: the balances of jobs with faults."""

    balance: AuditBalance
    faulty: dict[int, AuditBalance]
    jobs: int
    place: WalkPosition | None


async def audit_job(
    store: Store, job: int, *, after: Instant, until: Instant, most: int
) -> tuple[AuditBalance, Instant | None]:
    """Audit one job from `after` on; returns how far it came, None if all is done. Raises NotFound
    if there never was such a job, or nothing of it is left.
    """
    books = await store.audit.books(job, until=until, unfired=False)
    balance = AuditBalance()
    while balance.due < most:  # bounded: every turn gets further, or is the last
        part = await _part(store, job, books, after=after, until=until, most=most - balance.due)
        if part.balance.faults:
            # Perhaps it is only late, or was forgotten a moment ago: ask again, and closely.
            books = await store.audit.books(job, until=until, unfired=True)
            part = await _part(store, job, books, after=after, until=until, most=most - balance.due)
        balance.add(part.balance)
        after = part.reached
        if after >= until:
            if (broken := await _broken(store, job, books, until)) is not None:
                balance.due += 1
                balance.fault("unaccounted", broken, broken, 1)
            return balance, None
    return balance, after


async def _broken(store: Store, job: int, books: AuditSnapshot, until: Instant) -> Instant | None:
    """The run that a chain lacks, if it still does after a second look."""
    if broken_chain(books) is None:
        return None
    books = await store.audit.books(job, until=until, unfired=False)
    return broken_chain(books) if len(books.live) < LIVE_MAX else None


async def _part(
    store: Store, job: int, books: AuditSnapshot, *, after: Instant, until: Instant, most: int
) -> Audited:
    after = max(after, books.edge)
    if after >= until:
        return Audited(AuditBalance(), until)
    fates = await store.audit.fates(job, after=after, limit=FATES_MAX)
    if len(fates) >= FATES_MAX:
        until = min(until, fates[-1].first)
    if len(books.live) >= LIVE_MAX:
        until = min(until, max(books.live))
    return audit(books, fates, after=after, until=until, most=min(most, BURST))


async def audit_all(store: Store, place: WalkPosition, *, until: Instant, most: int) -> WalkPart:
    """Audit the jobs from `place` on, deleted ones included, until some work is done."""
    balance, faulty, audited = AuditBalance(), dict[int, AuditBalance](), 0
    job, after = place
    numbers = await store.audit.jobs(after=job - 1, limit=JOBS_MAX)
    for number in numbers:
        start = after if number == job else 0
        found, reached = await audit_job(
            store, number, after=start, until=until, most=max(1, most - balance.due)
        )
        balance.add(found)
        if found.faults:
            faulty[number] = found
        if reached is not None:
            return WalkPart(balance, faulty, audited, WalkPosition(number, reached))
        audited += 1
        if balance.due + audited * JOB_COST >= most:
            return WalkPart(balance, faulty, audited, WalkPosition(number + 1, 0))
    more = len(numbers) == JOBS_MAX
    return WalkPart(balance, faulty, audited, WalkPosition(numbers[-1] + 1, 0) if more else None)


async def missing_of(store: Store, job: int, *, first: Instant, until: Instant) -> list[Instant]:
    """What never ran of a job in [first, until] and is in no backfill, oldest first. Refuses what
    is too much for one, or what the ledger cannot tell.
    """
    books = await store.audit.books(job, until=until, unfired=True)
    if books.created_at < books.edge and first <= books.edge:
        raise Invalid(
            f"the ledger reaches back to {format_instant(books.edge)}, and the job is older: what "
            "ran before cannot be told",
            hint="Give a later from.",
            field="from",
        )
    after, found, looked_at = first - 1, list[Instant](), 0
    while after < until:  # bounded: by the work, and by what is found
        fates = await store.audit.fates(job, after=after, limit=FATES_MAX)
        end = min(until, fates[-1].first) if len(fates) >= FATES_MAX else until
        part = missing(books, fates, after=after, until=end, most=BURST)
        known = await store.backfills.known(
            job, after=after, until=part.reached, limit=BACKFILL_MAX + BURST
        )
        found += sorted(set(part.dues).difference(known))
        looked_at += part.looked_at
        after = part.reached
        if len(found) > BACKFILL_MAX or looked_at > LOOKED_AT_MAX:
            raise _too_much(found, after)
    return found


def _too_much(found: list[Instant], reached: Instant) -> Invalid:
    end = found[BACKFILL_MAX - 1] if len(found) > BACKFILL_MAX else reached
    return Invalid(
        f"more than {BACKFILL_MAX} instants are missing there, or it is too long to look through",
        hint=f"Do it in parts: the first one until {format_instant(end)}.",
        field="until",
    )
