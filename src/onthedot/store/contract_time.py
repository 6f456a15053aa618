"""What a store promises of time: the part of the contract that accounts for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from onthedot.core.audit import AuditSnapshot, RecordedOccurrence
from onthedot.core.backfilling import BackfillOptions
from onthedot.core.instants import Instant
from onthedot.store.values import BackfillView


class AuditVerbs(Protocol):
    """What an audit reads. It goes through history in parts, so what it read first may have moved
    on; books are read before fates, in the direction in which runs move, so that nothing is passed
    over.
    """

    async def jobs(self, *, after: int, limit: int) -> list[int]:
        """The numbers of jobs above `after`, lowest first, deleted ones included."""
        ...

    async def books(self, job: int, *, until: Instant, unfired: bool) -> AuditSnapshot:
        """A job with its versions and all of it that is under way, seen at one moment.

        With `unfired` also what is due up to `until` and still in the clock, which takes reading
        all that is due. Raises NotFound if nothing of the job is left.
        """
        ...

    async def fates(self, job: int, *, after: Instant, limit: int) -> list[RecordedOccurrence]:
        """What history has of the occurrences after an instant, oldest first, `limit` of them; and
        before these the last one that began up to it, if there is one."""
        ...


class BackfillVerbs(Protocol):
    """Instants of the past that never ran, run after all. No occurrence's record is changed: the
    runs are new ones, due at their instants.
    """

    async def begin(
        self, job: int, dues: Sequence[Instant], options: BackfillOptions, *, now: Instant
    ) -> BackfillView:
        """A new backfill of those instants that are in none yet. Raises NotFound."""
        ...

    async def known(self, job: int, *, after: Instant, until: Instant, limit: int) -> list[Instant]:
        """Instants in (after, until] that a backfill has, oldest first."""
        ...

    async def advance(self, *, limit: int, now: Instant) -> int:
        """Make runs for up to `limit` open backfills, so many that each has no more under way than
        it may; end those that are done, and those whose job was deleted. Returns how many were
        made. Others may do the same at the same moment: each backfill is advanced by one of them.
        """
        ...

    async def stop(self, job: int, number: int, *, now: Instant) -> None:
        """Make no more runs for it; those that are made go on. Raises NotFound."""
        ...

    async def of_job(self, job: int, *, before: int | None, limit: int) -> list[BackfillView]:
        """The backfills of a job, newest first, with numbers under `before`."""
        ...
