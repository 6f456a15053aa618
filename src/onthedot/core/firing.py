"""What becomes of due clock entries: runs, one record for what was missed, and the next occurrence.

An entry stands for its due instant and everything its schedule yields after it. Firing it accounts
for all of that up to `until` (or up to the cut where its version ended), and puts the first instant
after it back into the clock. The store applies a plan whole or refuses it whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from onthedot.core.durations import format_duration
from onthedot.core.effort import SLICE, spent
from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import Cut, Entry, NewRun, Record, Rule, occurrence
from onthedot.core.schedules import Every, Span, Timetable, dues, latest, span
from onthedot.core.shifting import NO_SHIFT
from onthedot.core.states import Status
from onthedot.errors import TooCostly

AHEAD = SECOND
"""Nothing is claimed more than this before it is due, so that a pause holds within a second."""

GRAIN = SECOND // 2
"""Claims end with a multiple of this, and so do the packed rows of a clock that is stored in such:
each is read and taken whole, once.
"""

SET_BACK_MIN = 2 * SECOND

YOUNG_MAX = 1_000
"""Of one entry in one claim; what is left stays in the clock and comes with the next claim."""


class Broken(NamedTuple):
    """An entry that cannot be fired. It is set aside, so that one bad row never stops the
    others.
    """

    entry: Entry
    why: str


class VersionRef(NamedTuple):
    job: int
    version: int


@dataclass(slots=True)
class Plan:
    """What one claim does, and the cuts it knew of. Filled by `plan_firings`, then only read.

    `nexts` says of each entry taken when it comes again; None: not at all. The runs are in the
    order of the entries that they come from. `source` is passed on from the store's reading to
    its writing; the core does not look into it.
    """

    until: Instant
    cuts: list[Cut]
    source: object = None
    taken: list[Entry] = field(default_factory=list)
    nexts: list[Instant | None] = field(default_factory=list)
    runs: list[NewRun] = field(default_factory=list)
    later: list[NewRun] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    closed: list[VersionRef] = field(default_factory=list)
    ended: list[VersionRef] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)


def claim_end(now: Instant) -> Instant:
    """Up to where a claim at this moment reaches."""
    return (now + AHEAD) // GRAIN * GRAIN


def silent_until(horizon: Instant, now: Instant) -> Instant | None:
    """Until when nothing falls due, because all of it was claimed before the clock was set back;
    None: it was not, or by no more than it is corrected by all the time.
    """
    return horizon if horizon - claim_end(now) > SET_BACK_MIN else None


def plan_firings(
    entries: Sequence[Entry],
    cuts: Iterable[Cut],
    rules: Mapping[int, Rule],
    *,
    now: Instant,
    until: Instant,
    source: object = None,
) -> Plan:
    """Decide what the due `entries` come to. `cuts` are the ended versions among them."""
    plan = Plan(until, list(cuts), source, taken=list(entries))
    for _ in planning(plan, rules, now=now):
        pass
    return plan


def planning(plan: Plan, rules: Mapping[int, Rule], *, now: Instant) -> Iterator[None]:
    """Fill a plan for the entries that it takes, a slice of the work at a time: what one of them
    costs must not delay what falls due meanwhile.
    """
    ends = {(cut.job, cut.version): cut for cut in plan.cuts}
    begun = spent()
    for entry in plan.taken:
        if spent() - begun >= SLICE:
            yield
            begun = spent()
        try:
            rule = rules[entry.rule]
            cut = ends.get((entry.job, entry.version)) if ends else None
            if cut is not None or not _fire_once(plan, entry, rule, now):
                yield from _fire(plan, entry, rule, cut, now)
        except Exception as error:  # noqa: BLE001  (whatever is wrong with one entry stays with that entry)
            plan.nexts.append(None)
            plan.broken.append(Broken(entry, f"{type(error).__name__}: {error}"))
            version = VersionRef(entry.job, entry.version)
            (plan.closed if version in ends else plan.ended).append(version)


def set_aside(entry: Entry, why: str, until: Instant, cuts: Iterable[Cut], source: object) -> Plan:
    """A plan that only takes one entry out of the clock, for people to look at."""
    broken = [Broken(entry, why)]
    plan = Plan(until, list(cuts), source, taken=[entry], nexts=[None], broken=broken)
    version = VersionRef(entry.job, entry.version)
    ended = version in {(cut.job, cut.version) for cut in plan.cuts}
    (plan.closed if ended else plan.ended).append(version)
    return plan


def _fire_once(plan: Plan, entry: Entry, rule: Rule, now: Instant) -> bool:
    """Nearly every entry is in time, due once, and goes on. Whether this one is: then it is done.

    It would come to the same in `_fire`, at three times the price.
    """
    _, due, job, version, _ = entry
    if due > plan.until or due < now - rule.catch_up_window_us or rule.shift is not None:
        return False
    try:
        following = rule.schedule.after(due, anchor=due)
    except TooCostly:
        return False
    if following is None or following <= plan.until:
        return False
    plan.nexts.append(following)
    lane, traits, priority = rule.lane, rule.traits, rule.priority
    plan.runs.append(NewRun(job, occurrence(due), version, lane, traits, priority, due, due))
    return True


def _fire(plan: Plan, entry: Entry, rule: Rule, cut: Cut | None, now: Instant) -> Iterator[None]:
    """All decisions first, then the writes into the plan: an exception must leave nothing of the
    entry behind.
    """
    last = plan.until if cut is None else min(plan.until, cut.cut)
    due, schedule = entry.due, rule.schedule
    fate = _Fate()
    if due > last:
        fate.next = due
    elif cut is not None and cut.deleted:
        _skip_deleted(fate, entry, schedule, cut.cut)
    else:
        young: Instant | None = due
        if due < now - rule.catch_up_window_us:
            young = yield from _catch_up(fate, entry, rule, last, now)
        _run_young(fate, young, schedule, last)
    runs: list[NewRun] = []
    for run in _runs(entry, rule, fate.dues + fate.spaced):
        runs.append(run)
        if len(runs) % SLICE == 0:
            yield
    for run in runs:
        (plan.runs if run.at <= plan.until else plan.later).append(run)
    if fate.stuck is not None:
        plan.broken.append(Broken(entry._replace(due=fate.stuck.after + 1), fate.stuck.why))
    if fate.record is not None:
        plan.records.append(fate.record)
    if cut is not None and (fate.next is None or fate.next > cut.cut):
        fate.next = None
        plan.closed.append(VersionRef(entry.job, entry.version))
    elif fate.next is None:
        plan.ended.append(VersionRef(entry.job, entry.version))
    plan.nexts.append(fate.next)


class _Stuck(NamedTuple):
    """What comes after this instant cannot be found."""

    after: Instant
    why: str


class _Fate:
    """What one entry comes to. `dues` and `spaced` hold (due, at); `next` None: the schedule is
    over, or `stuck`.
    """

    __slots__ = ("dues", "next", "record", "spaced", "stuck")

    def __init__(self) -> None:
        self.dues: list[tuple[Instant, Instant]] = []
        self.spaced: list[tuple[Instant, Instant]] = []
        self.record: Record | None = None
        self.next: Instant | None = None
        self.stuck: _Stuck | None = None


def _run_young(fate: _Fate, due: Instant | None, schedule: Timetable, last: Instant) -> None:
    while due is not None and due <= last and len(fate.dues) < YOUNG_MAX:
        fate.dues.append((due, due))
        try:
            due = schedule.after(due, anchor=due)
        except TooCostly as error:  # this one is due all the same: only what follows is set aside
            fate.stuck = _Stuck(fate.dues[-1][0], f"{type(error).__name__}: {error}")
            due = None
    fate.next = due


def _catch_up(
    fate: _Fate, entry: Entry, rule: Rule, last: Instant, now: Instant
) -> Generator[None, None, Instant | None]:
    """Settle what is older than the window; return the first occurrence that is younger."""
    window_from = now - rule.catch_up_window_us
    old = span(rule.schedule, entry.due, min(window_from - 1, last), anchor=entry.due)
    assert old is not None, entry
    young = rule.schedule.after(old.last, anchor=entry.due)
    catching = rule.catching
    oldest = 0 if catching.age_us is None else now - catching.age_us
    caught: list[Instant] = []
    if rule.catch_up == "all":
        found = yield from newest(rule.schedule, old, catching.most)
        caught = [due for due in found if due >= oldest]
        fate.spaced = [(due, now + k * SECOND // catching.rate) for k, due in enumerate(caught)]
    elif rule.catch_up == "latest" and (young is None or young > min(last, now)):
        caught = [old.last] if old.last >= oldest else []
        fate.spaced = [(due, due) for due in caught]
    missed = _before(rule.schedule, old, caught[0], len(caught)) if caught else old
    if missed is not None:
        late = format_duration(now - missed.last)
        reason = f"nobody fired it in time: {late} late, catchUp is {rule.catch_up}"
        fate.record = _record(entry, Status.MISSED, missed, reason)
    return young


def _skip_deleted(fate: _Fate, entry: Entry, schedule: Timetable, last: Instant) -> None:
    due = span(schedule, entry.due, last, anchor=entry.due)
    assert due is not None, entry
    fate.record = _record(entry, Status.SKIPPED, due, "job deleted")


def _record(entry: Entry, status: Status, over: Span, reason: str) -> Record:
    return Record(entry.job, entry.version, status, over.first, over.last, over.count, reason)


def _runs(entry: Entry, rule: Rule, dues: Sequence[tuple[Instant, Instant]]) -> Iterator[NewRun]:
    shift = NO_SHIFT if rule.shift is None else rule.shift
    for due, soonest in dues:
        at = max(soonest, due + shift.of(entry.job, due))
        number = occurrence(due)
        yield NewRun(
            *(entry.job, number, entry.version, rule.lane, rule.traits, rule.priority, due, at)
        )


def _before(schedule: Timetable, whole: Span, first_kept: Instant, kept: int) -> Span | None:
    """What is left of a span when its newest `kept` occurrences are taken off."""
    if first_kept == whole.first:
        return None
    last = latest(schedule, first_kept - 1, first=whole.first, anchor=whole.first)
    count = None if whole.count is None else whole.count - kept
    return Span(count=count, first=whole.first, last=last)


def newest(schedule: Timetable, over: Span, limit: int) -> Generator[None, None, Sequence[Instant]]:
    """The newest `limit` occurrences of a span, oldest first.

    Looks back from the end over a window that doubles, so that the cost follows `limit` and not
    the length of an outage.
    """
    if over.first == over.last:
        return [over.last]
    before = latest(schedule, over.last - 1, first=over.first, anchor=over.first)
    width = over.last - before
    if isinstance(schedule, Every):
        oldest = max(over.first, over.last - (limit - 1) * width)
        return range(oldest, over.last + 1, width)
    while True:  # bounded: the width doubles until it covers the span
        start = over.last - width
        found = deque[Instant](maxlen=limit)
        if start < over.first:
            found.append(over.first)
        begun = spent()
        for due in dues(schedule, max(start, over.first), anchor=over.first):
            if due > over.last:
                break
            found.append(due)
            if spent() - begun >= SLICE:
                yield
                begun = spent()
        if start < over.first or len(found) >= limit:
            return list(found)
        width *= 2
