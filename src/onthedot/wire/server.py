"""What the server says about itself and about requests it cannot serve."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from onthedot.core.states import Status
from onthedot.wire.fields import InstantText
from onthedot.wire.nodes import NodeOut
from onthedot.wire.runs import RunOut


class Problem(Struct, kw_only=True, frozen=True, rename="camel"):
    """A problem document (RFC 9457): what happened, and what to do next."""

    type: Annotated[str, Meta(examples=["urn:onthedot:problem:invalid-cron"])]
    title: Annotated[str, Meta(examples=["Invalid cron"])]
    status: Annotated[int, Meta(description="The HTTP status.", examples=[422])]
    detail: Annotated[str, Meta(examples=["minute '75' in '75 * * * *' is out of range 0-59"])]
    hint: Annotated[str, Meta(description="The next step.")]
    field: Annotated[str, Meta(description="What is at fault.")] | UnsetType = UNSET
    position: (
        Annotated[int, Meta(description="The character of the field at fault, from 1.")] | UnsetType
    ) = UNSET
    run_status: (
        Annotated[Status, Meta(description="How the run ended, if it is over.")] | UnsetType
    ) = UNSET


class HealthOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """`problems` is empty when all is well; each is one sentence to act on."""

    status: Literal["ok", "failing"]
    version: str
    node: int
    roles: tuple[str, ...]
    problems: tuple[str, ...]
    tzdata: Annotated[
        str,
        Meta(description="The release of the tz database in use.", examples=["2025b (system)"]),
    ]


class LiveOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """The process answers."""

    status: Literal["ok"] = "ok"


class OverviewRun(RunOut, kw_only=True, frozen=True, rename="camel"):
    """A run as the page shows it, without its output. `latenessMs` is known for first attempts that
    have started.
    """

    job_name: str
    at: Annotated[InstantText, Meta(description="When the next attempt may start.")]
    lateness_ms: float | None


class UpcomingOut(Struct, kw_only=True, frozen=True, rename="camel"):
    job_id: str
    job_name: str
    due: InstantText


class LatenessOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """How late the last `count` runs started, in milliseconds; null when there were none."""

    count: int
    p50_ms: float | None
    p95_ms: float | None
    max_ms: float | None


class OverviewOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """For the page at `/`: it follows that page, not the versions of the API."""

    now: InstantText
    health: HealthOut
    jobs: int
    queued: int
    set_aside: int
    live: list[OverviewRun]
    failed: list[OverviewRun]
    recent: list[OverviewRun]
    upcoming: list[UpcomingOut]
    lateness: LatenessOut
    nodes: list[NodeOut]
