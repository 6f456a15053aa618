"""One server process of a simulation: the real node over the real store, on a machine of its own.

It can die, stall, be told to stop, and have its clock set. A dead one runs no further instruction;
what comes after it is another life, which knows nothing of the one before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from onthedot.clock import Clock, DatabaseClock
from onthedot.config import Settings
from onthedot.core.instants import DAY
from onthedot.core.model import Lanes
from onthedot.core.views import NodeFacts
from onthedot.node import Node
from onthedot.roles.incarnation import NodeServices
from onthedot.roles.notifier import NoticeDelivery
from onthedot.roles.runners import EitherRunner
from onthedot.roles.runners.functions import FunctionRunner
from onthedot.roles.runners.transactions import FunctionTransactions
from tests.simulation.history import Trouble
from tests.simulation.line import Line, store_over
from tests.simulation.loop import SECOND, Life
from tests.simulation.pager import SECRET
from tests.simulation.runners import Program, SimulatedChild
from tests.simulation.world import INSTALLATION

if TYPE_CHECKING:
    from tests.simulation.receiver import SimulatedRunner
    from tests.simulation.world import World

ALL_ROLES = ("api", "scheduler", "worker", "janitor")
HINTS_S = 5.0
RUNNERS = 2


@dataclass(frozen=True, kw_only=True)
class Build:
    """How a process is set up. `alone`: one process on SQLite, whose machine's clock rules."""

    roles: tuple[str, ...] = ALL_ROLES
    slots: int = 20
    grace_s: float = 5.0
    alone: bool = False


class Machine:
    """The clocks of a process: one that people set, and a stopwatch that may run a little fast."""

    def __init__(self, world: World, *, rate: float = 1.0, since_boot_s: float = 0.0) -> None:
        self.ahead_us = 0
        self._world = world
        self._rate = rate
        self._since_boot_s = since_boot_s

    def now(self) -> int:
        return self._world.start + self._world.loop.now_us + self.ahead_us

    def monotonic(self) -> float:
        return self._since_boot_s + self._world.loop.now_us / SECOND * self._rate


class _Authority:
    """The machine's own clock where it is also the database's."""

    def __init__(self, world: World, machine: Machine) -> None:
        self.now = world.now
        self.monotonic = machine.monotonic


class _Chance:
    def __init__(self, world: World, name: str) -> None:
        self._random = world.chance(f"chance/{name}")

    def jitter(self) -> float:
        return self._random.random()

    def token(self, size: int) -> str:
        return self._random.randbytes(size).hex()


class _Hints:
    """What stands where the notifications of PostgreSQL would: the world carries the hints."""

    def __init__(self) -> None:
        self.on_heard: Any = lambda word: None
        self.on_news: Any = lambda: None

    async def step(self) -> float:
        return HINTS_S

    async def close(self, *, at_once: bool = False) -> None:
        return


class Process:
    def __init__(self, world: World, name: str, build: Build, machine: Machine) -> None:
        self.world = world
        self.name = name
        self.build = build
        self.machine = machine
        self.lives = 0
        self._woke_in_turn = -2
        self.up = False
        self.ready = False
        self.life = Life(name)
        self.pending: list[asyncio.Future[Any]] = []
        self.programs: list[Program] = []
        world.processes.append(self)

    # Beginning

    def start(self, runner: SimulatedRunner) -> None:
        assert not self.up, self.name
        self.lives += 1
        self.up = True
        self.life = Life(self.name)
        self.stop, self.hurry = asyncio.Event(), asyncio.Event()
        self.world.note(self.name, f"starts, life {self.lives}")
        line = Line(self)
        self.store = store_over(line, None if self.build.alone else self.world.now)
        self._hints = _Hints()
        self._callbacks = runner
        self.task = self.world.loop.start(self.life, self._live(), f"{self.name}/{self.lives}")

    async def _live(self) -> None:
        """What the composition root does, with the world in the place of sockets and files."""
        life = self.life
        try:
            self.clock = await self._ask_the_time()
            self._functions = await self._open_functions()
            node = Node(self._settings(), self._kit(), cast("Any", self._hints))
            self.ready = True
            self.world.note(self.name, "is up")
            await node.run(None, self.stop, self.hurry, None)
        finally:
            if self.life is life:
                self._gone("ended")

    async def _ask_the_time(self) -> Clock:
        if self.build.alone:
            return _Authority(self.world, self.machine)
        clock = DatabaseClock(self.machine)
        while True:  # until the database answers, as whoever restarts a server would
            try:
                stamp = await self.store.nodes.time()
            except Exception as error:  # noqa: BLE001  (a server that cannot start is started again)
                self.world.note(self.name, f"cannot start: {error}")
                await asyncio.sleep(1)
                continue
            assert stamp is not None
            clock.observe(stamp)
            return clock

    async def _open_functions(self) -> FunctionRunner:
        make_child = partial(SimulatedChild, self._callbacks.receiver, self)
        return await FunctionRunner.open(
            "simulated:app",
            RUNNERS,
            make_child=make_child,
            transactions=FunctionTransactions(self.store, self.clock),
        )

    def _settings(self) -> Settings:
        return replace(
            Settings(),
            roles=self.build.roles,
            slots=self.build.slots,
            grace_us=round(self.build.grace_s * SECOND),
        )

    def _kit(self) -> NodeServices:
        chance = _Chance(self.world, f"{self.name}/{self.lives}")
        facts = NodeFacts(
            boot_id=chance.token(8),
            host=self.name,
            pid=self.lives,
            roles=self.build.roles,
            slots=self.build.slots,
            version="simulated",
            functions=tuple(sorted(self._functions.functions)),
        )
        return NodeServices(
            store=self.store,
            clock=self.clock,
            chance=chance,
            runner=EitherRunner(self._callbacks, self._functions),
            lanes=Lanes(functions=self._functions.functions),
            facts=facts,
            installation=INSTALLATION,
            retention_us=30 * DAY,
            alone=self.build.alone,
            tell=self.tell,
            postbox=NoticeDelivery(partial(self.world.pager.receive, self), (SECRET,)),
        )

    # Hints

    def tell(self, word: str, ats: Iterable[int]) -> None:
        now = self.clock.now()
        self.world.tell(self, word, sorted({max(0, at - now) for at in ats}))

    def hear(self, word: str) -> None:
        if self.up and not self.life.stopped:
            self.world.loop.outside(0, self._hints.on_heard, word)

    # Ending

    def die(self) -> None:
        """As kill -9 does it: at once, with nothing said."""
        if self.up:
            self.trouble("dies")
            self.world.loop.halt(self.life)
            self._gone("is dead")

    def stall(self, seconds: float) -> None:
        """As SIGSTOP, a suspended machine or a page fault storm does it."""
        if not self.up or self.life.stopped:
            return
        self.trouble("stalls", seconds)
        life = self.life
        self.world.loop.halt(life)
        self.world.loop.outside(seconds, self._wake_up, life)

    def _wake_up(self, life: Life) -> None:
        if self.life is life and self.up:
            self.world.note(self.name, "goes on")
            self._woke_in_turn = self.world.loop.turns
            self.world.loop.advance_chain(life)

    def has_just_woken(self) -> bool:
        """Whether what runs now was decided before the last stall."""
        return self.world.loop.turns <= self._woke_in_turn + 1

    def advance_chain(self) -> None:
        """End a stall now, if there is one."""
        if self.up and self.life.stopped:
            self._wake_up(self.life)

    def told_to_stop(self) -> None:
        if self.up and not self.stop.is_set():
            self.trouble("is told to stop", self.build.grace_s + 60)
            self.stop.set()

    def told_to_hurry(self) -> None:
        if self.up and not self.hurry.is_set():
            self.trouble("is told to hurry")
            self.stop.set()
            self.hurry.set()

    def trouble(self, what: str, seconds: float = 0.0) -> None:
        at = self.world.loop.now_us
        self.world.note(self.name, f"{what} {seconds:.3f}".rstrip("0. "))
        self.world.history.troubles.append(Trouble(self.name, at, what, round(seconds * SECOND)))

    def _gone(self, how: str) -> None:
        self.up = self.ready = False
        self.world.note(self.name, how)
        for waiting in self.pending:
            if not waiting.done():
                waiting.set_result(None)
        self.pending.clear()
        for program in self.programs:  # the kernel closes their pipes
            program.die(0)
        self.programs.clear()
