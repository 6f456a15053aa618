"""What a store knows of time zones: by which offsets its entries were worked out, and which of them
moved when these changed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from onthedot.core.editing import Change
from onthedot.core.instants import Instant
from onthedot.core.schedules.zones import Offsets
from onthedot.core.zoning import ClockedJob, KnownZone, moved
from onthedot.errors import OnthedotError

MOVES_KEPT: Final = 1_000
"""So many moves are kept for people to look at, the newest."""


class Used(NamedTuple):
    """The zones of some rules, and the number of the last of these rules."""

    zones: set[str]
    last: int


class Move(NamedTuple):
    """An occurrence that was to come at `old` and comes at `new`; None: there is none any more."""

    at: Instant
    zone: str
    release: str
    job: int
    name: str
    version: int
    old: Instant
    new: Instant | None


class Remade(NamedTuple):
    """A group of jobs in one zone that were looked at, and those whose entry has moved."""

    zone: str
    looked_at: int
    moves: list[Move]


class ZoneVerbs(Protocol):
    """The offsets of the zones in use, one row a zone. What it says holds for all nodes."""

    async def used(self, *, after: int, limit: int) -> Used:
        """The zones of up to `limit` rules with numbers above `after`."""
        ...

    async def all(self) -> list[KnownZone]:
        """Every zone that was ever recorded, by name."""
        ...

    async def record(
        self, zones: Sequence[KnownZone], changed: Collection[str], *, now: Instant
    ) -> list[str]:
        """Write down these offsets, unless a newer release has written others. The entries of those
        that are `changed` are to be looked at from now on, and once more a minute later; returns
        the names of these. What is new, or the same as before, moves nothing.
        """
        ...

    async def remake(self, *, limit: int, now: Instant) -> Remade | None:
        """Look at the entries of up to `limit` jobs in a zone that has changed, and let each come
        when `core.zoning.moved` says, by a new version of its job. How far this has come is written
        in the same transaction. Others may do the same at the same moment: each zone is looked
        after by one of them. None: there is nothing to look at.
        """
        ...

    async def moves(self, *, limit: int) -> list[Move]:
        """What has moved, newest first."""
        ...


_SPEC = msgspec.json.Decoder(dict[str, Any])


def zone_of_rule(spec: str) -> str | None:
    """The zone that the text of a rule names; None where time simply elapses, or it cannot be
    read.
    """
    try:
        said = _SPEC.decode(spec)
        # An interval has no zone, but its calendar may.
        zone = said["schedule"].get("timezone") or said.get("calendar", {}).get("timezone")
    except (msgspec.DecodeError, KeyError, AttributeError):
        return None  # its entries are set aside when they are due, and that says so
    return zone if isinstance(zone, str) else None


def offsets_text(offsets: Offsets) -> str:
    return msgspec.json.encode(offsets).decode()


_OFFSETS = msgspec.json.Decoder(Offsets)


def offsets_from(text: str) -> Offsets:
    return _OFFSETS.decode(text)


def zone_row(row: Sequence[Any]) -> KnownZone:
    name, release, offsets, told_at, pending = row
    return KnownZone(name, release, offsets_from(offsets), told_at, bool(pending))


def remade(coming: ClockedJob, zone: str, before: Offsets | None, *, now: Instant) -> Change | None:
    """What becomes of an entry. One whose schedule cannot be read any more stays: when it is due it
    is set aside, and that says so; the others must not wait for it.
    """
    try:
        return moved(coming, zone, before, now=now)
    except OnthedotError:
        return None
