"""When a job is due, and what keeps it from that: a pause, the end of its schedule, a calendar, a
chain that stands, an entry that cannot be fired.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from onthedot.core.editing import first_entry, next_run_at
from onthedot.core.instants import SECOND, Instant, format_instant
from onthedot.core.model import Job, Once, allowed_of, timetable
from onthedot.core.schedules import FixedDelay, Timetable, latest
from onthedot.core.states import Status, is_over
from onthedot.core.views import RunView
from onthedot.core.why.facts import Facts, Finding, Severity, when
from onthedot.errors import TooCostly

PATIENCE = 5 * SECOND
"""What is due no longer than this may still be on its way."""


def last_due(job: Job, now: Instant) -> Instant | None:
    """The latest instant of a recurring job that must be in the ledger by now."""
    schedule = timetable(job.definition)
    if schedule is None or job.definition.paused:
        return None
    with suppress(TooCostly):  # what cannot be found was set aside, and that is said
        first = first_entry(job, job.since)
        if first is not None and first <= now - PATIENCE:
            return latest(schedule, now - PATIENCE, first=first, anchor=job.anchor)
    return None


def paused(facts: Facts, job: Job) -> Finding:
    if not job.definition.paused:
        return Finding("paused", Severity.OK, "it is not paused")
    since = job.updated_at if job.skipping_from is None else job.skipping_from
    found = f"it is paused since {when(since, facts.now)}: its occurrences are skipped"
    return Finding("paused", Severity.PROBLEM, found, f"onthedot job resume {facts.job_id}")


def schedule(facts: Facts, job: Job) -> Finding:
    schedule = job.definition.schedule
    trigger = f"onthedot job trigger {facts.job_id}"
    if schedule is None:
        found = "it has no schedule: it runs only when it is triggered"
        return Finding("schedule", Severity.NOTE, found, trigger)
    if job.definition.paused:
        return Finding("schedule", Severity.OK, "it has a schedule, which the pause holds back")
    due = next_run_at(job, facts.now)
    if due is not None:
        return Finding("schedule", Severity.OK, f"it is due next at {when(due, facts.now)}")
    if isinstance(schedule, Once):
        was = "was" if schedule.at <= facts.now else "has its end already:"
        found = f"its one instant {was} {when(schedule.at, facts.now)}"
        return Finding("schedule", Severity.NOTE, found, trigger)
    if job.link is not None:
        found = f"its run of {when(job.link, facts.now)} is not over: the next counts from its end"
        return Finding("schedule", Severity.OK, found)
    found = f"its schedule is over: {_over(job, facts.now)}"
    return Finding("schedule", Severity.NOTE, found, trigger)


def _over(job: Job, now: Instant) -> str:
    definition = job.definition
    last, end, named = definition.last_at, definition.end_at, definition.calendar
    free = timetable(definition._replace(calendar=None))
    if named is not None and free is not None and free.after(now, anchor=job.anchor) is not None:
        return f"calendar '{named.name}' allows no instant of it"
    if last is not None and (end is None or last <= end):
        return f"maxRuns is {definition.max_runs}, and the last of them was {format_instant(last)}"
    if isinstance(definition.schedule, FixedDelay) and definition.max_runs is not None:
        return f"maxRuns is {definition.max_runs}, and so many were due"
    return "no instant is left" if end is None else f"endAt was {format_instant(end)}"


def calendar(facts: Facts, job: Job) -> Iterator[Finding]:
    """What its calendar makes of the latest instant that its schedule names; if it leaves that as
    it is, of the next one.
    """
    definition = job.definition
    named, free = definition.calendar, timetable(definition._replace(calendar=None))
    if named is None or free is None or definition.paused:
        return
    who = f"calendar '{named.name}' (version {named.version})"
    allowed = allowed_of(definition)
    assert allowed is not None, job
    for nominal in _around(free, job, facts.now):
        lands = allowed.lands(nominal)
        if lands == nominal:
            continue
        what = "leaves out" if lands is None else "moves"
        where = "" if lands is None else f" to {when(lands, facts.now)}"
        found = f"{who} {what} {when(nominal, facts.now)}{where}: {allowed.against(nominal)}"
        fix = f"If that is not meant: onthedot calendar show {named.name}"
        yield Finding("calendar", Severity.NOTE, found, fix)
        return
    yield Finding("calendar", Severity.OK, f"{who} leaves its last and its next instant alone")


def _around(schedule: Timetable, job: Job, now: Instant) -> Iterator[Instant]:
    """The last instant up to now for which the version answers, and the next one."""
    first = schedule.after(job.since, anchor=job.anchor)
    if first is not None and first <= now:
        yield latest(schedule, now, first=first, anchor=job.anchor)
    following = schedule.after(now, anchor=job.anchor)
    if following is not None:
        yield following


def chain(facts: Facts, job: Job) -> Iterator[Finding]:
    """Where the chain of a fixed delay stands. One that is over is told by its schedule."""
    link = facts.link
    if not isinstance(job.definition.schedule, FixedDelay) or job.link is None:
        return
    if link is None and job.definition.paused:
        found = "the pause holds its chain back: the next run counts from the end of the pause"
        yield Finding("chain", Severity.OK, found)
    elif link is None or is_over(link.status):
        due = when(job.link, facts.now)
        lost = "is not there"
        if link is not None:
            lost = f"has ended: run {facts.run_id(link.run)}, {link.status}"
        found = f"its chain stands: its link of {due} {lost}, and no other was made"
        fix = f"onthedot job pause {facts.job_id}, then onthedot job resume {facts.job_id}"
        yield Finding("chain", Severity.PROBLEM, found, fix)
    else:
        after = "; the next counts from its end"
        if job.definition.paused:
            after = "; after its end the pause holds the chain back"
        found = f"its latest link is run {facts.run_id(link.run)}, {_waits(link, facts.now)}{after}"
        yield Finding("chain", Severity.OK, found)


def _waits(link: RunView, now: Instant) -> str:
    """What stands between a link and its end."""
    match link.status:
        case Status.RUNNING:
            assert link.started_at is not None, link
            return f"running since {when(link.started_at, now)}"
        case Status.QUEUED:
            return f"which could start since {when(link.at, now)} and waits for a worker"
    waits = "due" if link.attempt == 1 else f"which waits for attempt {link.attempt}"
    return f"{waits} at {when(link.at, now)}"


def set_aside(facts: Facts) -> Iterator[Finding]:
    if facts.set_aside is not None:
        found = f"its entry in the clock cannot be fired: {facts.set_aside}"
        fix = "Edit the job's schedule: every edit makes a new entry."
        yield Finding("clock", Severity.PROBLEM, found, fix)


def unfired(facts: Facts, job: Job) -> Iterator[Finding]:
    due = last_due(job, facts.now)
    if due is not None and not facts.recorded:
        found = f"it was due at {when(due, facts.now)}, and nobody has fired that yet"
        fix = "See the next checks; what is late is caught up by the job's catchUp."
        yield Finding("fired", Severity.PROBLEM, found, fix)
    elif due is not None:
        yield Finding("fired", Severity.OK, "its last due instant is in the ledger")
