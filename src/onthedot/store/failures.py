"""What a store promises about runs that have failed: a part of the contract of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from onthedot.core.instants import Instant
from onthedot.core.notifying import Notice
from onthedot.store.values import DeadLetter, DeadLetterCursor, Delivery, NoticeView, Redriven


class DeadLetterVerbs(Protocol):
    """Dead letters: runs that failed for good or are lost, kept outside history's retention until
    somebody deals with them. A letter is dealt with once, whoever else tries at the same moment.
    """

    async def page(self, *, before: DeadLetterCursor | None, limit: int) -> list[DeadLetter]:
        """Dead letters of all jobs, the latest failure first, with places under `before`."""
        ...

    async def of_job(self, job: int, *, before: int | None, limit: int) -> list[DeadLetter]:
        """Those of one job, a deleted one too, highest run first, with runs under `before`."""
        ...

    async def get(self, job: int, run: int) -> DeadLetter:
        """One dead letter. Raises NotFound if there is no such run, else NotDead."""
        ...

    async def redrive(self, job: int, run: int, *, now: Instant) -> int:
        """Make a new run in the stead of a failed one, which it names, and end the letter.

        It is due when the failed one was, has the same payload and the job's current version, and
        may start at once. Works while the job is paused. Raises NotFound, NotDead, or
        JobDeleted; then the letter stays as it is.
        """
        ...

    async def redrive_all(self, job: int, *, limit: int, now: Instant) -> list[Redriven]:
        """Redrive up to `limit` letters of a job, oldest run first; call until there are none.

        Raises NotFound if there is no such job, or it was deleted.
        """
        ...

    async def dismiss(self, job: int, run: int) -> None:
        """End a letter; nothing else changes. Raises as `get`."""
        ...

    async def dismiss_all(self, job: int, *, limit: int) -> int:
        """End up to `limit` letters of a job, a deleted one too; how many. Call until 0."""
        ...


class OutboxVerbs(Protocol):
    """Notices of failed runs, on their way to who asked for them. A notice is written in the
    transaction that ends its run, once, and goes when it was delivered.
    """

    async def take(self, *, limit: int, until: Instant, now: Instant) -> list[Notice]:
        """Up to `limit` notices whose next try is due, the longest waiting first. Nobody else is
        given them before `until`: by then they are settled, or whoever took them is gone. Each
        taking is a try, with the next number.
        """
        ...

    async def settle(self, deliveries: Sequence[Delivery], *, now: Instant) -> int:
        """Forget what was delivered, put off or give up the rest; each only if nobody has taken it
        since, and it was not given up. Returns how many.
        """
        ...

    async def get(self, job: int, run: int) -> NoticeView | None:
        """The notice of a run, if it has one that was not delivered."""
        ...
