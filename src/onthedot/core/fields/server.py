"""What the server sets and shows."""

from __future__ import annotations

from typing import Final

from onthedot.core.fields.declaring import Field, Kind, Where

SERVER: Final = (
    Field(
        name="sentence",
        about="The schedule in words.",
        where=Where.NOWHERE,
        nullable=True,
        examples=("At 09:00 on Monday (UTC)",),
    ),
    Field(
        name="normalised",
        about="The schedule in its normal form.",
        where=Where.NOWHERE,
        nullable=True,
        examples=("0 9 * * MON",),
    ),
    Field(
        name="calendar_version",
        type=int,
        about="The version of the calendar that the job follows.",
        where=Where.NOWHERE,
        nullable=True,
    ),
    Field(
        name="version",
        type=int,
        about="The job's version; an edit that names another one is refused (409). Counted from 1.",
        where=Where.EDIT,
        limits={"ge": 1, "le": 2**63 - 1},
        says="an integer from 1",
    ),
    Field(
        name="next_run_at",
        about="The next due instant. Null when paused, over, cancelled or without a schedule, and "
        "while a run is under way from whose end `fixedDelay` will count.",
        kind=Kind.INSTANT,
        where=Where.NOWHERE,
        nullable=True,
    ),
    Field(
        name="next_start_at",
        about="When that will start: the same, unless `jitter` or `spread` moves it.",
        kind=Kind.INSTANT,
        where=Where.NOWHERE,
        nullable=True,
    ),
    Field(
        name="last_run_at",
        about="The last due instant, where `endAt` or `maxRuns` sets one.",
        kind=Kind.INSTANT,
        where=Where.NOWHERE,
        nullable=True,
    ),
    Field(
        name="created_at",
        about="When the job was created.",
        kind=Kind.INSTANT,
        where=Where.NOWHERE,
    ),
    Field(
        name="updated_at",
        about="When the job was last edited.",
        kind=Kind.INSTANT,
        where=Where.NOWHERE,
    ),
)
