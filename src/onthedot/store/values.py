"""What the verbs of a store take and give, beyond the things of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from onthedot.core.backfilling import BackfillOptions
from onthedot.core.instants import Instant
from onthedot.core.model import (
    Job,
)
from onthedot.core.origin import NOT_MOVED, Origin
from onthedot.core.views import AttemptView, RunView


@dataclass(frozen=True, slots=True)
class Receipt:
    """An API caller's `Idempotency-Key`, kept with what it made, in the same transaction.

    `fingerprint` stands for the whole request. `answer` makes the text that a repeat is given,
    from the job and the runs that were made, none for a create; it is pure.
    """

    key: str
    fingerprint: str
    answer: Callable[[Job, Sequence[int]], str]


@dataclass(frozen=True, slots=True)
class Created:
    """What a create or enqueue made (`runs` only for the latter, in the order asked for), or the
    kept answer if it is a repeat.
    """

    job: Job | None = None
    runs: tuple[int, ...] = ()
    repeat: str | None = None

    @property
    def run(self) -> int | None:
        """Where one was asked for."""
        return self.runs[0] if self.runs else None


class EnqueueRequest(NamedTuple):
    """A run to make. `payload` None means the job's own."""

    due: Instant
    payload: str | None = None


class Undeclared(NamedTuple):
    """That the code of an app declares a job no longer, and since when that is known."""

    app: str
    since: Instant


class Rescued(NamedTuple):
    """How many runs were taken from dead nodes, and how many of them ended as lost."""

    taken: int = 0
    lost: int = 0


class CancelVerdict(StrEnum):
    CANCELLED = "cancelled"
    """It will never start (again)."""
    ASKED = "asked"
    """A node holds it and decides: it has been sent a signal."""


class Signal(NamedTuple):
    """A request to cancel a run that a node holds. `reason` becomes the reason of the run."""

    job: int
    run: int
    reason: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The answer to a heartbeat: the live nodes that have the scheduler role, by number. `moved`:
    the database was restarted or replaced: what was read before may not hold any more.
    """

    schedulers: tuple[int, ...]
    moved: bool = False


class DeadLetterCursor(NamedTuple):
    """Where a dead letter stands in the list of all."""

    failed_at: Instant
    job: int
    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A run that failed for good, kept until somebody redrives or dismisses it. `payload` None
    means the job's own; `job_name` None: the job was deleted.
    """

    job: int
    run: int
    version: int
    attempt: int
    due: Instant
    failed_at: Instant
    error: str | None
    payload: str | None
    job_name: str | None

    @property
    def place(self) -> DeadLetterCursor:
        return DeadLetterCursor(self.failed_at, self.job, self.run)


class Delivery(NamedTuple):
    """What became of one try at delivering a notice. `trouble` None: it was delivered. Otherwise it
    is tried again at `next_at`; None: it is given up.
    """

    job: int
    run: int
    tries: int
    trouble: str | None = None
    next_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeView:
    """A notice that has not been delivered. `at` None: it was given up, at `given_up_at`;
    `trouble` is what came of the last try.
    """

    url: str
    tries: int
    at: Instant | None
    given_up_at: Instant | None
    trouble: str | None


class Redriven(NamedTuple):
    """A dead letter's run, and the new one in its stead."""

    old: int
    new: int


@dataclass(frozen=True, slots=True)
class RunStory:
    """`moved`: of an occurrence whose version is still known, from where and to when."""

    run: RunView
    attempts: list[AttemptView]
    moved: Origin = NOT_MOVED


@dataclass(frozen=True, slots=True)
class Totals:
    """The ledger counted: `records` rows, of so many different `runs`; equal if all is well."""

    records: int
    runs: int


@dataclass(frozen=True, slots=True)
class Costs:
    """What a store has written since it was made, history apart. `backend`: the process that serves
    us, if it runs on this machine.
    """

    row_versions: int
    wal_bytes: int
    transactions: int = 0
    backend: int | None = None

    def __sub__(self, before: Costs) -> Costs:
        return Costs(
            self.row_versions - before.row_versions,
            self.wal_bytes - before.wal_bytes,
            self.transactions - before.transactions,
            self.backend,
        )


class BackfillView(NamedTuple):
    """A backfill: `made` of its `total` runs have been made."""

    number: int
    job: int
    options: BackfillOptions
    total: int
    created_at: Instant
    ended_at: Instant | None = None
    made: int = 0

    @classmethod
    def of(cls, row: Sequence[Any]) -> BackfillView:
        number, job, priority, concurrency, newest_first, total, created_at, ended_at, made = row
        options = BackfillOptions(
            priority=priority, concurrency=concurrency, newest_first=bool(newest_first)
        )
        return cls(number, job, options, total, created_at, ended_at, made)


class QueueDepth(NamedTuple):
    """How many due runs of a queue nobody holds, and the oldest instant among them."""

    queue: str
    runs: int
    oldest: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """How much waits, for gauges. `queues` has those with something in them; `notices` are those
    that are still to be delivered.
    """

    queues: list[QueueDepth]
    waiting: int
    dead_letters: int
    set_aside: int
    notices: int
    notices_given_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    job: int
    due: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a person on call looks at first; every list is bounded. `names` has each job that
    occurs.
    """

    live: list[RunView]
    failed: list[RunView]
    recent: list[RunView]
    upcoming: list[Upcoming]
    names: dict[int, str]
    jobs: int
    queued: int
    set_aside: int
