"""What a function is told about its run, and what it may say."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime

from onthedot.core.instants import SECOND


class Retry(Exception):
    """Raised by `ctx.retry`: the attempt has failed, and another may succeed."""


class Fail(Exception):
    """Raised by `ctx.fail`: no further attempt would succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The run that a function is called for. `run_id` is the same for every attempt: use it as an
    idempotency key.
    """

    run_id: str
    job_id: str
    attempt: int
    scheduled_us: int
    halt: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    @property
    def cancelled(self) -> bool:
        """Whether this attempt is to end: it was cancelled, or its time is over. A function that
        lasts should look now and then; five seconds later its process is killed.
        """
        return self.halt.is_set()

    @property
    def scheduled_for(self) -> datetime:
        """The instant at which the run was due, in UTC."""
        whole, rest = divmod(self.scheduled_us, SECOND)
        return datetime.fromtimestamp(whole, UTC).replace(microsecond=rest)

    def retry(self, why: str = "the function asks for another attempt") -> None:
        """End this attempt as failed; another follows if there are attempts left."""
        raise Retry(why)

    def fail(self, why: str = "the function gives up") -> None:
        """End the run as failed: no further attempt."""
        raise Fail(why)
