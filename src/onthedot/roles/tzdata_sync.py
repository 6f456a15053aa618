"""The tzdata_sync: sees to it that all nodes work out instants by the same offsets of time zones,
and that the clock follows when these change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.clock import Clock
from onthedot.core import zoning
from onthedot.core.instants import Instant, format_instant
from onthedot.core.schedules import zones
from onthedot.core.zoning import KnownZone, ZoneDecision, judge
from onthedot.ids import job_id
from onthedot.observe.events import log, warn
from onthedot.store.contract import Store
from onthedot.store.zones import Remade

LOOK_S: Final = 10.0
EARLY_S: Final = 0.01
"""A timer may come early by a hair; it counts as in time, or everything would be asked twice."""

GROUP: Final = 100
"""Jobs looked at in one transaction: for so long their shard is not claimed."""

GROUP_S: Final = 0.05
RULES: Final = 1_000
NAMED_MAX: Final = 3


@dataclass(slots=True)
class _Used:
    """The zones of all rules up to a number; rules never change, so each is read once."""

    zones: set[str]
    last: int = 0


class TzdataSync:
    """`on_moves` is called when entries have moved."""

    def __init__(self, store: Store, clock: Clock, release: str, *, starting: bool = True) -> None:
        self.on_moves: Callable[[], None] = lambda: None
        self._store = store
        self._clock = clock
        self._release = release
        self._used = _Used(set())
        self._starting = starting
        self._look_at = float("-inf")

    async def step(self) -> float:
        if self._clock.monotonic() >= self._look_at - EARLY_S:
            await self.look()
        remade = await self._store.zones.remake(limit=GROUP, now=self._clock.now())
        if remade is None:
            return max(0.0, self._look_at - self._clock.monotonic())
        if remade.moves:
            _tell_of(remade)
            self.on_moves()
        return GROUP_S

    async def look(self) -> None:
        """Bring the store up to date, or follow it. A node does so before it works out anything."""
        await self._learn()
        now = self._clock.now()
        known = await self._store.zones.all()
        await self._read_files(known, now)
        verdict = judge(known, self._used.zones, self._release, starting=self._starting, now=now)
        if verdict.record:
            releases = {zone.name: zone.release for zone in known}
            for name in await self._store.zones.record(verdict.record, verdict.changed, now=now):
                warn("zone.changed", zone=name, release=self._release, was=releases[name])
        self._follow(verdict)
        self._starting = False
        self._look_at = self._clock.monotonic() + LOOK_S

    async def _learn(self) -> None:
        while True:  # bounded: each turn reads further, to the last rule there is
            used = await self._store.zones.used(after=self._used.last, limit=RULES)
            if used.last == self._used.last:
                return
            self._used.zones |= used.zones
            self._used.last = used.last

    async def _read_files(self, known: Sequence[KnownZone], now: Instant) -> None:
        """What the verdict asks for, one zone at a time: each takes milliseconds, and is kept."""
        there = {zone.name: zone.offsets[:2] for zone in known}
        years = zoning.years_around(now)
        for name in self._used.zones & zones.known_zones():
            zones.own_offsets(name, *there.get(name, years))
            await asyncio.sleep(0)

    def _follow(self, verdict: ZoneDecision) -> None:
        if verdict.follow == zones.preferred():
            return
        for name in verdict.follow:
            warn("zone.older", zone=name, ours=self._release or "unknown")
        zones.prefer(verdict.follow)


def _tell_of(remade: Remade) -> None:
    log("zone.moved", zone=remade.zone, jobs=len(remade.moves))
    for move in remade.moves[:NAMED_MAX]:
        new = "never" if move.new is None else format_instant(move.new)
        log("job.moved", job=job_id(move.job), due=format_instant(move.old), now=new)
