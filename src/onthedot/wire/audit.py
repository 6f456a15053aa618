"""An audit of the ledger on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from onthedot.core.audit import AuditBalance, AuditFault
from onthedot.core.instants import Instant, format_instant
from onthedot.core.sightings import Gap
from onthedot.wire.fields import InstantText

Counts = dict[str, int]


class FaultOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """An instant that does not balance, or `count` of them from `scheduledFor` to `until`."""

    job_id: str
    kind: Annotated[
        str,
        Meta(
            description="unaccounted: due, and without a fate. surplus: a fate of what was not "
            "due, or a second one. miscounted: a range that does not hold as many as it says.",
            examples=["unaccounted"],
        ),
    ]
    scheduled_for: InstantText
    until: InstantText
    count: int


class GapOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """The database went back in time: what was written after `since` and up to `until` is lost.
    Runs of that time may have happened without a trace here, and may have happened twice.
    """

    since: InstantText
    until: InstantText
    noticed_at: InstantText
    reason: Annotated[str, Meta(examples=["a backup was restored"])]


class AuditOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """due = ran + skipped + missed + live + unaccounted, over one part of the ledger. The parts
    add up; `nextCursor` is null on the last.
    """

    jobs: Annotated[int, Meta(description="How many books were closed in this part.")]
    until: Annotated[InstantText, Meta(description="What is due later is not looked at.")]
    due: int
    ran: Annotated[Counts, Meta(description="Those that became runs which are over, by status.")]
    skipped: Annotated[Counts, Meta(description="By reason.")]
    missed: Annotated[Counts, Meta(description="By reason.")]
    live: Annotated[
        Counts,
        Meta(
            description="Still to come: runs by status; `paused` if a pause holds them back, "
            "`unfired` if they wait in the clock, `set aside` if their entry cannot be fired."
        ),
    ]
    unaccounted: Annotated[int, Meta(description="0, or something is wrong.")]
    surplus: Annotated[int, Meta(description="0, or something is wrong.")]
    miscounted: Annotated[int, Meta(description="0, or something is wrong.")]
    untold: Annotated[
        int,
        Meta(
            description="Instants that do not balance and are no fault: they were due by a release "
            "of the tz database that is no longer in use."
        ),
    ]
    balanced: bool
    faults: Annotated[list[FaultOut], Meta(description="At most 100 in each part.")]
    gaps: Annotated[
        list[GapOut],
        Meta(description="Times of which the ledger knows nothing: the database went back."),
    ]
    next_cursor: str | None


def audit_out(
    balance: AuditBalance,
    faults: list[FaultOut],
    gaps: Sequence[Gap],
    *,
    jobs: int,
    until: Instant,
    cursor: str | None,
) -> AuditOut:
    return AuditOut(
        jobs=jobs,
        until=format_instant(until),
        due=balance.due,
        ran=dict(balance.ran),
        skipped=dict(balance.skipped),
        missed=dict(balance.missed),
        live=dict(balance.live),
        unaccounted=balance.faults["unaccounted"],
        surplus=balance.faults["surplus"],
        miscounted=balance.faults["miscounted"],
        untold=balance.untold,
        balanced=not balance.faults,
        faults=faults,
        gaps=[_gap_out(gap) for gap in gaps],
        next_cursor=cursor,
    )


def _gap_out(gap: Gap) -> GapOut:
    return GapOut(
        since=format_instant(gap.since),
        until=format_instant(gap.until),
        noticed_at=format_instant(gap.noticed_at),
        reason=gap.reason,
    )


def fault_out(fault: AuditFault, job_id: str) -> FaultOut:
    return FaultOut(
        job_id=job_id,
        kind=fault.kind,
        scheduled_for=format_instant(fault.first),
        until=format_instant(fault.last),
        count=fault.count,
    )
