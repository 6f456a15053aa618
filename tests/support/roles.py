"""A node's roles without a server: virtual time, a scripted handler, and a store that can fail."""

from __future__ import annotations

import asyncio
import math
import selectors
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from onthedot.clock import Clock
from onthedot.core.instants import DAY, SECOND, Instant
from onthedot.core.model import CALLBACKS, Lanes, Outcome
from onthedot.core.outcomes import Result
from onthedot.ids import run_id
from onthedot.roles.attempt import Attempts, AttemptServices
from onthedot.roles.finisher import Finisher
from onthedot.roles.held_runs import HeldRuns
from onthedot.roles.incarnation import Incarnation, NodeServices, join
from onthedot.roles.janitor import Janitor
from onthedot.roles.membership import Membership
from onthedot.roles.reconciler import Reconciler
from onthedot.roles.runners import Call, Runner, TaskRunner
from onthedot.roles.scheduler import Scheduler
from onthedot.roles.worker import Worker
from onthedot.store.contract import Store
from onthedot.store.timed import NOUNS
from tests.support.builders import Named, facts
from tests.support.clock import ManualClock

INSTALLATION = "0123456789"
ROUNDS_MAX = 200
LEAPS_MAX = 20_000
PLENTY_OF_TIMES = 1_000_000

# Virtual time


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on a manual clock: where others would sleep, it moves the clock on."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        super().__init__(_Leaping(self.clock))

    def time(self) -> float:
        return self.clock.monotonic()


class _Leaping(selectors.DefaultSelector):
    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock
        self._leaps = 0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        assert timeout is not None, "everybody waits for somebody else: nothing will ever happen"
        self._leaps += 1
        assert self._leaps <= LEAPS_MAX, "somebody waits for what will never come"
        self._clock.advance(math.ceil(timeout * SECOND))
        return ready


async def idle() -> None:
    """Let every task go as far as it can without time going on."""
    for _ in range(20):
        await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    """Let time go on, in steps of 10 ms, until something has come true."""
    for _ in range(ROUNDS_MAX):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"it did not come true within {ROUNDS_MAX} rounds")


# Chance and handlers


class FixedChance:
    def jitter(self) -> float:
        return 0.5

    def token(self, size: int) -> str:
        return "ab" * size


class ScriptedRunner(TaskRunner):
    """A handler that notes every call and answers, hangs or raises as it is told."""

    def __init__(self, clock: Clock) -> None:
        self.calls: list[Call] = []
        self.started: list[Instant] = []
        self.aborted: list[str] = []
        self.abort_s = 0.0
        self.under_way = self.most_under_way = 0
        self._clock = clock
        self._answers: deque[Result | BaseException] = deque()
        self._open = asyncio.Event()
        self._open.set()

    def answer(self, *answers: Result | BaseException) -> None:
        """What the coming calls are answered, in order; those after them succeed."""
        self._answers.extend(answers)

    def hang(self) -> None:
        self._open.clear()

    def let_go(self) -> None:
        self._open.set()

    @property
    def runs(self) -> list[str]:
        return [call.run_id for call in self.calls]

    async def run(self, call: Call) -> Result:
        self.calls.append(call)
        self.started.append(self._clock.now())
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        answer = self._answers.popleft() if self._answers else Result(output="done")
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(self.abort_s)
            self.aborted.append(call.run_id)
            raise
        finally:
            self.under_way -= 1
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def close(self) -> None:
        return


def id_of(run: Named) -> str:
    return run_id(INSTALLATION, run.job, run.run)


def ids_of(runs: Iterable[Named]) -> list[str]:
    return [id_of(run) for run in runs]


# Faults

Fault = Callable[..., Awaitable[Any]]
"""Called with the real verb and its arguments, in the place of the verb."""


class FaultyStore:
    """The real store, with a fault in the way of chosen verbs; it counts the calls of each."""

    clock: Any
    jobs: Any
    runs: Any
    dead_letters: Any
    outbox: Any
    notes: Any
    nodes: Any
    ledger: Any
    audit: Any
    backfills: Any
    calendars: Any
    zones: Any
    upkeep: Any

    def __init__(self, store: Store) -> None:
        self.calls: Counter[str] = Counter()
        self.faults: dict[str, Fault] = {}
        for noun in NOUNS:
            setattr(self, noun, _Verbs(self, noun, getattr(store, noun)))

    def on(self, verb: str, fault: Fault) -> None:
        self.faults[verb] = fault

    def heal(self) -> None:
        self.faults.clear()


class _Verbs:
    def __init__(self, store: FaultyStore, noun: str, verbs: object) -> None:
        self._store = store
        self._noun = noun
        self._verbs = verbs

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        verb = getattr(self._verbs, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            full_name = f"{self._noun}.{name}"
            self._store.calls[full_name] += 1
            fault = self._store.faults.get(full_name)
            return await (fault(verb, *args, **kwargs) if fault else verb(*args, **kwargs))

        return call


class Failing:
    """Raises instead of acting or, `after` acting, instead of answering; so many times."""

    def __init__(self, error: Exception, *, times: int = PLENTY_OF_TIMES, after: bool = False):
        self._error = error
        self._left = times
        self._after = after

    async def __call__(self, verb: Fault, *args: Any, **kwargs: Any) -> Any:
        if self._left <= 0:
            return await verb(*args, **kwargs)
        self._left -= 1
        if self._after:
            await verb(*args, **kwargs)
        raise self._error


class Stuck:
    """Waits until let go: before it acts or, `after` acting, before it answers. The first time
    only.
    """

    def __init__(self, *, after: bool = False) -> None:
        self.reached = asyncio.Event()
        self.go = asyncio.Event()
        self._after = after

    async def __call__(self, verb: Fault, *args: Any, **kwargs: Any) -> Any:
        if self.reached.is_set():
            return await verb(*args, **kwargs)
        answer = await verb(*args, **kwargs) if self._after else None
        self.reached.set()
        await self.go.wait()
        return answer if self._after else await verb(*args, **kwargs)


def telling(clock: Clock, offset_us: int) -> Any:
    """For `nodes.time`: a database whose clock is so far ahead of this one."""

    async def time(verb: Any) -> Instant:
        return clock.now() + offset_us

    return time


# Nodes


class Stand:
    """The roles of one node, wired as an incarnation does it; a test takes their steps itself."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        number: int,
        *,
        slots: int = 10,
        lanes: Lanes = CALLBACKS,
        runner: Runner | None = None,
    ) -> None:
        self.number = number
        self.runner = ScriptedRunner(clock)
        self.outcomes: list[Outcome] = []
        self.retries: list[Instant] = []
        self.told_unowned: list[set[Instant]] = []
        self.member = Membership(store, clock, number=number, joined_sent=clock.monotonic())
        self.holding = HeldRuns(clock, slots=slots)
        bench = AttemptServices(
            clock, FixedChance(), runner or self.runner, INSTALLATION, self._done
        )
        self.attempts = Attempts(bench, self.holding)
        self.worker = Worker(store, clock, self.member, self.holding, self.attempts, lanes)
        self.scheduler = Scheduler(store, clock, self.member, self.worker, self._unowned)
        self.finisher = Finisher(store, clock, self.member, self.holding, self.retries.append)
        self.reconciler = Reconciler(store, clock, self.member, self.holding, self.attempts)
        self.janitor = Janitor(store, clock, self.member, 30 * DAY, self._unowned)

    def _done(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.finisher.add(outcome)
        self.worker.nudge()

    def _unowned(self, ats: Iterable[Instant] = ()) -> None:
        when = set(ats)
        self.told_unowned.append(when)
        self.worker.look(when)

    def room(self) -> int:
        """How many runs the scheduler could claim for this worker now."""
        with self.worker.claiming(PLENTY_OF_TIMES) as own:
            return own

    async def run_worker(self) -> None:
        """Both loops of the worker, as long as they are let."""
        await asyncio.gather(self.worker.loop.run(), self.worker.starting.run())

    async def work(self) -> float:
        """One step of the worker, and as much of the attempts as needs no time."""
        pause = await self.worker.step()
        await idle()
        return pause

    async def work_off(self) -> None:
        """Work until nothing is left to start at this instant, and write what it came to."""
        for _ in range(ROUNDS_MAX):
            if await self.work() > 0 and not self.finisher.pending:
                return
            await self.finisher.step()
        raise AssertionError(f"the worker did not come to rest within {ROUNDS_MAX} rounds")


async def a_stand(store: Store, clock: Clock, **options: Any) -> Stand:
    number = await store.nodes.join(facts(), now=clock.now())
    return Stand(store, clock, number, **options)


# Incarnations

ALL_ROLES = ("scheduler", "worker", "janitor")


@dataclass(slots=True)
class Living:
    """An incarnation at work, and what a test needs to end it."""

    incarnation: Incarnation
    runner: ScriptedRunner
    grace_us: int
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def number(self) -> int:
        return self.incarnation.member.number

    def begin(self) -> None:
        self.task = asyncio.create_task(self.incarnation.run(self.stop, grace_us=self.grace_us))

    async def drained(self) -> None:
        assert self.task is not None
        self.stop.set()
        await self.task


def a_kit(store: Store, clock: Clock, *, slots: int = 10, **fields: Any) -> NodeServices:
    roles = fields.pop("roles", ALL_ROLES)
    defaults = {
        "store": store,
        "clock": clock,
        "chance": FixedChance(),
        "runner": ScriptedRunner(clock),
        "facts": replace(facts(roles=roles), slots=slots),
        "installation": INSTALLATION,
        "retention_us": 30 * DAY,
    }
    return NodeServices(**{**defaults, **fields})


@asynccontextmanager
async def living(
    store: Store, clock: Clock, *, grace_us: int = 10 * SECOND, **fields: Any
) -> AsyncIterator[Living]:
    kit = a_kit(store, clock, **fields)
    assert isinstance(kit.runner, ScriptedRunner)
    node = Living(await join(kit), kit.runner, grace_us)
    node.begin()
    try:
        yield node
    finally:
        assert node.task is not None
        node.task.cancel()
        await asyncio.wait([node.task])


async def deaths(store: Store) -> dict[int, bool]:
    """Every node, and whether it is dead."""
    return {node.number: node.dead for node in await store.nodes.all()}
