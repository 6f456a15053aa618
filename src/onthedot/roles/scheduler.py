"""The scheduler: takes due occurrences from the clock, advances it, and makes runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from onthedot.clock import Clock
from onthedot.core.firing import AHEAD, plan_firings
from onthedot.core.instants import Instant
from onthedot.core.model import Entry, LeasedRun, Rule
from onthedot.errors import Taken
from onthedot.observe.events import warn
from onthedot.roles.loop import Loop
from onthedot.roles.membership import Membership
from onthedot.store.contract import Store
from onthedot.store.values import Lessee

SCAN_S = 0.4
"""How often the clock is read from its oldest entry on. With claims one second ahead, everything is
in memory more than half a second before its instant, whether hints arrive or not."""

PEEK_MAX = 2_000
PROMOTE_MAX = 1_000
RULES_MAX = 50_000


class Hands(Protocol):
    """Where claimed runs go: the worker of the same node, if it has one."""

    @property
    def queues(self) -> tuple[str, ...]: ...
    def room(self) -> int: ...
    def accept(self, runs: Sequence[LeasedRun]) -> None: ...
    def look(self) -> None: ...


class NoHands:
    """A node without a worker leaves every run unowned, for others."""

    queues = ()

    def room(self) -> int:
        return 0

    def accept(self, runs: Sequence[LeasedRun]) -> None:
        assert not runs

    def look(self) -> None:
        return


class Scheduler:
    def __init__(self, store: Store, clock: Clock, member: Membership, hands: Hands) -> None:
        self.loop = Loop("scheduler", self.step, clock)
        self._store = store
        self._clock = clock
        self._member = member
        self._hands = hands
        self._rules: dict[int, Rule] = {}

    async def step(self) -> float:
        if not self._member.may_start():
            return SCAN_S
        now = self._clock.now()
        try:
            more = await self._fire(now, now + AHEAD)
        except Taken:
            return 0.0  # somebody was quicker, or a job was edited: read again
        more = await self._promote(now, now + AHEAD) or more
        return 0.0 if more else SCAN_S

    def expect(self, at: Instant) -> None:
        """A hint: a waiting run comes up at this instant."""
        if at <= self._clock.now() + AHEAD:
            self.loop.nudge()

    async def _fire(self, now: Instant, until: Instant) -> bool:
        peeked = await self._store.clock.peek(self._member.shards, until=until, limit=PEEK_MAX)
        if not peeked.entries:
            return False
        await self._learn(peeked.entries)
        plan = plan_firings(
            peeked.entries, peeked.cuts, self._rules, now=now, until=until, source=peeked.source
        )
        for entry, why in plan.broken:
            warn("clock.set_aside", job=entry.job, version=entry.version, why=why)
        leased = await self._store.clock.fire(plan, lessee=self._lessee(), now=now)
        self._hands.accept(leased)
        if len(leased) < len(plan.runs):
            self._hands.look()
        return peeked.more

    async def _promote(self, now: Instant, until: Instant) -> bool:
        promoted = await self._store.runs.promote(
            self._member.shards,
            until=until,
            lessee=self._lessee(),
            limit=PROMOTE_MAX,
            now=now,
        )
        self._hands.accept(promoted.leased)
        if len(promoted.leased) < promoted.moved:
            self._hands.look()
        return promoted.moved >= PROMOTE_MAX

    def _lessee(self) -> Lessee:
        return Lessee(self._member.number, self._hands.room(), self._hands.queues)

    async def _learn(self, entries: Sequence[Entry]) -> None:
        """Rules never change, so each is fetched once; the memory is emptied when it grows too
        large.
        """
        unknown = {entry.rule for entry in entries} - self._rules.keys()
        if not unknown:
            return
        if len(self._rules) + len(unknown) > RULES_MAX:
            self._rules.clear()
            unknown = {entry.rule for entry in entries}
        self._rules.update(await self._store.clock.rules(sorted(unknown)))
