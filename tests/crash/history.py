"""What the outside could see of a cluster, as values. Instants are microseconds since the epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SECOND = 1_000_000
# A pause, its end or an edit holds for what is due so much later than its answer.
HOLDS_AFTER = SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """When it was asked for and answered, and when its end was."""

    sent: int
    answered: int
    resuming: int
    resumed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a job must come to. A recurring one was created at `created`; the request to pause it
    for good was sent at `pause_sent` and answered at `pause_answered`; `pauses` came before that.
    `runs`: how many it has, if known. `function`: its runs are in processes that may die alone.
    """

    job_id: str
    retries: int
    status: str
    attempts: int
    every: int | None = None
    created: int = 0
    pause_sent: int = 0
    pause_answered: int = 0
    runs: int | None = None
    function: bool = False
    pauses: tuple[Pause, ...] = ()

    def may_skip(self, due: int) -> bool:
        """Whether a pause may have taken this instant."""
        if due > self.pause_sent:
            return True
        return any(p.sent < due <= p.resumed + HOLDS_AFTER for p in self.pauses)

    def must_not_run(self, due: int) -> bool:
        later = due - HOLDS_AFTER
        if any(p.answered < later and due < p.resuming for p in self.pauses):
            return True
        return later > self.pause_answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One element of GET /v1/jobs/{jobId}/runs. `until` is set on a skipped or missed range."""

    run_id: str
    job_id: str
    status: str
    scheduled_for: int
    started: int | None
    finished: int | None
    attempt: int
    rescues: int
    until: int | None = None
    redrive_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as it came to the receiver."""

    at: int
    run_id: str
    job_id: str
    attempt: int
    scheduled_for: int
    key: str
    token: str | None = None
    edition: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The payload of a job was given this edition; a later edit has a higher one."""

    job_id: str
    edition: int
    sent: int
    answered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """`status` of the answer, 0 without one."""

    run_id: str
    status: int
    answered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redrive:
    """Of one letter, or of all of a job. `status` of the answer, 0 without one; `made`: each failed
    run in it and the new one.
    """

    run_id: str | None = None
    job_id: str | None = None
    status: int
    made: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissal:
    """`status` of the answer, 0 without one."""

    run_id: str
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Something a client asked for, under a token of its own. Unanswered, it may or may not have
    happened; `made` is the id in the answer.
    """

    what: str
    token: str
    made: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """`breaks`: when a process was lost to the others: killed, stopped, or, if there was only one,
    started again. `wakings`: when a stopped one was let go on. `cuts`: from when to when one could
    not reach its database, and may have been given up. `jobs_named`: the ids of every job that the
    API lists, by name. `letters`: the dead letters that are left of the jobs whose failures
    somebody looked after.
    """

    jobs: Mapping[str, Job]
    records: Sequence[Record]
    records_again: Sequence[Record]
    seen: Sequence[Seen]
    breaks: Sequence[int]
    wakings: Sequence[int] = ()
    cuts: Sequence[tuple[int, int]] = ()
    asks: Sequence[Ask] = ()
    edits: Sequence[Edit] = ()
    cancels: Sequence[Cancel] = ()
    redrives: Sequence[Redrive] = ()
    dismissals: Sequence[Dismissal] = ()
    letters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    jobs_named: Mapping[str, Sequence[str]] = field(default_factory=dict)
