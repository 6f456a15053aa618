"""What a store promises of time: the part of the contract that accounts for it."""

from __future__ import annotations

from typing import Protocol

from onthedot.core.audit import Books, Fate
from onthedot.core.instants import Instant


class AuditVerbs(Protocol):
    """What an audit reads. It goes through history in parts, so what it read first may have moved
    on; books are read before fates, in the direction in which runs move, so that nothing is passed
    over.
    """

    async def jobs(self, *, after: int, limit: int) -> list[int]:
        """The numbers of jobs above `after`, lowest first, deleted ones included."""
        ...

    async def books(self, job: int, *, until: Instant, unfired: bool) -> Books:
        """A job with its versions and all of it that is under way, seen at one moment.

        With `unfired` also what is due up to `until` and still in the clock, which takes reading
        all that is due. Raises NotFound if nothing of the job is left.
        """
        ...

    async def fates(self, job: int, *, after: Instant, limit: int) -> list[Fate]:
        """What history has of the occurrences after an instant, oldest first, `limit` of them; and
        before these the last one that began up to it, if there is one."""
        ...
