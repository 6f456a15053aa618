"""Why a job or a run is where it is: ordered checks, each with what was found and what to do.

The facts are gathered by others; here is only what follows from them. The order is that of the way
of a run: is there a job, does it come due, is it fired, is it taken, is it started, how did it end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onthedot.core.states import Status
from onthedot.core.views import RunView
from onthedot.core.why.facts import Facts, Finding, NoticeFact, Severity
from onthedot.core.why.nodes import scheduler, worker
from onthedot.core.why.runs import ended, job_of_run, notice_of, unended
from onthedot.core.why.times import (
    calendar,
    chain,
    last_due,
    paused,
    schedule,
    set_aside,
    unfired,
)

__all__ = [
    "Facts",
    "Finding",
    "NoticeFact",
    "Severity",
    "last_due",
    "summary",
    "why_job",
    "why_run",
]


def why_job(facts: Facts) -> list[Finding]:
    """Why a job does not run, or that nothing is in its way."""
    job = facts.job
    assert job is not None, "only a job that is there can be asked about"
    name, version = job.definition.name, job.version
    findings = [Finding("job", Severity.OK, f"it exists: '{name}', version {version}")]
    findings += [paused(facts, job), schedule(facts, job), *calendar(facts, job)]
    findings += [*chain(facts, job), *set_aside(facts), *unfired(facts, job)]
    findings += [scheduler(facts, job), *worker(facts, job.definition), *_last(facts)]
    return findings


def why_run(facts: Facts, run: RunView) -> list[Finding]:
    """Why a run has not started, has not ended, or ended as it did."""
    findings = [job_of_run(facts)]
    if run.redrive_of is not None:
        found = f"it does run {facts.run_id(run.redrive_of)} again, which failed"
        findings.append(Finding("redrive", Severity.NOTE, found))
    if run.status in (Status.SCHEDULED, Status.QUEUED, Status.RUNNING):
        findings += unended(facts, run)
    else:
        findings.append(ended(facts, run))
    findings += notice_of(facts)
    if run.rescues:
        times = f"{run.rescues} time{'s' if run.rescues > 1 else ''}"
        found = f"it was taken over from a dead node {times}; that used up no retry"
        findings.append(Finding("rescues", Severity.NOTE, found))
    return findings


def summary(findings: Sequence[Finding]) -> str:
    """The first thing that is wrong, else the first that explains something."""
    for verdict in (Severity.PROBLEM, Severity.NOTE):
        for finding in findings:
            if finding.verdict is verdict:
                return finding.found
    telling = {each.check: each.found for each in findings}
    if "end" in telling:
        return telling["end"]
    return f"nothing is in its way; {telling.get('schedule') or telling['due']}"


def _last(facts: Facts) -> Iterator[Finding]:
    if facts.last is None:
        yield Finding("last run", Severity.OK, "nothing of it is in the ledger yet")
    else:
        yield ended(facts, facts.last, check="last run")
