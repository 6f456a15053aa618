"""What a node holds in memory: claimed runs that wait for their instant, and attempts under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from onthedot.clock import Clock
from onthedot.core.instants import MILLISECOND, SECOND, Instant
from onthedot.core.model import ExecutionSpec, LeasedRun, RunRef
from onthedot.core.recovery import room_to_hold, room_to_lease
from onthedot.roles.start_queues import StartQueues
from onthedot.roles.suspects import Suspects
from onthedot.roles.timeouts import Alarm

Key = tuple[int, int]
Held = tuple[int, int, int]
"""Job, run and fence. A run that is tried again may come back to us before we have heard that the
end of its last attempt is written: by its key alone the two would be one."""


def nothing() -> None: ...


ON_TIME_US = 100 * MILLISECOND
"""A first attempt that comes to us later than this after its instant has been queued, or catches
up."""

HAND_BACK_US = 250 * MILLISECOND
"""What could not be started within this of its instant, or of the moment it was taken if that
came later, goes back to the queue, for a freer worker."""

GONE_MAX = 1024
"""So many more than half of the times to hand runs back may be of runs that have gone."""


class ReadyRun(NamedTuple):
    """A waiting run with all that it takes to start it at its instant. `execution` None: nobody
    knows any more how to execute it. `checkpoint`: what an earlier attempt left for this one.
    """

    at: Instant
    run: LeasedRun
    execution: ExecutionSpec | None
    checkpoint: str | None = None


class Stopped(Enum):
    """Why an attempt was stopped before its time."""

    TIMED_OUT = "timed out"
    BY_REQUEST = "by cancel_request"
    GIVEN_UP = "given up"


@dataclass(slots=True, eq=False)
class RunningAttempt:
    """An attempt that has been started. `waiting`: its call waits for a runner process. `killed`:
    it has to be, or was. `ended`: it has left its outcome, or was given up.
    """

    run: LeasedRun
    execution: ExecutionSpec
    started: Instant
    checkpoint: str | None = None
    stop: Callable[[], object] = nothing
    alarm: Alarm[RunningAttempt] | None = None
    stopped: Stopped | None = None
    cancel_request: str = ""
    waiting: bool = False
    killed: bool = False
    shown: bool = False
    ended: bool = False
    given_up: bool = False


class HeldRuns:
    """Every run that the store says is ours is in exactly one of three places: waiting, under way,
    ending.
    """

    def __init__(self, clock: Clock, *, slots: int) -> None:
        self.slots = slots
        self.under_way: dict[Key, RunningAttempt] = {}
        self.suspects = Suspects(slots)
        self._waiting: dict[Key, LeasedRun] = {}
        self._lines: StartQueues[ReadyRun] = StartQueues(self._is_there)
        self._hand_back_at: dict[Key, Instant] = {}
        self._hand_backs: list[tuple[Instant, Key]] = []
        """A heap of the same, with some that have gone since: nobody walks all that is held."""
        self._ending: set[Held] = set()
        # At-most-once runs that were started and whose outcome the store does not have.
        self._started_once: set[Held] = set()
        self._claims: set[int] = set()
        self._claims_made = 0
        self._promised = 0
        self._clock = clock
        self._finished: deque[float] = deque()

    @property
    def busy(self) -> int:
        return len(self.under_way) - self.suspects.slotless

    @property
    def free_slots(self) -> int:
        return self.slots - self.busy

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def accept(self, runs: Iterable[LeasedRun]) -> None:
        """They are ours; they can be started once they are `ready`."""
        now = self._clock.now()
        for run in runs:
            key = (run.job, run.run)
            self._waiting[key] = run
            self._hand_back_at[key] = at = max(run.at, now) + HAND_BACK_US
            heappush(self._hand_backs, (at, key))
        if len(self._hand_backs) > 2 * len(self._hand_back_at) + GONE_MAX:
            self._hand_backs = [(at, key) for key, at in self._hand_back_at.items()]
            heapify(self._hand_backs)

    def ready(self, runs: Iterable[ReadyRun]) -> None:
        """Let these be started at their instants, if they are still ours."""
        earliest = self._clock.now() - ON_TIME_US
        on_time: list[ReadyRun] = []
        others: list[ReadyRun] = []
        for each in runs:
            if not self._is_there(each):
                continue
            if each.at >= earliest and each.run.attempt == 1:
                on_time.append(each)
            else:
                others.append(each)
        self._lines.on_time.add(on_time)
        self._lines.others.add(others)

    @contextmanager
    def claiming(self, count: int) -> Iterator[int]:
        """Around a claim of so many runs: they may be ours before it is answered, and take room
        from the moment it is made.
        """
        self._claims_made += 1
        number = self._claims_made
        self._claims.add(number)
        self._promised += count
        try:
            yield count
        finally:
            self._promised -= count
            self._claims.discard(number)

    @property
    def claims(self) -> frozenset[int]:
        """The claims that are under way, by number: one that has gone has been answered, or never
        will be.
        """
        return frozenset(self._claims)

    def room(self) -> int:
        """How many more runs may be claimed ahead."""
        return room_to_hold(
            slots=self.slots,
            busy=self.busy,
            finished_last_second=self._pace(),
            unstarted=len(self._waiting) + self._promised,
        )

    def room_on_time(self) -> int:
        """How many runs to claim ahead although others queue: what gets done of them, having half
        of the slots, before they would go back to the queue.
        """
        return min(self.room(), self._pace() * HAND_BACK_US // (2 * SECOND))

    def room_to_lease(self) -> int:
        """How many runs to take from the queue."""
        return room_to_lease(
            slots=self.slots,
            busy=self.busy,
            due=self.due,
            finished_last_second=self._pace(),
        )

    def _pace(self) -> int:
        horizon = self._clock.monotonic() - 1.0
        while self._finished and self._finished[0] < horizon:
            self._finished.popleft()
        return len(self._finished)

    @property
    def due(self) -> int:
        """How many could be started now, had they a slot."""
        return self._lines.due(self._clock.now())

    def next_hand_back(self) -> Instant | None:
        """When the margin of a waiting run is over."""
        heap = self._hand_backs
        while heap and self._hand_back_at.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def next_at(self) -> Instant | None:
        """When the next run that can be started is due."""
        return self._lines.next_at()

    def take_due(self, now: Instant, limit: int) -> list[ReadyRun]:
        """Waiting runs whose instant has come; they leave the waiting ones."""
        due = self._lines.take(now, max(0, limit))
        for each in due:
            self._pop((each.run.job, each.run.run))
        return due

    def _is_there(self, each: ReadyRun) -> bool:
        run = each.run
        return self._waiting.get((run.job, run.run)) is run

    def take_late(self, now: Instant) -> list[LeasedRun]:
        """Waiting runs that should have been started by now; they leave the waiting ones."""
        heap, late = self._hand_backs, []
        while heap and heap[0][0] <= now:
            at, key = heappop(heap)
            if self._hand_back_at.get(key) == at:
                late.append(self._pop(key))
        return late

    def _pop(self, key: Key) -> LeasedRun:
        del self._hand_back_at[key]
        return self._waiting.pop(key)

    def drop_waiting(self, key: Key) -> LeasedRun | None:
        return self._pop(key) if key in self._waiting else None

    def take_all_waiting(self) -> list[LeasedRun]:
        return [self._pop(key) for key in list(self._waiting)]

    def start_once(self, run: LeasedRun) -> None:
        """From now on only an outcome may end our hold on it: given back, it would start twice."""
        self._started_once.add((run.job, run.run, run.fence))

    def wait_again(self, each: ReadyRun) -> None:
        """The call could not be made: nothing was started after all."""
        run = each.run
        self._started_once.discard((run.job, run.run, run.fence))
        self.accept([run])
        self.ready([each])

    def end(self, run: LeasedRun) -> None:
        """The attempt is over; the run stays ours until the store has its outcome."""
        self._ending.add((run.job, run.run, run.fence))
        self._finished.append(self._clock.monotonic())

    def forget(self, ended: set[Held]) -> None:
        """The store has the outcomes of these runs, or they are somebody else's."""
        self._ending -= ended
        self._started_once -= ended

    def give_up(self, ended: set[Held]) -> None:
        """Their outcomes cannot be written: reconciliation may give them back, but for what was
        started and may be so only once. That stays ours, and is lost when this node ends.
        """
        self._ending -= ended

    @property
    def holds_any(self) -> bool:
        return bool(self._waiting or self.under_way or self._ending or self._started_once)

    def held(self) -> set[Held]:
        """Every run we believe to hold, each under the fence that we know it by."""
        runs = [*self._waiting.values(), *(each.run for each in self.under_way.values())]
        return {(run.job, run.run, run.fence) for run in runs} | self._ending | self._started_once

    def unshown(self, now: Instant) -> list[RunningAttempt]:
        """Attempts that have lasted a second and that people cannot see yet."""
        return [
            each
            for each in self.under_way.values()
            if not each.shown and now - each.started >= SECOND
        ]


def ref(run: LeasedRun) -> RunRef:
    return RunRef(run.job, run.run, run.fence)
