"""How the stores refuse: the same words, whichever store it is."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.core.model import Job
from onthedot.core.states import Status, is_over
from onthedot.errors import (
    CalendarInUse,
    IdempotencyMismatch,
    JobDeleted,
    KeyTaken,
    LeaseLost,
    NodeDead,
    NotDead,
    NotFound,
    RunOver,
    SchemaMismatch,
    StoreWentBack,
    VersionConflict,
)
from onthedot.ids import job_id
from onthedot.store.calendars import CalendarView


def no_such_job(job: int) -> NotFound:
    return NotFound(
        f"there is no job '{job_id(job)}', or it was deleted",
        hint="GET /v1/jobs lists the jobs; runs of a deleted job still answer.",
    )


def lease_lost() -> LeaseLost:
    return LeaseLost(
        "this attempt no longer holds its run, or has completed it: nothing was written",
        hint="Nothing is to be done: whoever holds the run, or held it last, has the last word.",
    )


def no_such_run() -> NotFound:
    return NotFound(
        "there is no such run",
        hint="It may be older than the retention; GET /v1/jobs/{jobId}/runs lists a job's runs.",
    )


def no_such_backfill(number: int) -> NotFound:
    return NotFound(
        f"there is no backfill '{number}' of this job",
        hint="GET /v1/jobs/{jobId}/backfills lists them.",
    )


def run_over(status: Status) -> RunOver:
    return RunOver(
        f"the run is over: {status}", hint="Only a run that has not ended can be cancelled."
    )


def no_dead_letter(status: Status | None, successor: str | None) -> NotFound | NotDead:
    """`status` is the run's, None if it is nowhere; `successor` what it was redriven as."""
    if successor is not None:
        return NotDead(
            f"the run was redriven already, as run '{successor}'",
            hint=f"GET /v1/runs/{successor} tells what became of it.",
        )
    if status is None:
        return no_such_run()
    if not is_over(status):
        why = "it has not ended"
    else:
        why = (
            "it was dismissed"
            if status in (Status.FAILED, Status.LOST)
            else f"it ended as {status}"
        )
    return NotDead(
        f"the run is not among the dead letters: {why}",
        hint="GET /v1/dead-letters lists them; to run a job once more, trigger it.",
    )


def job_deleted(job: int) -> JobDeleted:
    return JobDeleted(
        f"job '{job_id(job)}' was deleted: there is nothing to run any more",
        hint="Dismiss the dead letter, or create the job again and trigger it with the payload.",
    )


def key_taken(key: str | None, holder: int | None) -> KeyTaken:
    whose = "another job" if holder is None else f"job '{job_id(holder)}'"
    return KeyTaken(
        f"key '{key}' belongs to {whose}",
        hint="PATCH that job, or choose another key.",
        field="key",
    )


def version_conflict(current: int, expected: int) -> VersionConflict:
    return VersionConflict(
        f"the job has version {current}, not {expected}: somebody edited it meanwhile",
        hint="Read the job again and repeat the edit on what is there now.",
        field="version",
    )


def no_such_calendar(name: str) -> NotFound:
    return NotFound(
        f"there is no calendar '{name}'",
        hint="GET /v1/calendars lists them; PUT makes one.",
    )


def calendar_conflict(name: str, current: int | None, expected: int) -> VersionConflict:
    if current is None:
        return VersionConflict(
            f"there is no calendar '{name}', and you expect version {expected}",
            hint="It was deleted meanwhile. PUT it without If-Match to make it again.",
            field="version",
        )
    return VersionConflict(
        f"calendar '{name}' has version {current}, not {expected}: somebody edited it meanwhile",
        hint="Read it again and repeat the edit on what is there now.",
        field="version",
    )


def calendar_in_use(calendar: CalendarView, followers: Sequence[Job]) -> CalendarInUse:
    named = ", ".join(f"{job.definition.name!r} ({job_id(job.id)})" for job in followers)
    more = calendar.jobs - len(followers)
    return CalendarInUse(
        f"calendar '{calendar.name}' is followed by {named}"
        + (f" and {more} more" if more else ""),
        hint="Give these jobs another calendar, or null, first.",
    )


def idempotency_mismatch(key: str) -> IdempotencyMismatch:
    return IdempotencyMismatch(
        f"Idempotency-Key '{key}' was used for another request",
        hint="Use a new key for a new request; a repeat must be equal to the first.",
        field="Idempotency-Key",
    )


def node_dead(node: int) -> NodeDead:
    return NodeDead(
        f"node {node} was declared dead: it was silent for longer than its lease",
        hint="It joins again under a new number by itself; check for long stalls if it recurs.",
    )


def store_went_back(why: str) -> StoreWentBack:
    return StoreWentBack(
        f"the database is older than it was: {why}",
        hint="A backup was restored or a replica that lagged behind has taken over. The nodes go on"
        " by themselves; what was written since then is lost: see docs/operations.md.",
    )


def other_schema(number: int) -> SchemaMismatch:
    return SchemaMismatch(
        f"the database was made by another build of onthedot: its migration {number} is not the one"
        " that this build has",
        hint="Run the build that made it; or give this one a new, empty database and create the"
        " jobs there again.",
    )


def newer_schema(found: int, known: int) -> SchemaMismatch:
    return SchemaMismatch(
        f"the database has schema {found}, this onthedot knows only up to {known}",
        hint="Run the newer version that made it: pip install --upgrade onthedot",
    )


def not_ours_to_change(why: str) -> SchemaMismatch:
    return SchemaMismatch(
        f"the database is not as this version needs it, and its user may not change it: {why}",
        hint="As the user who made its tables, run `onthedot db upgrade` with this version.",
    )
