"""What is sent to the URL of a job's `onFailure`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from onthedot.core.instants import format_instant
from onthedot.core.notifying import Notice
from onthedot.core.states import Status
from onthedot.wire.fields import InstantText


class FailureNotice(Struct, kw_only=True, frozen=True, rename="camel"):
    """A run that failed for good, or is lost."""

    delivery_id: Annotated[
        str,
        Meta(description="The same for every try, and the `Idempotency-Key`: repeats are known."),
    ]
    type: Literal["run.failed", "run.lost"]
    run_id: str
    job_id: str
    job_key: str | None
    job_name: str
    status: Literal["failed", "lost"]
    scheduled_for: InstantText
    finished_at: InstantText
    attempt: int
    error: str | None
    reason: str | None
    why: Annotated[str, Meta(description="The path that tells more: GET it from the server.")]


def notice_out(notice: Notice, *, run_id: str, job_id: str) -> FailureNotice:
    is_lost = notice.status is Status.LOST
    return FailureNotice(
        delivery_id=f"{run_id}-failure",
        type="run.lost" if is_lost else "run.failed",
        run_id=run_id,
        job_id=job_id,
        job_key=notice.job_key,
        job_name=notice.job_name,
        status="lost" if is_lost else "failed",
        scheduled_for=format_instant(notice.due),
        finished_at=format_instant(notice.failed_at),
        attempt=notice.attempt,
        error=notice.error,
        reason=notice.reason,
        why=f"/v1/runs/{run_id}/why",
    )
