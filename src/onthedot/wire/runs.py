"""A run on the wire: how it is asked for and how it is shown."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from onthedot.core.states import Status
from onthedot.wire.fields import InstantText, about
from onthedot.wire.shapes import TriggerIn

TRIGGERS_MAX: Final = 1000
"""Runs that one request makes: more would hold the store up for others."""


class TriggerManyIn(Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Runs to make, all of them or none."""

    runs: Annotated[
        list[TriggerIn],
        about(
            f"1 to {TRIGGERS_MAX} runs, each as for a single trigger.",
            f'an array of 1 to {TRIGGERS_MAX} objects such as {{"payload": …}}',
            min_length=1,
            max_length=TRIGGERS_MAX,
        ),
    ]


class RunCreated(Struct, kw_only=True, frozen=True, rename="camel"):
    """The run that a trigger made."""

    run_id: str
    job_id: str
    scheduled_for: InstantText


class RunsCreated(Struct, kw_only=True, frozen=True, rename="camel"):
    """The runs that were made, in the order in which they were asked for."""

    runs: list[RunCreated]


class RunCancelled(Struct, kw_only=True, frozen=True, rename="camel"):
    """What a cancel came to: with 200 it is over, with 202 the node that holds it has been told."""

    run_id: str
    status: Status


class RunOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """A run by its latest attempt, or a range of occurrences that were skipped or missed."""

    run_id: str
    job_id: str
    status: Status
    scheduled_for: Annotated[
        InstantText, Meta(description="When it was due; of a range, the first.")
    ]
    started_at: InstantText | None
    finished_at: InstantText | None
    node_id: Annotated[
        str | None, Meta(description="The node that holds it or, once it is over, had it last.")
    ]
    attempt: Annotated[int, Meta(description="Counted from 1; 0 for a range.")]
    error: Annotated[str | None, Meta(examples=["HTTP 500 Internal Server Error"])]
    output: Annotated[
        str | None,
        Meta(description="The first 64 KB of what a callback answered; what a function returned."),
    ]
    reason: Annotated[str | None, Meta(description="Why it ended as it did.", examples=["paused"])]
    until: Annotated[InstantText | None, Meta(description="The last instant of a range.")]
    count: Annotated[int | None, Meta(description="How many a range holds; null if too many.")]
    rescues: Annotated[int, Meta(description="How often it was taken over from a dead node.")]
    version: Annotated[int, Meta(description="The version of the job it belongs to.")]
    redrive_of: Annotated[
        str | None, Meta(description="The failed run that it does again, if it is a redrive.")
    ]
    backfill_of: Annotated[
        InstantText | None,
        Meta(description="The instant that never ran and that it makes up for, in a backfill."),
    ]
    progress: Annotated[
        ProgressOut | None, Meta(description="How far its latest attempt has come, if it says so.")
    ]

    @property
    def result(self) -> Any:
        """What a function returned, as a value. A body that is not JSON is given as text."""
        try:
            return None if self.output is None else msgspec.json.decode(self.output)
        except msgspec.DecodeError:
            return self.output


class ProgressOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """How far a run has come, in its own words."""

    done: int | float
    total: Annotated[int | float | None, Meta(description="Null if it did not say.")]
    text: str


class LineOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """One line that a run has printed or logged."""

    at: InstantText
    attempt: int
    level: Annotated[
        str,
        Meta(
            description="A stream (`stdout`, `stderr`), a level of logging, or `cut`: here lines"
            " are missing, and the text says how many."
        ),
    ]
    text: str


class RunLogs(Struct, kw_only=True, frozen=True, rename="camel"):
    """What a run has said, first to last. Given as `after`, `next` leads to what comes later."""

    lines: list[LineOut]
    next: str
    more: Annotated[bool, Meta(description="Whether there are more lines already.")]
    status: Annotated[Status, Meta(description="Once the run is over, no line comes any more.")]


class AttemptOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """One try at a run."""

    attempt: int
    status: Status
    started_at: InstantText | None
    finished_at: InstantText | None
    node_id: str | None
    error: str | None
    output: str | None
    reason: str | None


class RunDetail(RunOut, kw_only=True, frozen=True, rename="camel"):
    """A run with every attempt, first to last."""

    nominal: Annotated[
        InstantText | None,
        Meta(description="What its schedule names, if a calendar moved it from there."),
    ]
    not_before: Annotated[
        InstantText | None,
        Meta(description="Until when `spread` and `jitter` hold its start back, if they do."),
    ]
    attempts: list[AttemptOut]


class RunList(Struct, kw_only=True, frozen=True, rename="camel"):
    """Newest first, one element per run. `nextCursor` is null on the last page."""

    runs: list[RunOut]
    next_cursor: str | None
