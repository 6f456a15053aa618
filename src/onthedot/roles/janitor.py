"""The janitor: declares dead nodes, rescues their runs, and enforces retention."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onthedot.clock import Clock
from onthedot.core.instants import DAY, Instant
from onthedot.core.recovery import Heard, listen, silent_before
from onthedot.core.views import NodeView
from onthedot.observe.events import log, warn
from onthedot.observe.tally import Tally
from onthedot.roles.membership import Membership
from onthedot.roles.processes import is_gone
from onthedot.store.contract import Store

WATCH_S = 1.5
RESCUE_MAX = 1_000
PRUNE_MAX = 500
PRUNE_S = 60.0
KEYS_US = DAY
"""How long the answer to an Idempotency-Key is kept."""


class Janitor:
    """`on_change` is called when nodes have come or gone: the shards are to be shared again."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        member: Membership,
        retention_us: int,
        on_rescue: Callable[[], None],
    ) -> None:
        self.tally = Tally()
        self.rescued = 0
        self.on_change: Callable[[], None] = lambda: None
        self._store = store
        self._clock = clock
        self._member = member
        self._retention_us = retention_us
        self._on_rescue = on_rescue
        self._heard: dict[int, Heard] = {}

    async def watch(self) -> float:
        """Declare the silent dead, and take over what the dead still own. Usually nobody is either,
        and one look at the nodes is all.
        """
        now = self._clock.now()
        nodes = await self._store.nodes.all()
        alive = [node for node in nodes if not node.dead]
        stopwatch = self._clock.monotonic()
        beats = {node.number: node.beat_at for node in alive}
        before, self._heard = self._heard, listen(self._heard, beats, now=stopwatch)
        silent = 0
        if self._member.may_judge():
            silent = silent_before(self._heard, me=self._member.number, now=stopwatch)
        gone = self._gone(alive)
        dead: list[int] = []
        if gone or any(node.beat_at < silent for node in alive):
            dead = await self._store.nodes.declare_dead(silent_before=silent, gone=gone, now=now)
        for number in dead:
            warn("node.died", node=number, declared_by=self._member.number)
        if dead or before.keys() != self._heard.keys():
            self.on_change()
        if dead or any(node.dead and not node.settled for node in nodes):
            return await self._rescue(now)
        return WATCH_S

    async def _rescue(self, now: Instant) -> float:
        rescued, lost = await self._store.runs.rescue(limit=RESCUE_MAX, now=now)
        if rescued:
            self.rescued += rescued
            self.tally.rescued += rescued
            warn("run.rescued", count=rescued)
            self._on_rescue()
        if lost:
            self.tally.lost += lost
            warn("run.lost", count=lost, why="node died")
        return 0.0 if rescued else WATCH_S

    def _gone(self, alive: Sequence[NodeView]) -> list[int]:
        """Nodes whose process ended on this machine: no need to wait for their lease."""
        mine = self._member.number
        return [
            node.number for node in alive if node.number != mine and is_gone(node.facts.process)
        ]

    async def prune(self) -> float:
        """Forget what is older than the retention, in small steps so that nobody waits for it."""
        now = self._clock.now()
        await self._store.upkeep.prepare(now=now)
        gone = await self._store.upkeep.prune(
            before=now - self._retention_us, keys_before=now - KEYS_US, limit=PRUNE_MAX
        )
        if gone:
            log("history.pruned", count=gone)
        return 0.1 if gone >= PRUNE_MAX else PRUNE_S
