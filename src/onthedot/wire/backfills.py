"""A backfill on the wire: what is asked for, what is missing, how far it has come."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from onthedot.core.backfilling import BACKFILL_MAX, CONCURRENCY_MAX, BackfillOptions
from onthedot.wire.fields import InstantText, about

_INSTANT = "an RFC 3339 instant such as '2027-01-31T09:30:00Z'"
From = Annotated[
    str, about("The beginning of the range, included.", _INSTANT, examples=["2027-01-01T00:00:00Z"])
]
Until = Annotated[
    str,
    about("The end of the range, included. Left out: now.", _INSTANT),
]
DryRun = Annotated[bool, about("Only say what would be run.", "true or false", default=False)]
Order = Annotated[
    Literal["oldest", "newest"],
    about("Which instants go first.", "'oldest' or 'newest'", default="oldest"),
]
LowPriority = Annotated[
    int,
    about(
        "Of the runs it makes. 9 goes first, 0 last.",
        "an integer from 0 to 9",
        ge=0,
        le=9,
        default=0,
    ),
]
Concurrency = Annotated[
    int,
    about(
        "How many of its runs may be under way at a time.",
        f"an integer from 1 to {CONCURRENCY_MAX}",
        ge=1,
        le=CONCURRENCY_MAX,
        default=5,
    ),
]


class BackfillIn(Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A range of the past in which what never ran is to be run."""

    from_: From = field(name="from")
    until: Until | UnsetType = UNSET
    dry_run: DryRun | UnsetType = UNSET
    order: Order | UnsetType = UNSET
    priority: LowPriority | UnsetType = UNSET
    concurrency: Concurrency | UnsetType = UNSET


def backfill_options_of(given: BackfillIn) -> BackfillOptions:
    plain = BackfillOptions()
    return BackfillOptions(
        priority=plain.priority if isinstance(given.priority, UnsetType) else given.priority,
        concurrency=plain.concurrency
        if isinstance(given.concurrency, UnsetType)
        else given.concurrency,
        newest_first=given.order == "newest",
    )


class BackfillPlanned(Struct, kw_only=True, frozen=True, rename="camel"):
    """What is missing in the range; without `dryRun` it is being run."""

    backfill_id: Annotated[str | None, Meta(description="Null for a dry run, or if it is empty.")]
    dry_run: bool
    count: Annotated[int, Meta(description=f"How many instants, at most {BACKFILL_MAX}.")]
    instants: Annotated[list[InstantText], Meta(description="The first 100, in their order.")]


class BackfillOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """How far a backfill has come: `made` of `total` runs have been made."""

    backfill_id: str
    job_id: str
    order: Literal["oldest", "newest"]
    priority: int
    concurrency: int
    total: int
    made: int
    created_at: InstantText
    ended_at: Annotated[
        InstantText | None, Meta(description="When the last run was over, or it was stopped.")
    ]


class BackfillList(Struct, kw_only=True, frozen=True, rename="camel"):
    """Newest first. `nextCursor` is null on the last page."""

    backfills: list[BackfillOut]
    next_cursor: str | None
