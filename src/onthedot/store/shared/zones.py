"""The zones in use, and by which offsets the entries of their jobs were worked out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onthedot.core.instants import Instant
from onthedot.core.zoning import AGAIN_US, KnownZone
from onthedot.store.shared.steps import Session, Steps, row, rows
from onthedot.store.zones import Move, Used, offsets_text, zone_of_rule, zone_row


class SharedZones:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def used(self, *, after: int, limit: int) -> Used:
        found = await self._session.rows("zones.used", after=after, limit=limit)
        named = {zone for _, spec in found if (zone := zone_of_rule(spec)) is not None}
        return Used(named, found[-1][0] if found else after)

    async def all(self) -> list[KnownZone]:
        return [zone_row(each) for each in await self._session.rows("zones.all")]

    async def record(
        self, zones: Sequence[KnownZone], changed: Collection[str], *, now: Instant
    ) -> list[str]:
        return await self._session.write(lambda: _record_all(zones, changed, now))

    async def moves(self, *, limit: int) -> list[Move]:
        return [Move(*each) for each in await self._session.rows("zones.moves", limit=limit)]


def _record_all(
    zones: Sequence[KnownZone], changed: Collection[str], now: Instant
) -> Steps[list[str]]:
    moved: set[str] = set()
    # By name, so that two nodes that start at once wait for each other.
    for zone in sorted(zones, key=lambda zone: zone.name):
        if (yield from _record(zone, zone.name in changed, now)):
            moved.add(zone.name)
    return sorted(moved)


def _record(zone: KnownZone, changed: bool, now: Instant) -> Steps[bool]:
    """Whether its entries are to be looked at."""
    release, offsets = zone.release, offsets_text(zone.offsets)
    values = {"name": zone.name, "release": release, "offsets": offsets}
    if (yield from rows("zones.insert", **values)):
        return False
    known = yield from row("zones.get", name=zone.name)
    assert known is not None, "a zone is never forgotten"
    if known[0] > release or tuple(known) == (release, offsets):
        return False
    if not changed:
        yield from rows("zones.renew", **values)
        return False
    yield from rows("zones.change", **values, now=now, again_at=now + AGAIN_US)
    return True
