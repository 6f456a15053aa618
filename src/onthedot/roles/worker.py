"""The worker: starts each run at its instant, within its slots, and hands back what it cannot.

It gets runs in two ways: claimed ahead by the scheduler of the same node, or leased from the queue.
Two loops: the starter looks only at memory, so that no start ever waits for the store; the other
one fetches what it must know of the jobs, takes runs from the queue and gives runs back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager

from onthedot.clock import Clock
from onthedot.core.instants import MILLISECOND, SECOND, Instant
from onthedot.core.model import CALLBACKS, ExecutionSpec, Lanes, LeasedRun
from onthedot.errors import NodeDead, StoreError
from onthedot.observe.events import warn
from onthedot.observe.tally import Tally
from onthedot.roles.attempt import Attempts
from onthedot.roles.execution_specs import ExecutionSpecs
from onthedot.roles.held_runs import HeldRuns, ref
from onthedot.roles.loop import Loop
from onthedot.roles.membership import Membership
from onthedot.store.contract import Store

POLL_S = 0.9
"""How often the queue is looked at without being told that something is in it."""
MAY_NOT_START_S = 0.25
START_MAX = 50
"""Runs that are started in one step: everybody else gets a turn in between."""

LOOK_US = 5 * MILLISECOND
"""Instants at which runs are anybody's are remembered so finely: at most 200 for a second ahead."""


async def _nothing() -> None: ...


class Worker:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        member: Membership,
        holding: HeldRuns,
        attempts: Attempts,
        lanes: Lanes = CALLBACKS,
    ) -> None:
        self.loop = Loop("worker", self.step, clock)
        self.starting = Loop("starter", self.start, clock)
        self.on_release: Callable[[Iterable[Instant]], None] = lambda ats: None
        self.write_down: Callable[[], Awaitable[None]] = _nothing
        self.tally = Tally()
        self._store = store
        self._clock = clock
        self._member = member
        self._holding = holding
        self._attempts = attempts
        self._handlings = ExecutionSpecs(store)
        self._suspects = holding.suspects
        self._lanes = lanes
        attempts.on_room = self._has_room
        self._fresh: list[LeasedRun] = []
        self._for_others: list[LeasedRun] = []
        self._polled_at = clock.monotonic() - POLL_S
        self._looks: set[Instant] = {clock.now()}
        self._backlog = False
        self._draining = False

    # What the scheduler of this node sees

    @property
    def lanes(self) -> Lanes:
        """Without deadly functions, of which few are taken, and those of which enough wait here."""
        if not self._suspects:
            return self._lanes
        return self._lanes_without(self._suspects.crowded() | self._suspects.deadly)

    def _lanes_without(self, functions: set[str]) -> Lanes:
        return Lanes(self._lanes.queues, self._lanes.functions - functions)

    def claiming(self, most: int) -> AbstractContextManager[int]:
        """Around a claim of at most so many runs, until they are accepted. Gives how many of them
        may be leased to us: few while others queue already, so that what is due now is on time
        beside a backlog, and the rest takes its turn in the queue.
        """
        if self._draining:
            most = 0
        crowded = self._backlog and self._holding.free_slots <= 0
        room = self._holding.room_on_time() if crowded else self._holding.room()
        return self._holding.claiming(min(most, room))

    def leave_to_others(self, run: LeasedRun) -> None:
        """Give a waiting run back, for another node."""
        self._for_others.append(run)
        self.loop.nudge()

    def accept(self, runs: Sequence[LeasedRun]) -> None:
        """Take over runs that are leased to this node."""
        if runs:
            self._holding.accept(runs)
            self._fresh.extend(runs)
            self._make_ready()
            self.nudge()

    def queue_seen(self, *, free: bool) -> None:
        """The scheduler has looked at the queue: ours is due at once, or not for a while."""
        self._polled_at = self._clock.monotonic() - (POLL_S if free else 0.0)
        if free:
            self.loop.nudge()

    # Hints

    def nudge(self) -> None:
        self.loop.nudge()
        self.starting.nudge()

    def look(self, ats: Iterable[Instant] = ()) -> None:
        """There are unowned runs, or there will be at these instants."""
        self._looks |= {at // LOOK_US * LOOK_US + LOOK_US for at in ats} or {self._clock.now()}
        self.loop.nudge()

    def _has_room(self) -> None:
        self.look()
        self.starting.nudge()

    def next_look(self) -> Instant | None:
        """When unowned runs come up, as far as it was told."""
        now = self._clock.now()
        return min((at for at in self._looks if at > now), default=None)

    # The steps

    async def start(self) -> float:
        """Start what is due. Nothing here waits for anything."""
        if not self._member.may_start():
            return MAY_NOT_START_S
        self._start_due()
        next_at = self._holding.next_at()
        if next_at is None or self._holding.free_slots <= 0:
            return POLL_S  # whoever brings a run, or ends one, nudges
        return max(0.0, min(POLL_S, (next_at - self._clock.now()) / SECOND))

    async def step(self) -> float:
        await self._load_handlings()
        await self._leave_some_to_others()
        if self._member.off_the_clock:
            await self._leave_all_to_others()
        if not self._member.may_start():
            return MAY_NOT_START_S
        self._start_due()
        await self._hand_back()
        await self._lease()
        return self._pause()

    async def drain(self, grace_s: float) -> None:
        """Start nothing more, wait for what is under way, give the rest back, nothing is burnt."""
        self._draining = True
        await self._give_back(self._holding.take_all_waiting())
        await self._attempts.wait(grace_s)
        stopped = await self._attempts.stop()
        await self._write_down()
        # Calls that could not be made wait for another try.
        await self._give_back([*stopped, *self._holding.take_all_waiting()])

    async def _write_down(self) -> None:
        """What the runs that we give back have said: whoever takes them next may need it."""
        try:
            await self.write_down()
        except NodeDead:
            raise
        except StoreError as error:
            warn("run.words_lost", error=error)

    def _start_due(self) -> None:
        if self._draining:
            return
        limit = min(self._holding.free_slots, START_MAX)
        suspects = self._suspects if self._suspects else None
        for _, run, execution, checkpoint in self._holding.take_due(self._clock.now(), limit):
            if execution is None:
                # Its job was deleted and even the version forgotten while the run came to us.
                self._attempts.end_unstarted(run, "job deleted")
            elif suspects is not None and not suspects.room(execution.handler):
                self._holding.accept([run])
                self._for_others.append(run)
                self.loop.nudge()
            else:
                self._attempts.start(run, execution, checkpoint)

    def forget(self) -> None:
        """The store may know other jobs under the same numbers."""
        self._handlings.forget()

    async def _load_handlings(self) -> None:
        """Before their instant, so that a start waits for no store. More may come meanwhile."""
        while self._fresh:
            await self._handlings.load(self._fresh)
            self._make_ready()

    def _make_ready(self) -> None:
        """Let those be started of whose job we know how."""
        ready, self._fresh = self._handlings.match(self._fresh)
        self._for_others += [each.run for each in ready if not self._has(each.execution)]
        self._holding.ready([each for each in ready if self._has(each.execution)])
        self.starting.nudge()

    def _has(self, execution: ExecutionSpec | None) -> bool:
        """An edit may have given a queued run to a function that is not here."""
        if execution is None or not execution.handler:
            return True
        return execution.handler in self._lanes.functions

    async def _leave_some_to_others(self) -> None:
        """They go back into the lane of their function, for a worker that has it and has room."""
        runs, self._for_others = self._for_others, []
        held = [self._holding.drop_waiting((run.job, run.run)) for run in runs]
        if any(held):
            await self._release([run for run in held if run is not None])

    async def _hand_back(self) -> None:
        """Give up runs whose margin is over while every slot was busy."""
        if self._holding.free_slots > 0:
            return
        late = self._holding.take_late(self._clock.now())
        if late:
            self._backlog = True
            await self._release(late)
            self.look()

    async def _leave_all_to_others(self) -> None:
        """Its heartbeat goes on, so nobody would rescue what it holds and does not start."""
        waiting = self._holding.take_all_waiting()
        if waiting:
            await self._release(waiting)

    async def _lease(self) -> None:
        """Fill free slots from the queue: when told that there is something, else now and then."""
        now = self._clock.now()
        asked = {at for at in self._looks if at <= now}
        room = self._room()
        if room <= 0 or not (asked or self._poll_in() <= 0):
            return
        self._polled_at = self._clock.monotonic()
        self._looks -= asked
        self._backlog = await self._lease_from(self.lanes, room)
        if self._suspects.deadly and (few := self._suspects.deadly_room()):
            lanes = self._lanes_without(self._suspects.crowded())
            self._backlog |= await self._lease_from(lanes, few)
        if self._backlog:
            self.look()

    async def _lease_from(self, lanes: Lanes, limit: int) -> bool:
        """Whether there may be more."""
        now = self._clock.now()
        with self._holding.claiming(limit):
            leased = await self._store.runs.lease(self._member.number, lanes, limit=limit, now=now)
            self.accept(leased)
        self.tally.leased += len(leased)
        return len(leased) == limit

    def _pause(self) -> float:
        """Until the next thing to do: a look at the queue, a start, or a hand-back.

        The look is counted from the last one: what is done meanwhile does not put it off. Without
        room there is none, and whoever makes room nudges.
        """
        if self._fresh or self._for_others:
            return 0.0
        now = self._clock.now()
        full = self._holding.free_slots <= 0
        next_at = self._holding.next_hand_back() if full else self._holding.next_at()
        ats = ({next_at} if next_at is not None else set()) | (set() if full else self._looks)
        wait = (min(ats) - now) / SECOND if ats else POLL_S
        poll = self._poll_in() if self._room() > 0 else POLL_S
        return max(0.001 if full else 0.0, min(poll, wait))

    def _room(self) -> int:
        return 0 if self._draining else self._holding.room_to_lease()

    def _poll_in(self) -> float:
        return self._polled_at + POLL_S - self._clock.monotonic()

    async def _release(self, runs: Sequence[LeasedRun]) -> None:
        refs = [ref(run) for run in runs]
        await self._store.runs.release(self._member.number, refs, now=self._clock.now())
        self.tally.given_back += len(runs)
        self.on_release({run.at for run in runs})

    async def _give_back(self, runs: Sequence[LeasedRun]) -> None:
        """As far as the store answers: what it does not take back is rescued after we have left."""
        if not runs:
            return
        try:
            await self._release(runs)
        except NodeDead:
            raise
        except StoreError as error:
            warn("run.not_given_back", count=len(runs), error=error)
