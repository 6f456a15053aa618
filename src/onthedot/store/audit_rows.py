"""The books of a job from the rows of any store, and the walk through them in bounded steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from onthedot.core.audit import (
    AuditSnapshot,
    Link,
    RecordedOccurrence,
    Version,
)
from onthedot.core.instants import Instant
from onthedot.core.model import Once, timetable
from onthedot.core.schedules import FixedDelay
from onthedot.core.states import live_status
from onthedot.core.zoning import zone_in
from onthedot.store.codec import STATUS_OF_CODE, definition_from

VERSIONS_MAX: Final = 10_000
LIVE_MAX: Final = 100_000


class Rows(NamedTuple):
    """What a store has read of a job, in one moment."""

    versions: Sequence[Sequence[Any]]
    live: Sequence[Sequence[Any]]
    created_at: Instant | None
    edge: Instant
    aside: Iterable[Sequence[Any]]
    unfired: Iterable[Sequence[Any]]
    told: Iterable[Sequence[Any]]
    link: Sequence[Any] | None


def books_of(rows: Rows, *, now: Instant) -> AuditSnapshot:
    """`rows.versions` in order. Where there are too many of something, what lies beyond is left
    out: older versions are before the edge.
    """
    versions = [_version(row) for row in rows.versions]
    skipping_from, cut = rows.versions[-1][4], rows.versions[-1][5]
    edge = rows.edge
    if len(versions) >= VERSIONS_MAX:
        edge = max(edge, versions[0].since)
    return AuditSnapshot(
        versions=versions,
        created_at=versions[0].since if rows.created_at is None else rows.created_at,
        edge=edge,
        told_from=_told_from(rows),
        live={
            due: live_status(at=at, started=started, owned=owner is not None, now=now)
            for due, at, owner, started in rows.live
        },
        held_from=skipping_from if cut is None else None,
        unfired=dict(map(tuple, rows.unfired)),
        aside=dict(map(tuple, rows.aside)),
        link=None if rows.link is None else Link(rows.link[0], bool(rows.link[1])),
    )


def _told_from(rows: Rows) -> Instant:
    """Until when one of the job's zones had other offsets than today; 0 if none of them changed."""
    told = dict(map(tuple, rows.told))
    if not told:
        return 0
    named = (zone_in(definition_from(row[1], "")) for row in rows.versions)
    return max((told.get(zone, 0) for zone in named), default=0)


def _version(row: Sequence[Any]) -> Version:
    number, definition, anchor, since, _, cut, deleted = row
    said = definition_from(definition, "")
    apart = isinstance(said.schedule, Once | FixedDelay)
    return Version(
        number=number,
        schedule=said.schedule if apart else timetable(said),
        paused=said.paused,
        anchor=anchor,
        since=since,
        cut=cut,
        deleted=bool(deleted),
    )


def fate_of(row: Sequence[Any]) -> RecordedOccurrence:
    first, last, status, reason, count, version = row
    return RecordedOccurrence(first, last, STATUS_OF_CODE[status], reason, count, version)
