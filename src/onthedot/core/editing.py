"""What creating, editing, pausing, resuming and deleting a job does to its occurrences.

The store locks the job's shard, reads where the job stands, asks one of these functions what is
to be written, and writes it, all in one transaction. `cut` is the instant that parts two versions:
what was due up to it belongs to the old one, what comes later to the new one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from onthedot.core.chaining import (
    Chain,
    Edited,
    edited_chain,
    first_chain,
    first_due,
    late_us,
    link_of,
)
from onthedot.core.instants import INSTANT_MAX, Instant, format_instant
from onthedot.core.limiting import carried, days_of, limited
from onthedot.core.model import (
    Definition,
    Job,
    NewRun,
    Once,
    Record,
    lane_of,
    occurrence,
    timetable,
    traits_of,
)
from onthedot.core.schedules import (
    Every,
    FixedDelay,
    Span,
    Timetable,
    Within,
    latest,
    span,
)
from onthedot.core.states import Status
from onthedot.errors import NeverFires, TooCostly


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentJob:
    """Where a job stands, read under the lock of its shard.

    `horizon`: up to where the shard was claimed. `waiting`: its one-off run is still unclaimed, or
    the link of its `chain`, if it has a fixed delay; `live`: that link is claimed and not over.
    """

    job: Job
    horizon: Instant
    waiting: bool
    now: Instant
    chain: Chain | None = None
    live: bool = False

    @property
    def cut(self) -> Instant:
        """Never before the last one: a clock set back must not give an instant to two versions."""
        return max(self.horizon, self.now, self.job.since)

    @property
    def under_way(self) -> bool:
        """Whether the link of the chain is the old version's to end: claimed, or due up to the
        cut.
        """
        due = None if self.chain is None else self.chain.due
        return due is not None and (self.live or (self.waiting and due <= self.cut))


class Change(NamedTuple):
    """What is written. `job` None: deleted. `entry`: the first due instant of the new version in
    the clock.

    `drop`: the one-off run of the old version, or its link, taken away; `run`: that of the new
    version. `chain`: where its chain stands, if it has a fixed delay.
    """

    job: Job | None
    cut: Instant
    entry: Instant | None = None
    drop: int | None = None
    run: NewRun | None = None
    record: Record | None = None
    chain: Chain | None = None


def create(number: int, definition: Definition, *, now: Instant) -> Change:
    """A new job: version 1, anchored at its creation."""
    anchor = anchor_of(definition, now)
    definition = limited(definition, anchor, now)
    skipping_from = now if definition.paused else None
    job = Job(number, 1, definition, anchor, now, now, now, skipping_from)
    if isinstance(definition.schedule, FixedDelay):
        chain = first_chain(job, now)
        return Change(job._replace(link=chain.due), cut=now, run=link_of(chain), chain=chain)
    if definition.paused:
        return Change(job=job, cut=now)
    run = one_off(job, now)
    return Change(_with_link(job, run), cut=now, entry=first_entry(job, now), run=run)


def edit(current: CurrentJob, definition: Definition, *, exact: bool = True) -> Change:
    """A new version of the job; pausing and resuming are edits of `paused`.

    `exact`: raise TooCostly where the last of `max_runs` cannot be found in bounded time, instead
    of leaving it where it was.
    """
    old, cut = current.job, current.cut
    moved = definition.schedule != old.definition.schedule
    begun = moved or definition.start_at != old.definition.start_at
    anchor = anchor_of(definition, current.now) if begun else old.anchor
    if begun or definition.max_runs != old.definition.max_runs:
        definition = limited(definition, anchor, cut)
    elif definition.last_at is not None and days_of(definition) != days_of(old.definition):
        try:
            definition = carried(old, definition, cut)
        except TooCostly:
            if exact:
                raise
    ahead = _one_off_ahead(current) or (moved and not _is_ours(current, definition))
    recurring = not isinstance(definition.schedule, Once)
    skipping_from = cut if definition.paused and (ahead or recurring) else None
    same = timetable(definition) == timetable(old.definition) and not begun
    still_paused = old.definition.paused and definition.paused and same
    if still_paused:
        skipping_from = old.skipping_from  # one record a pause, however often the job is edited
    job = old._replace(
        version=old.version + 1,
        definition=definition,
        anchor=anchor,
        since=cut,
        updated_at=current.now,
        skipping_from=skipping_from,
    )
    record = None if still_paused else _skipped(current)
    if isinstance(definition.schedule, FixedDelay):
        chained = _chained(current, job)
        return Change(
            job=job._replace(link=chained.chain.due),
            cut=cut,
            drop=_dropped(current),
            run=chained.run,
            record=record,
            chain=chained.chain,
        )
    run = one_off(job, cut) if ahead and not definition.paused else None
    return Change(
        job=_with_link(job, run),
        cut=cut,
        entry=None if definition.paused else first_entry(job, cut),
        drop=_dropped(current),
        run=run,
        record=record,
    )


def _with_link(job: Job, run: NewRun | None) -> Job:
    link = None if run is None else run.due
    return job if job.link == link else job._replace(link=link)


def delete(current: CurrentJob) -> Change:
    """The end of a job: what its pause held back is recorded, its waiting run is dropped by the
    store.
    """
    return Change(job=None, cut=current.cut, record=_skipped(current))


def never_fired(job: Job, cut: Instant, aside: tuple[Instant, str] | None) -> list[Record]:
    """What an entry that was set aside still owes the ledger when its version ends. Nobody can
    count it: that is why it was set aside.
    """
    if aside is None or aside[0] > cut:
        return []
    due, why = aside
    reason = f"it could not be fired: {why}"
    return [Record(job.id, job.version, Status.MISSED, due, cut, None, reason)]


def first_entry(job: Job, after: Instant) -> Instant | None:
    """The first occurrence of a recurring job later than `after`, for the clock. One that cannot be
    found in bounded time, under a calendar that allows next to nothing, is none.
    """
    schedule = timetable(job.definition)
    with suppress(TooCostly):
        return None if schedule is None else schedule.after(after, anchor=job.anchor)
    return None


def one_off(job: Job, cut: Instant) -> NewRun | None:
    """The waiting run of a one-off job. An instant that has passed already runs at once.

    With `catchUp: none` it is missed, not run, if nobody claims it within the window.
    """
    definition = job.definition
    if not isinstance(definition.schedule, Once):
        return None
    at, late = definition.schedule.at, late_us(definition)
    return NewRun(
        job.id,
        occurrence(at),
        job.version,
        lane_of(definition),
        traits_of(definition),
        definition.priority,
        at,
        at,
        None,
        None if late is None else max(at, cut) + late,
    )


def next_run_at(job: Job, now: Instant) -> Instant | None:
    """The next due instant of a job as people see it; None when paused, over or without schedule,
    when its one run was cancelled, and while a run is under way from whose end it will be counted.
    """
    definition = job.definition
    if definition.paused:
        return None
    if isinstance(definition.schedule, FixedDelay | Once):
        return job.link if job.link is not None and job.link > now else None
    return first_entry(job, now)


def last_run_at(job: Job) -> Instant | None:
    """The last due instant of a job whose schedule has an end."""
    schedule = timetable(job.definition)
    if not isinstance(schedule, Within) or schedule.end is None:
        return None
    with suppress(TooCostly):
        first = schedule.after(job.created_at - 1, anchor=job.anchor)
        if first is not None:
            return latest(schedule, schedule.end, first=first, anchor=job.anchor)
    return None


def refuse_without_instant(definition: Definition, *, now: Instant) -> None:
    """A recurring schedule that yields no instant at all is refused at the door."""
    schedule, end = timetable(definition), definition.end_at
    if isinstance(definition.schedule, FixedDelay):
        if first_due(definition, now) <= (INSTANT_MAX if end is None else end):
            return
    elif schedule is None or _has_any(schedule, now, anchor_of(definition, now)):
        return
    if definition.calendar is not None:
        _refuse_without_allowed_day(definition, now)
    if isinstance(schedule, Within):
        end = schedule.end
    if end is not None:
        raise NeverFires(
            f"the schedule has no instant left until endAt, {format_instant(end)}",
            hint="Give a later endAt. To stop the job, pause or delete it.",
            field="endAt",
        )
    raise NeverFires(
        "this schedule has no instant from now to the end of 2199",
        hint="Widen the expression, or use runAt for one instant.",
        field="cronExpr",
    )


def _has_any(schedule: Timetable, after: Instant, anchor: Instant) -> bool:
    """What cannot be found in bounded time is as good as never: nobody would wait for it."""
    try:
        return schedule.after(after, anchor=anchor) is not None
    except TooCostly:
        return False


def _refuse_without_allowed_day(definition: Definition, now: Instant) -> None:
    """Only if the calendar is to blame: without it there would be an instant."""
    free = timetable(definition._replace(calendar=None))
    assert definition.calendar is not None, definition
    if free is None or free.after(now, anchor=anchor_of(definition, now)) is None:
        return
    raise NeverFires(
        f"the schedule has no instant that calendar '{definition.calendar.name}' allows",
        hint="Compare its hours and dates with the schedule, or choose another calendarRoll.",
        field="calendar",
    )


def anchor_of(definition: Definition, now: Instant) -> Instant:
    """The phase of an interval: its first occurrence is at startAt or, without that, one interval
    from now.
    """
    schedule, start = definition.schedule, definition.start_at
    return start - schedule.every_us if isinstance(schedule, Every) and start is not None else now


def _one_off_ahead(current: CurrentJob) -> bool:
    """Whether the one-off occurrence is still to come: after the cut, and waiting or held back by a
    pause.
    """
    job = current.job
    schedule = job.definition.schedule
    if not isinstance(schedule, Once) or schedule.at <= current.cut:
        return False
    return current.waiting or job.skipping_from is not None


def _is_ours(current: CurrentJob, definition: Definition) -> bool:
    """Whether the old version accounts for the one instant that the new one names.

    Only a recurring one can: an instant up to the cut is then one of its occurrences.
    """
    old, new = current.job, definition.schedule
    schedule = timetable(old.definition)
    if not isinstance(new, Once) or schedule is None:
        return False
    start = old.since if old.skipping_from is None else old.skipping_from
    if not start < new.at <= current.cut:
        return False
    return schedule.after(new.at - 1, anchor=old.anchor) == new.at


def _chained(current: CurrentJob, job: Job) -> Edited:
    old, chain = current.job.definition, current.chain
    return edited_chain(old, chain, job, current.cut, under_way=current.under_way)


def _dropped(current: CurrentJob) -> int | None:
    """The waiting run that the new version replaces. One due up to the cut stays: it is the old
    version's.
    """
    if current.chain is not None:
        return current.chain.run if current.waiting and not current.under_way else None
    schedule = current.job.definition.schedule
    if current.waiting and isinstance(schedule, Once) and schedule.at > current.cut:
        return occurrence(schedule.at)
    return None


def _skipped(current: CurrentJob) -> Record | None:
    """One record for all occurrences that a pause held back, from its beginning up to the cut."""
    job = current.job
    schedule = job.definition.schedule
    if job.skipping_from is None or schedule is None:
        return None
    if isinstance(schedule, Once | FixedDelay):
        at = schedule.at if isinstance(schedule, Once) else _held_back(current)
        if at is None or at > current.cut:
            return None
        first = last = at
        count: int | None = 1
    else:
        held = _held(job, job.skipping_from, current.cut)
        if held is None:
            return None
        first, last, count = held.first, held.last, held.count
    return Record(job.id, job.version, Status.SKIPPED, first, last, count, "paused")


def _held(job: Job, after: Instant, until: Instant) -> Span | None:
    """What a recurring job was due in (after, until]. One that cannot be told in bounded time must
    not keep anybody from editing or deleting the job.
    """
    schedule = timetable(job.definition)
    assert schedule is not None, job
    due = None
    try:
        due = schedule.after(after, anchor=job.anchor)
        if due is None or due > until:
            return None
        return span(schedule, due, until, anchor=job.anchor)
    except TooCostly:
        return None if due is None else Span(None, due, until)


def _held_back(current: CurrentJob) -> Instant | None:
    """The link that a pause holds back, if it does: one that is under way is not held back."""
    chain = current.chain
    return None if chain is None or current.under_way else chain.due
