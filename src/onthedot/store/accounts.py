"""The books of a job from the rows of any store, and the walk through them in bounded steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from onthedot.core.audit import Audited, Balance, Books, Fate, Link, Version, audit, broken_chain
from onthedot.core.backfilling import BACKFILL_MAX, missing
from onthedot.core.instants import Instant, format_instant
from onthedot.core.model import Once, timetable
from onthedot.core.schedules import FixedDelay
from onthedot.core.states import live_status
from onthedot.core.zoning import zone_in
from onthedot.errors import Invalid
from onthedot.store.codec import STATUS_OF_CODE, definition_from
from onthedot.store.contract import Store

VERSIONS_MAX: Final = 10_000
LIVE_MAX: Final = 100_000
FATES_MAX: Final = 2_000
BURST: Final = 2_000
"""Instants balanced at a stretch, without letting others have a turn: some milliseconds."""

JOBS_MAX: Final = 1_000
LOOKED_AT_MAX: Final = 200_000
JOB_COST: Final = 100
"""Opening the books of a job is worth so many instants."""


class Rows(NamedTuple):
    """What a store has read of a job, in one moment."""

    versions: Sequence[Sequence[Any]]
    live: Sequence[Sequence[Any]]
    created_at: Instant | None
    edge: Instant
    aside: Iterable[Sequence[Any]]
    unfired: Iterable[Sequence[Any]]
    told: Iterable[Sequence[Any]]
    link: Sequence[Any] | None


def books_of(rows: Rows, *, now: Instant) -> Books:
    """`rows.versions` in order. Where there are too many of something, what lies beyond is left
    out: older versions are before the edge.
    """
    versions = [_version(row) for row in rows.versions]
    skipping_from, cut = rows.versions[-1][4], rows.versions[-1][5]
    edge = rows.edge
    if len(versions) >= VERSIONS_MAX:
        edge = max(edge, versions[0].since)
    return Books(
        versions=versions,
        created_at=versions[0].since if rows.created_at is None else rows.created_at,
        edge=edge,
        told_from=_told_from(rows),
        live={
            due: live_status(at=at, started=started, owned=owner is not None, now=now)
            for due, at, owner, started in rows.live
        },
        held_from=skipping_from if cut is None else None,
        unfired=dict(map(tuple, rows.unfired)),
        aside=dict(map(tuple, rows.aside)),
        link=None if rows.link is None else Link(rows.link[0], bool(rows.link[1])),
    )


def _told_from(rows: Rows) -> Instant:
    """Until when one of the job's zones had other offsets than today; 0 if none of them changed."""
    told = dict(map(tuple, rows.told))
    if not told:
        return 0
    named = (zone_in(definition_from(row[1], "")) for row in rows.versions)
    return max((told.get(zone, 0) for zone in named), default=0)


def _version(row: Sequence[Any]) -> Version:
    number, definition, anchor, since, _, cut, deleted = row
    said = definition_from(definition, "")
    apart = isinstance(said.schedule, Once | FixedDelay)
    return Version(
        number=number,
        schedule=said.schedule if apart else timetable(said),
        paused=said.paused,
        anchor=anchor,
        since=since,
        cut=cut,
        deleted=bool(deleted),
    )


def fate_of(row: Sequence[Any]) -> Fate:
    first, last, status, reason, count, version = row
    return Fate(first, last, STATUS_OF_CODE[status], reason, count, version)


class Place(NamedTuple):
    """How far an audit of all jobs has come: `after` in the books of `job`; the jobs before it are
    done.
    """

    job: int
    after: Instant


START: Final = Place(0, 0)


class Part(NamedTuple):
    """A part of an audit. `place` None: it is done. `faulty`: the balances of jobs with faults."""

    balance: Balance
    faulty: dict[int, Balance]
    jobs: int
    place: Place | None


async def audit_job(
    store: Store, job: int, *, after: Instant, until: Instant, most: int
) -> tuple[Balance, Instant | None]:
    """Audit one job from `after` on; returns how far it came, None if all is done. Raises NotFound
    if there never was such a job, or nothing of it is left.
    """
    books = await store.audit.books(job, until=until, unfired=False)
    balance = Balance()
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


async def _broken(store: Store, job: int, books: Books, until: Instant) -> Instant | None:
    """The run that a chain lacks, if it still does after a second look."""
    if broken_chain(books) is None:
        return None
    books = await store.audit.books(job, until=until, unfired=False)
    return broken_chain(books) if len(books.live) < LIVE_MAX else None


async def _part(
    store: Store, job: int, books: Books, *, after: Instant, until: Instant, most: int
) -> Audited:
    after = max(after, books.edge)
    if after >= until:
        return Audited(Balance(), until)
    fates = await store.audit.fates(job, after=after, limit=FATES_MAX)
    if len(fates) >= FATES_MAX:
        until = min(until, fates[-1].first)
    if len(books.live) >= LIVE_MAX:
        until = min(until, max(books.live))
    return audit(books, fates, after=after, until=until, most=min(most, BURST))


async def audit_all(store: Store, place: Place, *, until: Instant, most: int) -> Part:
    """Audit the jobs from `place` on, deleted ones included, until some work is done."""
    balance, faulty, audited = Balance(), dict[int, Balance](), 0
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
            return Part(balance, faulty, audited, Place(number, reached))
        audited += 1
        if balance.due + audited * JOB_COST >= most:
            return Part(balance, faulty, audited, Place(number + 1, 0))
    more = len(numbers) == JOBS_MAX
    return Part(balance, faulty, audited, Place(numbers[-1] + 1, 0) if more else None)


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
