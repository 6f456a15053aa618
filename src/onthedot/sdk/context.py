"""What a function is told about its run, and what it may say."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, Protocol

from onthedot.core.instants import DAY, SECOND
from onthedot.errors import Invalid
from onthedot.sdk.notes import CallNotes

AFTER_S_MAX = 365 * DAY / SECOND


class Retry(Exception):
    """Raised by `ctx.retry`: the attempt has failed, and another may succeed. `after_us` None: when
    the job's backoff says.
    """

    def __init__(self, why: str, after_us: int | None = None) -> None:
        super().__init__(why)
        self.after_us = after_us


class Fail(Exception):
    """Raised by `ctx.fail`: no further attempt would succeed."""


class RunTransaction(Protocol):
    """The transaction of an exactly-once run. `committed`: the run is completed."""

    committed: bool

    async def __aenter__(self) -> Any: ...
    async def __aexit__(self, *raised: Any) -> None: ...


@dataclass(slots=True, kw_only=True, eq=False)
class Context:
    """The run that a function is called for. `run_id` is the same for every attempt: use it as an
    idempotency key.
    """

    run_id: str
    job_id: str
    attempt: int
    scheduled_us: int
    deadline_us: int | None = None
    notes: CallNotes = field(default_factory=CallNotes, repr=False)
    run_transaction: RunTransaction | None = field(default=None, repr=False)
    halted: bool = field(default=False, repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether this attempt is to end: it was cancelled, or its time is over. A function that
        lasts should look now and then; five seconds later its process is killed.
        """
        return self.halted

    @property
    def scheduled_for(self) -> datetime:
        """The instant at which the run was due, in UTC."""
        return _moment(self.scheduled_us)

    @property
    def deadline(self) -> datetime | None:
        """When the time of this attempt is over, in UTC, by the clock of this machine."""
        return None if self.deadline_us is None else _moment(self.deadline_us)

    @property
    def log(self) -> logging.Logger:
        """A logger whose lines are kept with the run, from debug upwards: `ctx.log.info("…")`."""
        return self.notes.logger

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Let people see how far it has come. The last word counts; say it as often as you like."""
        self.notes.progress(done, total, text)

    def checkpoint(self, value: Any) -> None:
        """Keep a JSON value (64 KB) for the next attempt, should there be one: within half a
        second, and when the attempt ends in any case. `checkpoint_value` gives it back.
        """
        self.notes.checkpoint(value)

    @property
    def checkpoint_value(self) -> Any:
        """What was last given to `checkpoint`, by this attempt or an earlier one; else None."""
        return self.notes.last_checkpoint

    def transaction(self) -> RunTransaction:
        """`async with ctx.transaction() as connection`: what is written through it and the
        completion of this run are committed together, once. For jobs with `exactly_once`.
        """
        if self.run_transaction is None:
            raise Invalid(
                "this run has no transaction",
                hint="Declare the job with guarantee='exactly_once', and run it with --app.",
            )
        return self.run_transaction

    def retry(
        self,
        why: str = "the function asks for another attempt",
        *,
        after: float | timedelta | None = None,
    ) -> NoReturn:
        """End this attempt as failed; another follows if there are attempts left: `after` so many
        seconds, or when the job's backoff says.
        """
        raise Retry(_words(why, "retry(after=30)"), None if after is None else _after_us(after))

    def fail(self, why: str = "the function gives up", *, permanent: bool = True) -> NoReturn:
        """End the run as failed: no further attempt, unless it is not `permanent`."""
        words = _words(why, "fail('no card on file')")
        raise Fail(words) if permanent else Retry(words)


def _moment(us: int) -> datetime:
    whole, rest = divmod(us, SECOND)
    return datetime.fromtimestamp(whole, UTC).replace(microsecond=rest)


def _words(why: str, example: str) -> str:
    if not isinstance(why, str):
        raise TypeError(f"why it ends is said in words, not {why!r}: ctx.{example}")
    return why


def _after_us(after: float | timedelta) -> int:
    seconds = after.total_seconds() if isinstance(after, timedelta) else after
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"after={after!r}: give seconds or a timedelta, as ctx.retry(after=30)")
    if not math.isfinite(seconds) or not 0 <= seconds <= AFTER_S_MAX:
        raise ValueError(f"after={after!r} is not between 0 s and 365 days")
    return round(seconds * SECOND)
