"""Judges a cluster whose jobs were changed while they fired, by what the outside could see.

It knows the receiver's ledger, the public API and the documented promises, nothing of our code.
Instants are microseconds since the epoch; those of the API and of the receiver are of one machine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

SECOND = 1_000_000
HOLDS_AFTER = SECOND
"""A pause or an edit holds for what is due so long after its answer, and a delete for all."""
CANCELLED_WITHIN = 2 * SECOND
SLACK = SECOND
"""What a busy machine may add to a limit that is about doing something, not about refraining."""
STARTED_BY = 2 * SECOND
"""What was due so long before a delete has been started; what came later may end unstarted."""
SHOWN_MAX = 30

Kind = Literal["create", "every", "pause", "resume", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of when a job fires. `at` is when it was made, by the API; `every` what it says."""

    kind: Kind
    sent: int
    at: int
    answered: int
    every: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of what a job sends (its edition is the place in the story) or of its queue."""

    value: str = ""
    sent: int
    answered: int


@dataclass(slots=True)
class Job:
    """A job's story. The first of each list is its creation."""

    job_id: str
    changes: list[Change]
    editions: list[Edit]
    queues: list[Edit]

    @property
    def deleted(self) -> Change | None:
        return self.changes[-1] if self.changes[-1].kind == "delete" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One element of the API's list of runs. `until` and `count` are set on a range."""

    run_id: str
    job_id: str
    status: str
    due: int
    started: int | None = None
    finished: int | None = None
    node: str | None = None
    rescues: int = 0
    until: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as it came to the receiver, with the edition or the token in its payload."""

    at: int
    run_id: str
    job_id: str
    due: int
    attempt: int = 1
    edition: int | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    run_id: str
    job_id: str
    token: str
    sent: int
    answered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    run_id: str
    answered: int
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """`records` are of jobs that are still there; `by_id` are runs that were asked for one by one.
    `subscriptions`: the queues of each worker, none for all of them.
    """

    jobs: Mapping[str, Job]
    records: Sequence[Record]
    seen: Sequence[Seen]
    by_id: Mapping[str, Record] = field(default_factory=dict)
    triggers: Sequence[Trigger] = ()
    cancels: Sequence[Cancel] = ()
    subscriptions: Mapping[str, frozenset[str]] = field(default_factory=dict)


def violations(history: History) -> list[str]:
    """Every broken promise, one line each."""
    return [fault for rule in RULES for fault in rule(history)]


def assert_sound(history: History) -> None:
    found = violations(history)
    lines = "\n".join(found[:SHOWN_MAX])
    assert not found, f"{len(found)} broken promises, the first of them:\n{lines}"


# Every instant has one fate


@dataclass(frozen=True, slots=True)
class Part:
    """A time in which a job fires by one rhythm, or skips by it (`fate`). It ends at a cut between
    `low` and `high`: the answer tells only that much.
    """

    fate: str | None
    anchor: int
    every: int
    low: int
    high: int

    def dues(self, after: int, last: int) -> range:
        first = self.anchor + max(1, (after - self.anchor) // self.every + 1) * self.every
        return range(first, last + 1, self.every)


def parts_of(job: Job) -> list[Part]:
    first, *rest = job.changes
    parts: list[Part] = []
    fate, anchor, every = "ran", first.at, first.every
    for change in rest:
        low = change.sent - STARTED_BY if change.kind == "delete" else change.at
        parts.append(Part(fate, anchor, every, low, change.answered + HOLDS_AFTER))
        if change.kind == "every":
            anchor, every = change.at, change.every
        elif change.kind != "delete":
            fate = "skipped" if change.kind == "pause" else "ran"
    return parts


def each_instant_has_one_fate(history: History) -> Iterator[str]:
    """Some cuts within the promised limits must explain all that is known of a job."""
    marks = _marks(history)
    for job in history.jobs.values():
        found = marks[job.job_id]
        for due, fates in found.items():
            if len(fates) > 1:
                yield f"doubled: {job.job_id} has {fates} for {due}"
        known = {due: fates[0] for due, fates in found.items()}
        parts = parts_of(job)
        if job.deleted:  # of a deleted job only its callbacks are known
            parts = [Part(None, *_rest(part)) if part.fate != "ran" else part for part in parts]
        if not _explained(job.changes[0].at, parts, known):
            yield f"unexplained: {job.job_id}: {_difference(job, parts, known)}"


def _rest(part: Part) -> tuple[int, int, int, int]:
    return part.anchor, part.every, part.low, part.high


def _explained(begin: int, parts: Sequence[Part], known: Mapping[int, str]) -> bool:
    @cache
    def explains(place: int, after: int) -> bool:
        if place == len(parts):
            return not any(due > after for due in known)
        part = parts[place]
        low, high = max(part.low, after), max(part.high, after)
        times = [*known, *part.dues(after, high)]
        cuts = {low, high, *(t - d for t in times for d in (0, 1) if low <= t - d <= high)}
        return any(
            _within(known, after, cut) == _expected(part, after, cut) and explains(place + 1, cut)
            for cut in sorted(cuts)
        )

    return explains(0, begin)


def _within(known: Mapping[int, str], after: int, last: int) -> dict[int, str]:
    return {due: fate for due, fate in known.items() if after < due <= last}


def _expected(part: Part, after: int, last: int) -> dict[int, str]:
    return {} if part.fate is None else dict.fromkeys(part.dues(after, last), part.fate)


def _difference(job: Job, parts: Sequence[Part], known: Mapping[int, str]) -> str:
    """As if every cut had been at its answer: not the truth, but near enough to look for it."""
    wanted: dict[int, str] = {}
    after = job.changes[0].at
    for part in parts:
        cut = max(after, part.high - HOLDS_AFTER)
        wanted |= _expected(part, after, cut)
        after = cut
    lost = sorted(set(wanted.items()) - set(known.items()))
    more = sorted(set(known.items()) - set(wanted.items()))
    told = [f"{change.kind} at {change.at}" for change in job.changes]
    return f"missing about {lost[:5]}, too many about {more[:5]}; {told}"


def _marks(history: History) -> defaultdict[str, defaultdict[int, list[str]]]:
    """What became of each instant of each job, by the ledger; of a deleted one, by the receiver."""
    marks: defaultdict[str, defaultdict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    asked_for = {trigger.run_id for trigger in history.triggers}
    for record in history.records:
        if record.run_id in asked_for:
            continue
        if record.until is None:
            marks[record.job_id][record.due].append("ran")
            continue
        for due in _range(history.jobs[record.job_id], record):
            marks[record.job_id][due].append(record.status)
    for seen in history.seen:
        if history.jobs[seen.job_id].deleted and seen.run_id not in asked_for:
            marks[seen.job_id][seen.due].append("ran")
    return marks


def _range(job: Job, record: Record) -> Sequence[int]:
    assert record.until is not None
    for part in parts_of(job):
        dues = part.dues(record.due - 1, record.until)
        if [*dues[:1], *dues[-1:]] == [record.due, record.until] and len(dues) == record.count:
            return dues
    return [record.due]  # and whatever else it stands for will be missing


# Callbacks and records


def nothing_is_early(history: History) -> Iterator[str]:
    for seen in history.seen:
        if seen.at < seen.due:
            yield f"early: run {seen.run_id} arrived {seen.due - seen.at} µs too soon"
    for record in history.records:
        if record.started is not None and record.started < record.due:
            yield f"early: run {record.run_id} started {record.due - record.started} µs too soon"


def nothing_is_there_twice(history: History) -> Iterator[str]:
    for (run_id, attempt), count in Counter((s.run_id, s.attempt) for s in history.seen).items():
        if count > 1:
            yield f"doubled: attempt {attempt} of {run_id} was sent {count} times"
    for run_id, count in Counter(record.run_id for record in history.records).items():
        if count > 1:
            yield f"doubled: run {run_id} is listed {count} times"


def callbacks_and_records_agree(history: History) -> Iterator[str]:
    records = _by_id(history)
    sent = {seen.run_id for seen in history.seen}
    for seen in history.seen:
        record = records.get(seen.run_id)
        if record is None:
            yield f"phantom: the receiver saw run {seen.run_id}, the ledger has none"
        elif record.status not in ("succeeded", "cancelled"):
            yield f"wrong end: run {seen.run_id} was answered 200 and is {record.status}"
    for record in records.values():
        if record.status == "succeeded" and record.run_id not in sent:
            yield f"unseen: run {record.run_id} succeeded, the receiver never saw it"
        elif record.until is None and record.status not in ("succeeded", "cancelled"):
            yield f"wrong end: run {record.run_id} is {record.status}"


def each_trigger_ran_once(history: History) -> Iterator[str]:
    records = _by_id(history)
    asked_to_end = {cancel.run_id for cancel in history.cancels}
    runs: defaultdict[str, set[str]] = defaultdict(set)
    for seen in history.seen:
        if seen.token is not None:
            runs[seen.token].add(seen.run_id)
    for trigger in history.triggers:
        record = records.get(trigger.run_id)
        may_end = trigger.run_id in asked_to_end or history.jobs[trigger.job_id].deleted
        if record is None:
            yield f"lost: the acknowledged trigger {trigger.run_id} is not there"
        elif record.status == "cancelled" and not may_end:
            yield f"cancelled by nobody: {trigger.run_id}"
        if not runs[trigger.token] <= {trigger.run_id}:
            yield f"doubled: trigger {trigger.token} came as {sorted(runs[trigger.token])}"


# Changes hold


def a_cancelled_run_never_starts(history: History) -> Iterator[str]:
    records = _by_id(history)
    for cancel in history.cancels:
        record = records.get(cancel.run_id)
        if record is None:
            continue  # `each_trigger_ran_once` reports it
        late = [seen for seen in _seen_of(history, cancel.run_id) if seen.at > cancel.answered]
        if cancel.code == 200 and (late or record.status != "cancelled"):
            yield f"not cancelled: {cancel.run_id} is {record.status}, started after: {len(late)}"
        if cancel.code == 202:
            end = cancel.answered + CANCELLED_WITHIN + SLACK
            if record.finished is None or record.finished > end:
                yield f"not cancelled in time: {cancel.run_id} ended at {record.finished}"
        if cancel.code not in (200, 202, 409):
            yield f"a cancel of {cancel.run_id} was answered {cancel.code}"


def an_edit_holds(history: History) -> Iterator[str]:
    for seen in history.seen:
        if seen.edition is None:
            continue
        editions = history.jobs[seen.job_id].editions
        least, most = _in_force(editions, seen.due, seen.at)
        if seen.edition not in range(least, most + 1):
            yield f"edition {seen.edition} in {seen.run_id}, due {seen.due}: not {least} to {most}"


def a_deleted_job_starts_nothing(history: History) -> Iterator[str]:
    for seen in history.seen:
        deleted = history.jobs[seen.job_id].deleted
        if deleted and seen.at > deleted.answered + HOLDS_AFTER:
            yield f"started {seen.at - deleted.answered} µs after its delete: {seen.run_id}"


def queues_are_respected(history: History) -> Iterator[str]:
    triggers = {trigger.run_id: trigger for trigger in history.triggers}
    for record in _by_id(history).values():
        edits = history.jobs[record.job_id].queues
        trigger = triggers.get(record.run_id)
        # Until somebody takes it, a run moves with its job: an edit counts that was sent by then.
        taken = record.started or record.finished or record.due
        since = record.due if trigger is None else trigger.sent + HOLDS_AFTER
        least, most = _in_force(edits, since, taken)
        queues = {edit.value for edit in edits[least : most + 1]}
        wanted = history.subscriptions.get(record.node or "", frozenset())
        if wanted and not wanted & queues:
            yield f"node {record.node} had {record.run_id} of {sorted(queues)}, takes {wanted}"


def _in_force(edits: Sequence[Edit], due: int, at: int) -> tuple[int, int]:
    """The first and the last place in the story that may count for what is due then, sent then."""
    held = [place for place, edit in enumerate(edits) if edit.answered + HOLDS_AFTER < due]
    asked = [place for place, edit in enumerate(edits) if edit.sent <= at]
    return max(held, default=0), max(asked, default=0)


def _by_id(history: History) -> dict[str, Record]:
    return {record.run_id: record for record in history.records} | dict(history.by_id)


def _seen_of(history: History, run_id: str) -> list[Seen]:
    return [seen for seen in history.seen if seen.run_id == run_id]


RULES: Sequence[Callable[[History], Iterator[str]]] = (
    each_instant_has_one_fate,
    nothing_is_early,
    nothing_is_there_twice,
    callbacks_and_records_agree,
    each_trigger_ran_once,
    a_cancelled_run_never_starts,
    an_edit_holds,
    a_deleted_job_starts_nothing,
    queues_are_respected,
)
