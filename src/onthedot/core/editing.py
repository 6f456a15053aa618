"""What creating, editing, pausing, resuming and deleting a job does to its occurrences.

The store locks the job's shard, reads where the job stands, asks one of these functions what is
to be written, and writes it, all in one transaction. `cut` is the instant that parts two versions:
what was due up to it belongs to the old one, what comes later to the new one.
"""

from __future__ import annotations

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
from onthedot.core.model import (
    Definition,
    Job,
    NewRun,
    Once,
    Record,
    lane_of,
    occurrence,
    timetable,
)
from onthedot.core.schedules import Every, FixedDelay, Within, latest, span
from onthedot.core.states import Status
from onthedot.errors import NeverFires


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
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


def edit(standing: Standing, definition: Definition) -> Change:
    """A new version of the job; pausing and resuming are edits of `paused`."""
    old, cut = standing.job, standing.cut
    moved = definition.schedule != old.definition.schedule
    begun = moved or definition.start_at != old.definition.start_at
    anchor = anchor_of(definition, standing.now) if begun else old.anchor
    if begun or definition.max_runs != old.definition.max_runs:
        definition = limited(definition, anchor, cut)
    elif definition.last_at is not None and _days(definition) != _days(old.definition):
        definition = _carried(old, definition, cut)
    ahead = _one_off_ahead(standing) or (moved and not _is_ours(standing, definition))
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
        updated_at=standing.now,
        skipping_from=skipping_from,
    )
    record = None if still_paused else _skipped(standing)
    if isinstance(definition.schedule, FixedDelay):
        chained = _chained(standing, job)
        return Change(
            job=job._replace(link=chained.chain.due),
            cut=cut,
            drop=_dropped(standing),
            run=chained.run,
            record=record,
            chain=chained.chain,
        )
    run = one_off(job, cut) if ahead and not definition.paused else None
    return Change(
        job=_with_link(job, run),
        cut=cut,
        entry=None if definition.paused else first_entry(job, cut),
        drop=_dropped(standing),
        run=run,
        record=record,
    )


def _with_link(job: Job, run: NewRun | None) -> Job:
    link = None if run is None else run.due
    return job if job.link == link else job._replace(link=link)


def delete(standing: Standing) -> Change:
    """The end of a job: what its pause held back is recorded, its waiting run is dropped by the
    store.
    """
    return Change(job=None, cut=standing.cut, record=_skipped(standing))


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
    """The first occurrence of a recurring job later than `after`, for the clock."""
    schedule = timetable(job.definition)
    return None if schedule is None else schedule.after(after, anchor=job.anchor)


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
    first = schedule.after(job.created_at - 1, anchor=job.anchor)
    return None if first is None else latest(schedule, schedule.end, first=first, anchor=job.anchor)


def refuse_without_instant(definition: Definition, *, now: Instant) -> None:
    """A recurring schedule that yields no instant at all is refused at the door."""
    schedule, end = timetable(definition), definition.end_at
    if isinstance(definition.schedule, FixedDelay):
        if first_due(definition, now) <= (INSTANT_MAX if end is None else end):
            return
    elif schedule is None or schedule.after(now, anchor=anchor_of(definition, now)) is not None:
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


def limited(definition: Definition, anchor: Instant, after: Instant) -> Definition:
    """With the instant of the last occurrence that `max_runs` allows, counted from now on."""
    if definition.last_at is not None:
        definition = definition._replace(last_at=None)
    schedule = None if definition.max_runs is None else timetable(definition)
    if definition.max_runs is None or schedule is None:
        return definition
    last = due = schedule.after(after, anchor=anchor)
    for _ in range(definition.max_runs - 1):  # bounded at the door, by MAX_RUNS_MAX
        if due is None:
            break
        last, due = due, schedule.after(due, anchor=anchor)
    return definition._replace(last_at=last if due is None else due)


def _days(definition: Definition) -> object:
    """What decides which days are allowed."""
    return definition.calendar, definition.calendar_roll, definition.timezone


def _carried(old: Job, definition: Definition, cut: Instant) -> Definition:
    """With the last instant of as many occurrences as the old version had left: a calendar that
    changes gives nobody more runs than `max_runs` said.
    """
    before = timetable(old.definition._replace(end_at=None))
    after = timetable(definition._replace(last_at=None))
    assert before is not None, old
    assert after is not None, definition
    last, at = None, cut
    left = before.after(cut, anchor=old.anchor)
    while left is not None:  # bounded at the door, by MAX_RUNS_MAX
        due = after.after(at, anchor=old.anchor)
        if due is None:
            break
        last = at = due
        left = before.after(left, anchor=old.anchor)
    return definition if last is None else definition._replace(last_at=last)


def _one_off_ahead(standing: Standing) -> bool:
    """Whether the one-off occurrence is still to come: after the cut, and waiting or held back by a
    pause.
    """
    job = standing.job
    schedule = job.definition.schedule
    if not isinstance(schedule, Once) or schedule.at <= standing.cut:
        return False
    return standing.waiting or job.skipping_from is not None


def _is_ours(standing: Standing, definition: Definition) -> bool:
    """Whether the old version accounts for the one instant that the new one names.

    Only a recurring one can: an instant up to the cut is then one of its occurrences.
    """
    old, new = standing.job, definition.schedule
    schedule = timetable(old.definition)
    if not isinstance(new, Once) or schedule is None:
        return False
    start = old.since if old.skipping_from is None else old.skipping_from
    if not start < new.at <= standing.cut:
        return False
    return schedule.after(new.at - 1, anchor=old.anchor) == new.at


def _chained(standing: Standing, job: Job) -> Edited:
    old, chain = standing.job.definition, standing.chain
    return edited_chain(old, chain, job, standing.cut, under_way=standing.under_way)


def _dropped(standing: Standing) -> int | None:
    """The waiting run that the new version replaces. One due up to the cut stays: it is the old
    version's.
    """
    if standing.chain is not None:
        return standing.chain.run if standing.waiting and not standing.under_way else None
    schedule = standing.job.definition.schedule
    if standing.waiting and isinstance(schedule, Once) and schedule.at > standing.cut:
        return occurrence(schedule.at)
    return None


def _skipped(standing: Standing) -> Record | None:
    """One record for all occurrences that a pause held back, from its beginning up to the cut."""
    job = standing.job
    schedule = job.definition.schedule
    if job.skipping_from is None or schedule is None:
        return None
    if isinstance(schedule, Once | FixedDelay):
        at = schedule.at if isinstance(schedule, Once) else _held_back(standing)
        if at is None or at > standing.cut:
            return None
        first = last = at
        count: int | None = 1
    else:
        due = first_entry(job, job.skipping_from)
        if due is None or due > standing.cut:
            return None
        recurring = timetable(job.definition)
        assert recurring is not None, job
        held = span(recurring, due, standing.cut, anchor=job.anchor)
        assert held is not None, job
        first, last, count = held.first, held.last, held.count
    return Record(job.id, job.version, Status.SKIPPED, first, last, count, "paused")


def _held_back(standing: Standing) -> Instant | None:
    """The link that a pause holds back, if it does: one that is under way is not held back."""
    chain = standing.chain
    return None if chain is None or standing.under_way else chain.due
