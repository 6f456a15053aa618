"""The worker: starts each run at its instant, within its slots, and hands back what it cannot
start.

It gets runs in two ways: claimed ahead by the scheduler of the same node, or leased from the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onthedot.clock import Clock
from onthedot.core.firing import VersionRef
from onthedot.core.instants import SECOND
from onthedot.core.model import LeasedRun
from onthedot.roles.attempt import Attempts
from onthedot.roles.definitions import Definitions
from onthedot.roles.holding import HAND_BACK_US, Holding, ref
from onthedot.roles.loop import Loop
from onthedot.roles.membership import Membership
from onthedot.store.contract import Store

POLL_S = 0.5
MAY_NOT_START_S = 0.25
LOOK_BACK_S = 0.05


class Worker:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        member: Membership,
        holding: Holding,
        attempts: Attempts,
        queues: tuple[str, ...] = (),
    ) -> None:
        self.loop = Loop("worker", self.step, clock)
        self.on_release: Callable[[], None] = lambda: None
        self._store = store
        self._clock = clock
        self._member = member
        self._holding = holding
        self._attempts = attempts
        self.queues = queues
        self._definitions = Definitions(store)
        self._fresh: list[LeasedRun] = []
        self._polled_at = clock.monotonic() - POLL_S
        self._looked_back_at = clock.monotonic()
        self._asked = True
        self._backlog = False
        self._draining = False

    def room(self) -> int:
        """How many runs the scheduler may lease to us now: none while others queue for us
        already.
        """
        if self._draining or (self._backlog and self._holding.free_slots <= 0):
            return 0
        return self._holding.room()

    def accept(self, runs: Sequence[LeasedRun]) -> None:
        """Take over runs that are leased to this node."""
        if runs:
            self._holding.accept(runs)
            self._fresh.extend(runs)
            self.loop.nudge()

    def look(self) -> None:
        """A hint: there may be unowned runs."""
        self._asked = True
        self.loop.nudge()

    async def step(self) -> float:
        await self._load_definitions()
        if not self._member.may_start():
            return MAY_NOT_START_S
        self._start_due()
        await self._hand_back()
        await self._lease()
        return self._pause()

    async def drain(self, grace_s: float) -> None:
        """Start nothing more, wait for what is under way, give the rest back: no attempt is
        burnt.
        """
        self._draining = True
        await self._release(self._holding.take_all_waiting())
        await self._attempts.wait(grace_s)
        await self._release(await self._attempts.stop())

    async def _load_definitions(self) -> None:
        """Before their instant, so that a start waits for no store. More may come meanwhile."""
        while self._fresh:
            fresh = [VersionRef(run.job, run.version) for run in self._fresh]
            await self._definitions.load(fresh)
            del self._fresh[: len(fresh)]

    def _start_due(self) -> None:
        if self._draining:
            return
        for run in self._holding.take_due(self._clock.now(), self._holding.free_slots):
            version = VersionRef(run.job, run.version)
            if not self._definitions.is_loaded(version):
                self.accept([run])  # its definition made room for others: fetch it again
            elif (definition := self._definitions.get(version)) is not None:
                self._attempts.start(run, definition)
            else:
                # Its job was deleted and even the version forgotten while the run came to us.
                self._attempts.end_unstarted(run, "job deleted")

    async def _hand_back(self) -> None:
        """Give up runs whose instant has passed while every slot was busy."""
        now = self._clock.monotonic()
        if self._holding.free_slots > 0 or now - self._looked_back_at < LOOK_BACK_S:
            return
        self._looked_back_at = now
        late = self._holding.take_late(self._clock.now())
        if late:
            self._backlog = True
            await self._release(late)

    async def _lease(self) -> None:
        """Fill free slots from the queue: when told that there is something, else every half
        second.
        """
        now = self._clock.monotonic()
        if self._draining or not (self._asked or now - self._polled_at >= POLL_S):
            return
        room = self._holding.room_to_lease()
        if room <= 0:
            return
        self._asked = False
        self._polled_at = now
        leased = await self._store.runs.lease(
            self._member.number, self.queues, limit=room, now=self._clock.now()
        )
        self._backlog = len(leased) == room
        self._asked = self._asked or self._backlog
        self.accept(leased)

    def _pause(self) -> float:
        next_at = self._holding.next_at()
        if next_at is None:
            return POLL_S
        wait = next_at - self._clock.now()
        if wait <= 0 and self._holding.free_slots > 0:
            return 0.0
        if wait <= 0:  # no slot is free: an attempt that ends, or its margin, decides
            wait = HAND_BACK_US
        return min(POLL_S, wait / SECOND)

    async def _release(self, runs: Sequence[LeasedRun]) -> None:
        if runs:
            refs = [ref(run) for run in runs]
            await self._store.runs.release(self._member.number, refs, now=self._clock.now())
            self.on_release()
