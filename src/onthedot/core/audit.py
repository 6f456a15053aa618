"""The books of a job, checked: whatever was due has one fate, and whatever has a fate was due.

What was due is worked out again from the definitions, one instant at a time, over all versions of
the job. Of the engine it shares the schedules (`dues`) and the rule by which versions part (what
is due in `(since, cut]` is a version's own), and nothing else: no span, no count and no line of
the firing, whose faults it is there to find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import merge
from typing import Final, NamedTuple

from onthedot.core.effort import SLICE, spent
from onthedot.core.instants import Instant
from onthedot.core.model import Once
from onthedot.core.schedules import FixedDelay, Timetable, dues
from onthedot.core.states import Status
from onthedot.errors import TooCostly

FAULTS_MAX: Final = 100
"""So many faults are listed; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a job: what is due after `since`, up to `cut`, is its own; `cut` None: it is
    the current one. `deleted`: the job ended with it.
    """

    number: int
    schedule: Timetable | Once | FixedDelay | None
    paused: bool
    anchor: Instant
    since: Instant
    cut: Instant | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class RecordedOccurrence:
    """What history says of one occurrence, or of all from `first` to `last`. `version`: the one
    that it last was a run of.
    """

    first: Instant
    last: Instant
    status: Status
    reason: str | None
    count: int | None
    version: int = 0


class Link(NamedTuple):
    """The occurrence that the chain of a fixed delay stands at; `due` None: it is over."""

    due: Instant | None
    parked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSnapshot:
    """A job as it stands. Of what was over before `edge` nothing is known for certain.

    Up to `told_from` the time zone of the job had other offsets, or may have had: what was due then
    cannot be worked out any more. `live`: occurrences whose run is not over. `held_from`: what
    falls due after it is held back by a pause. `unfired`: by version, the entry in the clock;
    `aside`: one that cannot be fired. Each stands for all that is due from it on. `link`: of the
    job's chain, if there is one.
    """

    versions: Sequence[Version]
    created_at: Instant
    edge: Instant = 0
    told_from: Instant = 0
    live: Mapping[Instant, Status] = field(default_factory=dict)
    held_from: Instant | None = None
    unfired: Mapping[int, Instant] = field(default_factory=dict)
    aside: Mapping[int, Instant] = field(default_factory=dict)
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class AuditFault:
    """`kind`: unaccounted (due, and no fate), surplus (a fate, and not due, or a second one), or
    miscounted (a range that does not hold as many as it says).
    """

    kind: str
    first: Instant
    last: Instant
    count: int


@dataclass(slots=True)
class AuditBalance:
    """due = ran + skipped + missed + live + unaccounted; each but the last by status or reason.

    What does not balance up to `told_from` is no fault: it was due by other tzdata. `untold` counts
    it.
    """

    told_from: Instant = 0
    due: int = 0
    untold: int = 0
    ran: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    live: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    listed: list[AuditFault] = field(default_factory=list)

    def add(self, other: AuditBalance) -> None:
        self.due += other.due
        self.untold += other.untold
        for name in ("ran", "skipped", "missed", "live", "faults"):
            getattr(self, name).update(getattr(other, name))
        self.listed = (self.listed + other.listed)[:FAULTS_MAX]

    def fault(self, kind: str, first: Instant, last: Instant, count: int) -> None:
        if first <= self.told_from:
            self.untold += count
            return
        self.faults[kind] += count
        before = self.listed[-1] if self.listed else None
        if before is not None and kind == "unaccounted" == before.kind:
            self.listed[-1] = AuditFault(kind, before.first, last, before.count + count)
        elif len(self.listed) < FAULTS_MAX:
            self.listed.append(AuditFault(kind, first, last, count))


class Audited(NamedTuple):
    """A balance of all that was due up to `reached`, and how many instants that were."""

    balance: AuditBalance
    reached: Instant


def audit(
    books: AuditSnapshot,
    fates: Sequence[RecordedOccurrence],
    *,
    after: Instant,
    until: Instant,
    most: int,
) -> Audited:
    """AuditBalance what was due in (after, until] against its fates, oldest first, at most so many.

    `fates` has all that begin in that time, in order, and the one that began last before it.
    """
    balance, walk = AuditBalance(told_from=books.told_from), Walk(fates, after)
    alive = {due for due in books.live if after < due <= until}
    reached = until
    begun = spent()
    for number, (due, version, certain) in enumerate(due_instants(books, after, until, fates)):
        if balance.due >= most or (number and spent() - begun >= 2 * SLICE):
            reached = due - 1
            break
        found = walk.at(due, balance)
        if found is not None:
            _settle(balance, found)
        elif due in alive:
            balance.live[books.live[due]] += 1
        elif not certain:
            continue
        elif (why := still_to_come(books, due, version)) is not None:
            balance.live[why] += 1
        else:
            balance.fault("unaccounted", due, due, 1)
            if due <= books.told_from:
                continue
        balance.due += 1
        alive.discard(due)
    walk.close(reached, balance)
    for due in sorted(due for due in alive if due <= reached):
        balance.fault("surplus", due, due, 1)
    return Audited(balance, reached)


def broken_chain(books: AuditSnapshot) -> Instant | None:
    """When the run should be, or have been, that a job with a fixed delay lacks: no run of it is
    there, and so none will ever be again.
    """
    current = books.versions[-1]
    if current.cut is not None or not isinstance(current.schedule, FixedDelay):
        return None
    if books.link is None:
        return current.since
    due, parked = books.link
    return None if due is None or parked or due in books.live else due


def due_instants(
    books: AuditSnapshot, after: Instant, until: Instant, fates: Sequence[RecordedOccurrence] = ()
) -> Iterator[tuple[Instant, Version, bool]]:
    """Every instant that was due, once, with the version that it belongs to. Those of a fixed delay
    follow from no schedule: they are what `fates` and the live runs say.

    Of one instant that was said before the edge it is not certain that there must be a trace: its
    run may have been cancelled, and forgotten, long before it was due.
    """
    last = None
    streams = (
        _recurring(books, after, until),
        _single(books, after, until),
        _linked(books, after, until, fates),
    )
    for due, version, certain in merge(*streams, key=lambda each: each[0]):
        if due != last:
            yield due, version, certain
        last = due


def _recurring(
    books: AuditSnapshot, after: Instant, until: Instant
) -> Iterator[tuple[Instant, Version, bool]]:
    for version in books.versions:
        schedule = version.schedule
        if schedule is None or isinstance(schedule, Once | FixedDelay):
            continue
        end = until if version.cut is None else min(until, version.cut)
        start = max(after, version.since, books.edge)
        if start >= end:
            continue
        # What cannot be found in bounded time was set aside: there is nothing to balance.
        with suppress(TooCostly):
            for due in dues(schedule, start, anchor=version.anchor):
                if due > end:
                    break
                yield due, version, True


def _single(
    books: AuditSnapshot, after: Instant, until: Instant
) -> Iterator[tuple[Instant, Version, bool]]:
    """The instants of one-off versions. One is taken over by the next version while it lies ahead;
    an instant that had passed when it was said is due all the same.
    """
    found = []
    before: Version | None = None
    for version in books.versions:
        schedule = version.schedule
        if isinstance(schedule, Once) and after < schedule.at <= until:
            said = version.number == 1 or (before is not None and before.schedule != schedule)
            mine = version.cut is None or schedule.at <= version.cut
            mine = mine or (version.deleted and not version.paused)
            if mine and (said or schedule.at > version.since):
                found.append((schedule.at, version, version.since >= books.edge))
        before = version
    yield from sorted(found, key=lambda each: each[0])


def _linked(
    books: AuditSnapshot, after: Instant, until: Instant, fates: Sequence[RecordedOccurrence]
) -> Iterator[tuple[Instant, Version, bool]]:
    """The instants of fixed delays. Of the version that goes on, one at a time is under way."""
    chained = [each for each in books.versions if isinstance(each.schedule, FixedDelay)]
    if not chained:
        return
    by_number = {version.number: version for version in chained}
    found: dict[Instant, Version] = {}
    for due in books.live:
        version = _whose(chained, due)
        link = None if books.link is None else books.link.due
        if version is not None and (version.cut is not None or due == link):
            found[due] = version
    for fate in fates:
        version = by_number.get(fate.version) or _whose(chained, fate.first)
        if version is not None:
            found[fate.first] = version
    for due in sorted(found):
        if after < due <= until:
            yield due, found[due], True


def _whose(versions: Sequence[Version], due: Instant) -> Version | None:
    for version in versions:
        if version.since < due and (version.cut is None or due <= version.cut):
            return version
    return None


def still_to_come(books: AuditSnapshot, due: Instant, version: Version) -> str | None:
    """Why an instant has no fate yet, if that is in order."""
    if books.held_from is not None and due > books.held_from:
        return "paused"
    if due >= books.unfired.get(version.number, due + 1):
        return "unfired"
    if due >= books.aside.get(version.number, due + 1):
        return "set aside"
    return None


def _settle(balance: AuditBalance, fate: RecordedOccurrence) -> None:
    if fate.status is Status.SKIPPED:
        balance.skipped[fate.reason or "no reason"] += 1
    elif fate.status is Status.MISSED:
        # How late it was is in there, too; what counts is why.
        balance.missed[(fate.reason or "no reason").partition(":")[0]] += 1
    else:
        balance.ran[fate.status] += 1


@dataclass(slots=True)
class _Open:
    fate: RecordedOccurrence
    held: int = 0


class Walk:
    """The fates beside the instants: which are open at an instant, and how much each has held."""

    def __init__(self, fates: Sequence[RecordedOccurrence], after: Instant) -> None:
        self._coming = list(reversed(fates))
        self._after = after
        self._open: list[_Open] = []

    def at(self, due: Instant, balance: AuditBalance) -> RecordedOccurrence | None:
        self._advance(due, balance)
        for each in self._open:
            each.held += 1
        if len(self._open) > 1:
            balance.fault("surplus", due, due, len(self._open) - 1)
        return self._open[0].fate if self._open else None

    def close(self, reached: Instant, balance: AuditBalance) -> None:
        """Judge all that ended up to there; what goes on belongs to the next part."""
        self._advance(reached + 1, balance)

    def _advance(self, due: Instant, balance: AuditBalance) -> None:
        while self._coming and self._coming[-1].first <= due:
            self._open.append(_Open(self._coming.pop()))
        over = [each for each in self._open if each.fate.last < due]
        if over:
            self._open = [each for each in self._open if each.fate.last >= due]
        for each in over:
            self._judge(each.fate, each.held, balance)

    def _judge(self, fate: RecordedOccurrence, held: int, balance: AuditBalance) -> None:
        if fate.first <= self._after:
            return  # it began in an earlier part
        if held == 0:
            balance.fault("surplus", fate.first, fate.last, fate.count or 1)
        elif fate.count is not None and fate.count != held:
            balance.fault("miscounted", fate.first, fate.last, abs(fate.count - held))
