"""What a store promises. One suite, tests/contract/, holds every store to each sentence here.

Every verb is one transaction: it happens whole or not at all, and when it returns it is durable.
Time is always an argument. Verbs that take `node` write on behalf of that node: if it has been
declared dead they raise NodeDead and write nothing, so that nothing of a dead node is ever
committed after its death. A verb that ends a run which is the link of a chain makes the next link
with it (`core/chaining.py`). Any verb may raise StoreUnavailable (it may be committed all the
same) or StoreFull (nothing was written). What becomes of failed runs is in `failures.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from onthedot.core.editing import Change, CurrentJob
from onthedot.core.firing import Plan, VersionRef
from onthedot.core.instants import Instant
from onthedot.core.model import (
    Definition,
    ExecutionSpec,
    Job,
    Lanes,
    LeasedRun,
    Outcome,
    Rule,
    RunRef,
)
from onthedot.core.views import IDLE, Load, NodeFacts, NodeView, RunView
from onthedot.store.calendars import CalendarVerbs
from onthedot.store.claims import Finished, Lessee, Peeked, Promoted
from onthedot.store.contract_time import AuditVerbs, BackfillVerbs
from onthedot.store.contract_upkeep import UpkeepVerbs
from onthedot.store.failures import DeadLetterVerbs, OutboxVerbs
from onthedot.store.notes import NoteVerbs
from onthedot.store.transactions import Statement, Table
from onthedot.store.values import (
    Backlog,
    CancelVerdict,
    Created,
    EnqueueRequest,
    Heartbeat,
    Overview,
    Receipt,
    Rescued,
    RunStory,
    Signal,
    Totals,
    Undeclared,
)
from onthedot.store.zones import ZoneVerbs


class ClockVerbs(Protocol):
    """The clock: every coming occurrence of every active recurring job, one entry a job version."""

    async def peek(
        self, shards: frozenset[int], *, until: Instant, limit: int, queue: bool = False
    ) -> Peeked:
        """Read at most `limit` entries due up to `until`, without locking anything. Tell also
        whether a waiting run comes up by then and, with `queue`, whether one is anybody's. What was
        added behind an earlier claim is found too. No shard is passed over for ever because of one
        with more entries."""
        ...

    async def fire(self, plan: Plan, *, lessee: Lessee, now: Instant) -> list[LeasedRun]:
        """Carry out a plan whole: take its entries, put the next ones back, make the runs, write
        the records, forget the closed cuts, disarm what is over, set the broken aside, and raise
        the horizon of the shards concerned to `plan.until` (never lower it).

        The lessee's share of `plan.runs`, in order of `at`, is made already leased to it, and
        returned; the rest are made unowned, and so is all that is started at most once.
        `plan.later` waits. Raises Taken, and changes nothing, if an entry is gone or a cut has come
        that the plan did not know."""
        ...

    async def horizon(self) -> Instant:
        """Up to where any shard was ever claimed, whatever the clock says now."""
        ...

    async def rules(self, ids: Sequence[int]) -> dict[int, Rule]:
        """The rules with these ids; one that is unknown or unreadable is left out."""
        ...


class JobVerbs(Protocol):
    """Definitions. They are never written by a firing, except when a schedule is over."""

    async def create(
        self, definition: Definition, *, now: Instant, receipt: Receipt | None = None
    ) -> Created:
        """A new job, by `core.editing.create`, with its first entry or waiting run.

        Raises KeyTaken if a job of the namespace has this key. A repeated receipt changes
        nothing and returns the kept answer; the same key with another fingerprint raises
        IdempotencyMismatch."""
        ...

    async def create_many(self, definitions: Sequence[Definition], *, now: Instant) -> list[int]:
        """Many new jobs, all or none, each as `create` makes it; returns their numbers.

        Raises KeyTaken if any of their keys is taken."""
        ...

    async def change(
        self,
        job: int,
        decide: Callable[[CurrentJob], Change | None],
        *,
        now: Instant,
        expected: int | None = None,
    ) -> Job | None:
        """Edit, pause, resume or delete: ask `decide` under the shard's lock and write its change.
        Where that is None, nothing is written and the job is returned as it is.

        The superseded definition is kept as a version. The old entry still accounts for what is
        due up to the cut, the new one begins after it. On delete (None is returned) waiting and
        unowned runs end `cancelled`, reason `job deleted`, and held ones are sent a signal.
        Raises NotFound, VersionConflict if `expected` is not the current version, or KeyTaken.
        """
        ...

    async def remake(
        self, jobs: Mapping[int, Callable[[CurrentJob], Change | None]], *, now: Instant
    ) -> list[Job]:
        """Edit many in one transaction, each as `change` does; returns their new versions. One that
        is gone, or whose decision is None, is passed over."""
        ...

    async def get(self, job: int) -> Job:
        """The job, or NotFound if there is none or it was deleted."""
        ...

    async def keyed(self, namespace: str, key: str) -> Job | None:
        """The job with this key, if there is one."""
        ...

    async def page(self, *, before: int | None, limit: int) -> list[Job]:
        """Jobs, newest first, with numbers under `before`."""
        ...

    async def declare(self, app: str, jobs: Sequence[int], *, now: Instant) -> list[Job]:
        """Remember that the code of an app declares these jobs, and no others; returns those that
        it declared once. A job belongs to the app that declared it last.
        """
        ...

    async def undeclared(self, *, limit: int) -> list[Job]:
        """Jobs that the code of their app declares no longer, newest first."""
        ...

    async def gone(self, job: int) -> Undeclared | None:
        """Since when no code declares this job any more; None if it does, or never did."""
        ...

    async def execution_specs(
        self, refs: Sequence[VersionRef]
    ) -> Mapping[VersionRef, ExecutionSpec]:
        """How to execute these versions, superseded ones included; what is gone is left out."""
        ...


class RunVerbs(Protocol):
    """Live runs (claimed or due), waiting runs (due later), and how they end."""

    async def enqueue(
        self,
        job: int,
        *,
        due: Instant,
        payload: str | None,
        now: Instant,
        receipt: Receipt | None = None,
    ) -> Created:
        """A run that is no occurrence: unowned if due, else waiting. Works while the job is paused.

        Its number is `now` with a free tie-breaker. Raises NotFound; receipts as in create.
        """
        ...

    async def enqueue_many(
        self,
        job: int,
        asked: Sequence[EnqueueRequest],
        *,
        now: Instant,
        receipt: Receipt | None = None,
    ) -> Created:
        """Many runs, all or none, each as `enqueue` makes it. Their numbers rise in the order in
        which they were asked for.
        """
        ...

    async def promote(
        self,
        shards: frozenset[int],
        *,
        until: Instant,
        lessee: Lessee,
        limit: int,
        now: Instant,
    ) -> Promoted:
        """Move waiting runs that come up to `until` to the live ones, oldest first: the
        lessee's share leased to it, the rest and all that is started at most once unowned. Each
        takes the job's current version. One that has expired by `now` ends `missed` instead."""
        ...

    async def lease(self, node: int, lanes: Lanes, *, limit: int, now: Instant) -> list[LeasedRun]:
        """Take up to `limit` due unowned runs, from these lanes.

        Higher priority first, older first within one; 60 s of waiting outweigh one level, so
        that nothing starves. Each takes the job's current version, with its lane, and a higher
        fence: a worker may be given a function that it does not have, and gives that back.
        """
        ...

    async def started(self, node: int, starts: Mapping[RunRef, Instant]) -> None:
        """Let people see since when these runs are running, as far as the node still holds them."""
        ...

    async def finish(self, node: int, outcomes: Sequence[Outcome], *, now: Instant) -> Finished:
        """Record what attempts came to, each under its fence and attempt, and end the live rows.

        An outcome with `retry_at` puts the run back to wait, with the next attempt and a higher
        fence, unless a signal asks for its end: then it is `cancelled`. A run that has failed
        for good or is lost is also kept, with its payload, as a dead letter, and a notice of it
        goes into the outbox if its job asks for that.
        """
        ...

    async def complete(
        self,
        ref: RunRef,
        attempt: int,
        statements: Sequence[Statement],
        *,
        started: Instant,
        now: Instant,
    ) -> None:
        """Carry out a function's statements and end its attempt as succeeded, in one transaction.

        Raises LeaseLost if no node holds the run under this fence and attempt, NodeDead if that
        node is dead, StatementFailed if a statement is not taken; then nothing was written. A
        `finish` of the same attempt that follows is a repeat.
        """
        ...

    async def query(self, statement: Statement) -> Table:
        """What a function reads. Raises StatementFailed."""
        ...

    async def release(self, node: int, refs: Sequence[RunRef], *, now: Instant) -> int:
        """Give held runs back unowned, with a higher fence and the same attempt: nothing is burnt.

        One with a signal ends `cancelled` instead. Returns how many the node still held.
        """
        ...

    async def owned(self, node: int) -> list[RunRef]:
        """The runs that the store says this node holds."""
        ...

    async def rescue(self, *, limit: int, now: Instant) -> Rescued:
        """Take up to `limit` runs from dead nodes: unowned, a higher fence, `rescues` + 1, the same
        attempt. One with a signal ends `cancelled` instead; one that is started at most once ends
        `lost`, since the dead node may have started it, with a dead letter and a notice. Call until
        none are taken."""
        ...

    async def cancel(self, job: int, run: int, *, now: Instant) -> CancelVerdict:
        """End a run that nobody holds at once, or send a signal to its owner.

        Raises NotFound, or RunOver with its status if it has ended.
        """
        ...

    async def signals(self, node: int) -> list[Signal]:
        """Requests to cancel runs that this node holds. They stay until the run leaves the node."""
        ...


class NodeVerbs(Protocol):
    """Who is there. Death is a committed fact and never taken back."""

    async def join(self, facts: NodeFacts, *, now: Instant) -> int:
        """A new node; its number is higher than every earlier one."""
        ...

    async def beat(self, node: int, *, now: Instant, load: Load = IDLE) -> Heartbeat:
        """Prolong the lease and remember the load, or raise NodeDead."""
        ...

    async def declare_dead(
        self, *, silent_before: Instant, gone: Sequence[int] = (), now: Instant
    ) -> list[int]:
        """Declare dead the nodes last heard of before `silent_before`, and those known to be
        `gone`.

        Returns the newly dead. Their runs stay theirs until `rescue` takes them.
        """
        ...

    async def leave(self, node: int, *, now: Instant) -> None:
        """An orderly farewell: the node is dead from now on."""
        ...

    async def time(self) -> Instant | None:
        """What the database's clock says; None if it is the clock of this machine anyway."""
        ...

    async def all(self) -> list[NodeView]:
        """Every node that is still remembered, newest first."""
        ...


class LedgerVerbs(Protocol):
    """Reading what happened and what will. A run is shown once, by its latest attempt."""

    async def run(self, job: int, run: int, *, now: Instant) -> RunView:
        """One run wherever it is, also when its job was deleted; NotFound if there is none."""
        ...

    async def story(self, job: int, run: int, *, now: Instant) -> RunStory:
        """One run with every attempt, first to last, the live one included, seen at one moment."""
        ...

    async def page(
        self, job: int, *, before: int | None, limit: int, now: Instant
    ) -> list[RunView]:
        """Runs and records of a job, highest number first, with numbers under `before`."""
        ...

    async def totals(self, *, until: Instant) -> Totals:
        """Count every run due up to an instant, wherever it is. It reads all of them: for benches
        and checks, not for pages."""
        ...

    async def set_aside(self, job: int) -> str | None:
        """Why the entry of this job's current version cannot be fired; None if nothing is amiss."""
        ...

    async def backlog(self, *, most: int, now: Instant) -> Backlog:
        """How much waits, by queue and altogether. Nothing is counted beyond `most`."""
        ...

    async def overview(self, *, limit: int, now: Instant) -> Overview:
        """The page for people: at most `limit` of everything."""
        ...


class Store(Protocol):
    @property
    def clock(self) -> ClockVerbs: ...
    @property
    def jobs(self) -> JobVerbs: ...
    @property
    def runs(self) -> RunVerbs: ...
    @property
    def dead_letters(self) -> DeadLetterVerbs: ...
    @property
    def outbox(self) -> OutboxVerbs: ...
    @property
    def notes(self) -> NoteVerbs: ...
    @property
    def nodes(self) -> NodeVerbs: ...
    @property
    def ledger(self) -> LedgerVerbs: ...
    @property
    def audit(self) -> AuditVerbs: ...
    @property
    def backfills(self) -> BackfillVerbs: ...
    @property
    def calendars(self) -> CalendarVerbs: ...
    @property
    def zones(self) -> ZoneVerbs: ...
    @property
    def upkeep(self) -> UpkeepVerbs: ...
