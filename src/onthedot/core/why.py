"""Why a job or a run is where it is: ordered checks, each with what was found and what to do.

The facts are gathered by others; here is only what follows from them. The order is that of the way
of a run: is there a job, does it come due, is it fired, is it taken, is it started, how did it end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from onthedot.core.durations import format_duration
from onthedot.core.editing import first_entry, next_run_at
from onthedot.core.instants import MILLISECOND, SECOND, Instant, format_instant
from onthedot.core.model import Definition, Job, Lanes, Once, lane_of, timetable
from onthedot.core.recovery import Offset, judge_offset, shards_of
from onthedot.core.schedules import FixedDelay, latest
from onthedot.core.states import Status

PATIENCE = 5 * SECOND
"""What is due no longer than this may still be on its way."""


class Verdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Explains something, and may well be meant."""
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its name, what was found in a sentence, and the fix if there is one."""

    check: str
    verdict: Verdict
    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact:
    number: int
    roles: tuple[str, ...]
    queues: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    slots: int = 0
    running: int = 0
    alive: bool = True
    offset_us: int = 0
    claiming: bool = True

    def takes(self, lane: str) -> bool:
        lanes = Lanes(self.queues, frozenset(self.functions))
        return "worker" in self.roles and lanes.take(lane)

    @property
    def refused(self) -> bool:
        """Its machine's clock is too far off for it to start anything."""
        return judge_offset(self.offset_us) is Offset.REFUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFact:
    """A run or a range of the ledger. `error` is that of its last failed attempt."""

    run_id: str
    status: Status
    due: Instant
    at: Instant
    attempt: int
    rescues: int = 0
    node: int | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
    error: str | None = None
    reason: str | None = None
    until: Instant | None = None
    count: int | None = None
    redrive_of: str | None = None


@dataclass(frozen=True, slots=True)
class NoticeFact:
    """`at`: when it is tried next; None: it was given up. `trouble`: what came of the last try."""

    url: str
    tries: int
    at: Instant | None
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """`job` None: it was deleted. `recorded`: the ledger has the instant that `last_due` names.
    `queued`: due runs of the job's queue that nobody holds. `last` is the job's latest record that
    has ended; `is_letter`: the run is among the dead letters; `notice` that of its failure, if
    nobody has received it.
    """

    now: Instant
    job_id: str
    job: Job | None
    nodes: Sequence[NodeFact] = ()
    set_aside: str | None = None
    recorded: bool = True
    queued: int = 0
    last: RunFact | None = None
    is_letter: bool = False
    notice: NoticeFact | None = None
    alive: tuple[NodeFact, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alive", tuple(node for node in self.nodes if node.alive))


def why_job(facts: Facts) -> list[Finding]:
    """Why a job does not run, or that nothing is in its way."""
    job = facts.job
    assert job is not None, "only a job that is there can be asked about"
    name, version = job.definition.name, job.version
    findings = [Finding("job", Verdict.OK, f"it exists: '{name}', version {version}")]
    findings += [_paused(facts, job), _schedule(facts, job)]
    findings += [*_set_aside(facts), *_unfired(facts, job), _scheduler(facts, job)]
    findings += [*_worker(facts, job.definition), *_last(facts)]
    return findings


def why_run(facts: Facts, run: RunFact) -> list[Finding]:
    """Why a run has not started, has not ended, or ended as it did."""
    findings = [_job_of_run(facts)]
    if run.redrive_of is not None:
        found = f"it does run {run.redrive_of} again, which failed"
        findings.append(Finding("redrive", Verdict.NOTE, found))
    if run.status in (Status.SCHEDULED, Status.QUEUED, Status.RUNNING):
        findings += _unended(facts, run)
    else:
        findings.append(_ended(facts, run))
    findings += _notice(facts)
    if run.rescues:
        times = f"{run.rescues} time{'s' if run.rescues > 1 else ''}"
        found = f"it was taken over from a dead node {times}; that used up no retry"
        findings.append(Finding("rescues", Verdict.NOTE, found))
    return findings


def summary(findings: Sequence[Finding]) -> str:
    """The first thing that is wrong, else the first that explains something."""
    for verdict in (Verdict.PROBLEM, Verdict.NOTE):
        for finding in findings:
            if finding.verdict is verdict:
                return finding.found
    telling = {each.check: each.found for each in findings}
    if "end" in telling:
        return telling["end"]
    return f"nothing is in its way; {telling.get('schedule') or telling['due']}"


def last_due(job: Job, now: Instant) -> Instant | None:
    """The latest instant of a recurring job that must be in the ledger by now."""
    schedule = timetable(job.definition)
    if schedule is None or job.definition.paused:
        return None
    first = first_entry(job, job.since)
    if first is None or first > now - PATIENCE:
        return None
    return latest(schedule, now - PATIENCE, first=first, anchor=job.anchor)


# The checks of a job


def _paused(facts: Facts, job: Job) -> Finding:
    if not job.definition.paused:
        return Finding("paused", Verdict.OK, "it is not paused")
    since = job.updated_at if job.skipping_from is None else job.skipping_from
    found = f"it is paused since {_when(since, facts.now)}: its occurrences are skipped"
    return Finding("paused", Verdict.PROBLEM, found, f"onthedot job resume {facts.job_id}")


def _schedule(facts: Facts, job: Job) -> Finding:
    schedule = job.definition.schedule
    trigger = f"onthedot job trigger {facts.job_id}"
    if schedule is None:
        found = "it has no schedule: it runs only when it is triggered"
        return Finding("schedule", Verdict.NOTE, found, trigger)
    if job.definition.paused:
        return Finding("schedule", Verdict.OK, "it has a schedule, which the pause holds back")
    due = next_run_at(job, facts.now)
    if due is not None:
        return Finding("schedule", Verdict.OK, f"it is due next at {_when(due, facts.now)}")
    if isinstance(schedule, Once):
        found = f"its one instant was {_when(schedule.at, facts.now)}"
        return Finding("schedule", Verdict.NOTE, found, trigger)
    if job.link is not None:
        found = f"its run of {_when(job.link, facts.now)} is not over: the next counts from its end"
        return Finding("schedule", Verdict.OK, found)
    found = f"its schedule is over: {_over(job.definition)}"
    return Finding("schedule", Verdict.NOTE, found, trigger)


def _over(definition: Definition) -> str:
    last, end = definition.last_at, definition.end_at
    if last is not None and (end is None or last <= end):
        return f"maxRuns is {definition.max_runs}, and the last of them was {format_instant(last)}"
    if isinstance(definition.schedule, FixedDelay) and definition.max_runs is not None:
        return f"maxRuns is {definition.max_runs}, and so many were due"
    return "no instant is left" if end is None else f"endAt was {format_instant(end)}"


def _set_aside(facts: Facts) -> Iterator[Finding]:
    if facts.set_aside is not None:
        found = f"its entry in the clock cannot be fired: {facts.set_aside}"
        fix = "Edit the job's schedule: every edit makes a new entry."
        yield Finding("clock", Verdict.PROBLEM, found, fix)


def _unfired(facts: Facts, job: Job) -> Iterator[Finding]:
    due = last_due(job, facts.now)
    if due is not None and not facts.recorded:
        found = f"it was due at {_when(due, facts.now)}, and nobody has fired that yet"
        fix = "See the next checks; what is late is caught up by the job's catchUp."
        yield Finding("fired", Verdict.PROBLEM, found, fix)
    elif due is not None:
        yield Finding("fired", Verdict.OK, "its last due instant is in the ledger")


def _scheduler(facts: Facts, job: Job) -> Finding:
    schedulers = [node for node in facts.alive if "scheduler" in node.roles]
    if not schedulers:
        fix = "onthedot serve --roles scheduler (and the same database)"
        return Finding("scheduler", Verdict.PROBLEM, "no scheduler is alive", fix)
    fit = [node for node in schedulers if node.claiming and not node.refused]
    if not fit:
        if any(node.refused for node in schedulers):
            return _clock_refused("scheduler", schedulers)
        found = "every scheduler that is alive is about to leave"
        return Finding("scheduler", Verdict.PROBLEM, found, "Start another one: onthedot serve")
    numbers = [node.number for node in fit]
    owner = next(number for number in numbers if job.shard in shards_of(number, numbers))
    found = f"node {owner} looks after its part of the clock"
    return Finding("scheduler", Verdict.OK, found)


def _worker(facts: Facts, definition: Definition) -> Iterator[Finding]:
    queue = definition.queue
    workers = [node for node in facts.alive if node.takes(lane_of(definition))]
    if not workers and any(node.takes(queue) for node in facts.alive):
        found = f"no worker of queue '{queue}' has the function '{definition.handler}'"
        fix = "onthedot serve --roles worker --app module:app, with the app that declares it"
        yield Finding("worker", Verdict.PROBLEM, found, fix)
        return
    if not workers:
        some = any("worker" in node.roles for node in facts.alive)
        who = f"no worker takes runs of queue '{queue}'" if some else "no worker is alive"
        fix = f"onthedot serve --roles worker --queues {queue} (and the same database)"
        yield Finding("worker", Verdict.PROBLEM, who, fix)
        return
    fit = [node for node in workers if not node.refused]
    if not fit:
        yield _clock_refused("worker", workers)
        return
    names = ", ".join(str(node.number) for node in fit[:10])
    yield Finding("worker", Verdict.OK, f"queue '{queue}' is taken by node {names}")
    slots, running = sum(node.slots for node in fit), sum(node.running for node in fit)
    if running >= slots:
        found = f"all {slots} slots are busy, and {facts.queued} due runs of the queue wait"
        fix = "Raise `slots`, start another worker, or make the callbacks quicker."
        yield Finding("slots", Verdict.PROBLEM, found, fix)
    else:
        yield Finding("slots", Verdict.OK, f"{running} of {slots} slots are busy")


def _clock_refused(role: str, nodes: Sequence[NodeFact]) -> Finding:
    worst = max(nodes, key=lambda node: abs(node.offset_us))
    off = format_duration(abs(worst.offset_us) // MILLISECOND * MILLISECOND)
    found = f"the clock of node {worst.number} is {off} off the database's: it starts nothing"
    return Finding(role, Verdict.PROBLEM, found, "Set that machine's clock, best by NTP.")


def _last(facts: Facts) -> Iterator[Finding]:
    if facts.last is None:
        yield Finding("last run", Verdict.OK, "nothing of it is in the ledger yet")
    else:
        yield _ended(facts, facts.last, check="last run")


# The checks of a run


def _job_of_run(facts: Facts) -> Finding:
    if facts.job is None:
        return Finding("job", Verdict.NOTE, f"its job {facts.job_id} was deleted")
    found = f"it belongs to job {facts.job_id}, '{facts.job.definition.name}'"
    return Finding("job", Verdict.OK, found)


def _ended(facts: Facts, run: RunFact, *, check: str = "end") -> Finding:
    """How something of the ledger ended; it may be a range that never ran."""
    what = "it" if check == "end" else f"run {run.run_id}"
    reason = f": {run.reason}" if run.reason else ""
    at = "" if run.finished_at is None else f" at {_when(run.finished_at, facts.now)}"
    match run.status:
        case Status.SUCCEEDED:
            return Finding(check, Verdict.OK, f"{what} succeeded{at}, in attempt {run.attempt}")
        case Status.FAILED:
            error = run.error or run.reason or "no error was given"
            found = f"{what} failed{at}, in attempt {run.attempt}: {error}"
            fix = f"Mend the cause, then: onthedot run redrive {run.run_id}"
            return Finding(check, Verdict.PROBLEM, found, fix if facts.is_letter else "")
        case Status.LOST:
            found = f"{what} was lost{at}: {run.error or run.reason}"
            fix = f"See whether it was done. To do it again: onthedot run redrive {run.run_id}"
            return Finding(check, Verdict.PROBLEM, found, fix if facts.is_letter else "")
        case Status.MISSED | Status.SKIPPED:
            found = f"{_range(run)} {run.status}{reason}"
            fix = f"onthedot job trigger {facts.job_id}" if facts.job is not None else ""
            verdict = Verdict.PROBLEM if run.status is Status.MISSED else Verdict.NOTE
            return Finding(check, verdict, found, fix)
    return Finding(check, Verdict.NOTE, f"{what} ended as {run.status}{at}{reason}")


def _notice(facts: Facts) -> Iterator[Finding]:
    notice = facts.notice
    if notice is None:
        return
    tried = f"after {notice.tries} tries" if notice.tries != 1 else "after 1 try"
    trouble = f": {notice.trouble}" if notice.trouble else ""
    if notice.at is None:
        found = f"the notice to {notice.url} was given up {tried}{trouble}"
        yield Finding(
            "notice", Verdict.PROBLEM, found, "Mend the receiver, or the job's onFailure."
        )
    else:
        when = _when(notice.at, facts.now)
        found = f"the notice to {notice.url} is to be tried at {when}, {tried}{trouble}"
        yield Finding("notice", Verdict.NOTE, found)


def _range(run: RunFact) -> str:
    first = format_instant(run.due)
    if run.until is None or run.until == run.due:
        return f"the occurrence of {first} was"
    many = "those" if run.count is None else f"the {run.count}"
    return f"{many} occurrences from {first} to {format_instant(run.until)} were"


def _unended(facts: Facts, run: RunFact) -> Iterator[Finding]:
    if run.error is not None:
        found = f"attempt {run.attempt - 1} failed: {run.error}"
        yield Finding("last attempt", Verdict.PROBLEM, found)
    if run.status is Status.RUNNING:
        assert run.started_at is not None, run
        found = f"attempt {run.attempt} is running since {_when(run.started_at, facts.now)}"
        fix = f"If it shall not: onthedot run cancel {run.run_id}"
        yield Finding("running", Verdict.NOTE, found, fix)
        yield from _owner(facts, run)
    elif run.status is Status.SCHEDULED:
        which = "is due" if run.attempt == 1 else f"waits for attempt {run.attempt}"
        yield Finding("due", Verdict.NOTE, f"it {which} at {_when(run.at, facts.now)}")
    else:
        found = f"it could start since {_when(run.at, facts.now)}"
        yield Finding("due", Verdict.OK, found)
        yield from _owner(facts, run)
        if run.node is None and facts.job is not None:
            yield from _worker(facts, facts.job.definition)


def _owner(facts: Facts, run: RunFact) -> Iterator[Finding]:
    if run.node is None:
        found = f"no node holds it; {facts.queued} due runs of its queue wait"
        yield Finding("node", Verdict.NOTE, found)
        return
    node = next((each for each in facts.nodes if each.number == run.node), None)
    if node is None or not node.alive:
        yield _orphaned(facts, run.node)
    elif node.refused:
        yield _clock_refused("node", [node])
    else:
        busy = f"{node.running} of its {node.slots} slots are busy"
        yield Finding("node", Verdict.OK, f"node {run.node} holds it and is alive; {busy}")


def _orphaned(facts: Facts, node: int) -> Finding:
    if any("janitor" in each.roles for each in facts.alive):
        found = f"node {node}, which held it, is dead; it is taken over within seconds"
        return Finding("node", Verdict.NOTE, found)
    found = f"node {node}, which held it, is dead, and no janitor is alive to take it over"
    return Finding("node", Verdict.PROBLEM, found, "onthedot serve --roles janitor")


def _when(instant: Instant, now: Instant) -> str:
    """The instant and how far it is, such as '2027-01-31T09:30:00Z (5 min ago)'."""
    text = format_instant(instant // MILLISECOND * MILLISECOND)
    distance = abs(instant - now) // SECOND * SECOND
    if not distance:
        return f"{text} (now)"
    words = " ".join(format_duration(distance).split(" ")[:4])
    return f"{text} (in {words})" if instant > now else f"{text} ({words} ago)"
