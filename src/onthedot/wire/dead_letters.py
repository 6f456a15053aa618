"""A dead letter on the wire: a run that failed for good, and what was done about it."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from onthedot.wire.fields import InstantText


class DeadLetterOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """A run that failed for good and that nobody has redriven or dismissed yet."""

    run_id: str
    job_id: str
    job_name: Annotated[str | None, Meta(description="Null if the job was deleted.")]
    scheduled_for: InstantText
    failed_at: InstantText
    attempt: Annotated[int, Meta(description="The attempt that was the last.")]
    error: Annotated[str | None, Meta(examples=["HTTP 500 Internal Server Error"])]
    version: Annotated[int, Meta(description="The version of the job that failed.")]


class DeadLetterDetail(DeadLetterOut, kw_only=True, frozen=True, rename="camel"):
    """A dead letter with what it carries."""

    payload: Annotated[
        Any, Meta(description="What the run was given; null if it was the job's own payload.")
    ]


class DeadLetterList(Struct, kw_only=True, frozen=True, rename="camel"):
    """The latest failure first. `nextCursor` is null on the last page."""

    dead_letters: list[DeadLetterOut]
    next_cursor: str | None


class RunRedriven(Struct, kw_only=True, frozen=True, rename="camel"):
    """The run that was made in the stead of a failed one."""

    run_id: str
    job_id: str
    redrive_of: Annotated[str, Meta(description="The id of the failed run.")]


class DeadLettersRedriven(Struct, kw_only=True, frozen=True, rename="camel"):
    """`more`: there may be others left; repeat the request until it is false."""

    runs: Annotated[list[RunRedriven], Meta(description="Oldest first, at most 1000.")]
    more: bool


class DeadLettersDismissed(Struct, kw_only=True, frozen=True, rename="camel"):
    """`more`: there may be others left; repeat the request until it is false."""

    dismissed: Annotated[int, Meta(description="At most 1000.")]
    more: bool
