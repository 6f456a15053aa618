"""Time zones on the wire: what all nodes go by, and which occurrences moved when it changed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from onthedot.wire.fields import InstantText


class ZoneOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """A zone in which jobs are due, and the data by which their coming instants were worked out."""

    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]
    tzdata: Annotated[
        str, Meta(description="The release that it is from; empty: unknown.", examples=["2026a"])
    ]
    changed_at: Annotated[
        InstantText | None, Meta(description="When a release last changed it; null: never.")
    ]
    pending: Annotated[bool, Meta(description="Coming instants are still being looked at.")]


class ZoneMoveOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """An occurrence that moved, since its zone has other rules by a new release."""

    job_id: str
    job_name: str
    version: Annotated[int, Meta(description="The version that the job has had since.")]
    timezone: str
    tzdata: Annotated[str, Meta(description="The release that moved it.", examples=["2026b"])]
    moved_at: InstantText
    old: Annotated[InstantText, Meta(description="When it was to come.")]
    new: Annotated[
        InstantText | None, Meta(description="When it comes; null: the schedule is over.")
    ]


class ZoneList(Struct, kw_only=True, frozen=True, rename="camel"):
    """Zones by name; the newest of the last 1,000 moves first, as many as `limit` says."""

    zones: list[ZoneOut]
    moves: list[ZoneMoveOut]
