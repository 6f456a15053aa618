"""Telling somebody that a run has failed: how it is signed, and when it is tried again."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final, NamedTuple

from onthedot.core.instants import DAY, HOUR, SECOND, Instant
from onthedot.core.model import Backoff
from onthedot.core.retrying import backoff_us
from onthedot.core.states import Status

FAILURES: Final = (Status.FAILED, Status.LOST)
"""The ends of a run that a notice is about."""

PATIENCE: Final = DAY
"""So long after the failure a notice is tried; then it is given up."""

BACKOFF: Final = Backoff(initial_us=SECOND, factor=2.0, max_us=HOUR)


class Notice(NamedTuple):
    """A failed run, with all that is said of it. `tries` counts the one under way."""

    job: int
    run: int
    url: str
    job_name: str
    job_key: str | None
    status: Status
    due: Instant
    attempt: int
    failed_at: Instant
    error: str | None
    reason: str | None
    tries: int


def next_try(notice: Notice, *, now: Instant, jitter: float) -> Instant | None:
    """When a notice that could not be delivered is tried again; None: it is given up."""
    if now - notice.failed_at >= PATIENCE:
        return None
    wait = backoff_us(BACKOFF, attempt=notice.tries, jitter=jitter)
    # One last try when the time is up, instead of giving up before it.
    return min(now + wait, notice.failed_at + PATIENCE)


def signature(secrets: Sequence[str], body: bytes, *, at: Instant) -> str:
    """`t=…,v1=…`: the instant in seconds, and for each secret the HMAC-SHA256 of `t.body`.

    Two secrets let a receiver change from one to the other without a gap. The instant is signed
    too, so that an old notice cannot be sent again by somebody else.
    """
    seconds = at // SECOND
    signed = b"%d." % seconds + body
    marks = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    return ",".join([f"t={seconds}", *(f"v1={mark}" for mark in marks)])
