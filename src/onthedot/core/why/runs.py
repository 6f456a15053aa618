"""Why a run is where it is, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from onthedot.core.instants import format_instant
from onthedot.core.states import Status
from onthedot.core.views import RunView
from onthedot.core.why.facts import Facts, Finding, Severity, error_of, when
from onthedot.core.why.nodes import clock_refused, worker


def job_of_run(facts: Facts) -> Finding:
    if facts.job is None:
        return Finding("job", Severity.NOTE, f"its job {facts.job_id} was deleted")
    found = f"it belongs to job {facts.job_id}, '{facts.job.definition.name}'"
    return Finding("job", Severity.OK, found)


def ended(facts: Facts, run: RunView, *, check: str = "end") -> Finding:
    """How something of the ledger ended; it may be a range that never ran."""
    run_id = facts.run_id(run.run)
    what = "it" if check == "end" else f"run {run_id}"
    reason = f": {run.reason}" if run.reason else ""
    at = "" if run.finished_at is None else f" at {when(run.finished_at, facts.now)}"
    match run.status:
        case Status.SUCCEEDED:
            return Finding(check, Severity.OK, f"{what} succeeded{at}, in attempt {run.attempt}")
        case Status.FAILED:
            error = error_of(run) or run.reason or "no error was given"
            found = f"{what} failed{at}, in attempt {run.attempt}: {error}"
            fix = f"Fix the cause, then: onthedot run redrive {run_id}"
            return Finding(check, Severity.PROBLEM, found, fix if facts.is_letter else "")
        case Status.LOST:
            found = f"{what} was lost{at}: {error_of(run) or run.reason}"
            fix = f"See whether it was done. To do it again: onthedot run redrive {run_id}"
            return Finding(check, Severity.PROBLEM, found, fix if facts.is_letter else "")
        case Status.MISSED | Status.SKIPPED:
            found = f"{_range(run)} {run.status}{reason}"
            fix = f"onthedot job trigger {facts.job_id}" if facts.job is not None else ""
            verdict = Severity.PROBLEM if run.status is Status.MISSED else Severity.NOTE
            return Finding(check, verdict, found, fix)
    return Finding(check, Severity.NOTE, f"{what} ended as {run.status}{at}{reason}")


def notice_of(facts: Facts) -> Iterator[Finding]:
    notice = facts.notice
    if notice is None:
        return
    tried = f"after {notice.tries} tries" if notice.tries != 1 else "after 1 try"
    trouble = f": {notice.trouble}" if notice.trouble else ""
    if notice.at is None:
        found = f"the notice to {notice.url} was given up {tried}{trouble}"
        yield Finding(
            "notice", Severity.PROBLEM, found, "Fix the receiver, or the job's onFailure."
        )
    else:
        next_try = when(notice.at, facts.now)
        found = f"the notice to {notice.url} is to be tried at {next_try}, {tried}{trouble}"
        yield Finding("notice", Severity.NOTE, found)


def _range(run: RunView) -> str:
    first = format_instant(run.due)
    if run.until is None or run.until == run.due:
        return f"the occurrence of {first} was"
    many = "those" if run.count is None else f"the {run.count}"
    return f"{many} occurrences from {first} to {format_instant(run.until)} were"


def unended(facts: Facts, run: RunView) -> Iterator[Finding]:
    if run.error is not None:
        found = f"attempt {run.attempt - 1} failed: {error_of(run)}"
        yield Finding("last attempt", Severity.PROBLEM, found)
    if facts.fault is not None:
        fix = "See what the node lacks: /health of the node, and the event node.fault in its log."
        yield Finding("node fault", Severity.PROBLEM, facts.fault, fix)
    if run.status is Status.RUNNING:
        assert run.started_at is not None, run
        found = f"attempt {run.attempt} is running since {when(run.started_at, facts.now)}"
        fix = f"If it shall not: onthedot run cancel {facts.run_id(run.run)}"
        yield Finding("running", Severity.NOTE, found, fix)
        yield from _owner(facts, run)
    elif run.status is Status.SCHEDULED:
        which = "is due" if run.attempt == 1 else f"waits for attempt {run.attempt}"
        yield Finding("due", Severity.NOTE, f"it {which} at {when(run.at, facts.now)}")
    else:
        found = f"it could start since {when(run.at, facts.now)}"
        yield Finding("due", Severity.OK, found)
        yield from _owner(facts, run)
        if run.node is None and facts.job is not None:
            yield from worker(facts, facts.job.definition)


def _owner(facts: Facts, run: RunView) -> Iterator[Finding]:
    if run.node is None:
        found = f"no node holds it; {facts.queued} due runs of its queue wait"
        yield Finding("node", Severity.NOTE, found)
        return
    node = next((each for each in facts.nodes if each.number == run.node), None)
    if node is None or node.dead:
        yield _orphaned(facts, run.node)
    elif node.refused:
        yield clock_refused("node", [node])
    else:
        busy = f"{node.load.running} of its {node.facts.slots} slots are busy"
        yield Finding("node", Severity.OK, f"node {run.node} holds it and is alive; {busy}")


def _orphaned(facts: Facts, node: int) -> Finding:
    if any("janitor" in each.facts.roles for each in facts.alive):
        found = f"node {node}, which held it, is dead; it is taken over within seconds"
        return Finding("node", Severity.NOTE, found)
    found = f"node {node}, which held it, is dead, and no janitor is alive to take it over"
    return Finding("node", Severity.PROBLEM, found, "onthedot serve --roles janitor")
