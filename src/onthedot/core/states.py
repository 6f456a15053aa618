"""The states of a run that people see.

scheduled ─▶ queued ─▶ running ─▶ succeeded | failed | lost
    ▲          ▲          │
    │          └─ rescue ─┤        cancelled can follow any state that is not over
    └───────── retry ─────┘        skipped and missed occurrences never became runs
"""

from __future__ import annotations

from enum import StrEnum

from onthedot.core.instants import Instant


class Status(StrEnum):
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    MISSED = "missed"
    LOST = "lost"


OVER = frozenset(Status) - {Status.SCHEDULED, Status.QUEUED, Status.RUNNING}


def is_over(status: Status) -> bool:
    return status in OVER


def live_status(*, at: Instant, started: Instant | None, owned: bool, now: Instant) -> Status:
    """The state of a run that is not over, from what its row says.

    `started` is written only for attempts that last about a second, so a run that is owned and due
    without it is either in its first second or waits for a slot: people see it as queued.
    """
    if owned and started is not None:
        return Status.RUNNING
    return Status.SCHEDULED if at > now else Status.QUEUED
