"""Every scene, every call of the database in it, every fault: what is left must be sound."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.simulation.audit import Auditor
from tests.simulation.clients import Book
from tests.simulation.line import Fault
from tests.simulation.loop import SECOND
from tests.simulation.process import Build, Machine, Process
from tests.simulation.receiver import Receiver, SimulatedRunner
from tests.simulation.scenarios import SCENES, Director
from tests.simulation.stage import Report, Setting, perform
from tests.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

START = 1_778_579_996 * SECOND  # four seconds before a full minute
STALLS_S = (18.0, 31.0)
"""Just beyond a lease, when its runs have just begun again, and beyond two."""

JOINING_S = 1.0
LEASES_S = 36.0
FAULTS = tuple(fault for fault in Fault if fault is not Fault.MEDDLE)
LONG = frozenset({Fault.STALL_BEFORE, Fault.STALL_AFTER, Fault.HANG_BEFORE, Fault.HANG_AFTER})
BRIEF = frozenset({Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.FULL})
SHORT_FAULTS = (
    (Fault.DIE_BEFORE, Fault.DIE_AFTER, Fault.FAIL_AFTER),
    (Fault.DIE_AFTER, Fault.STALL_AFTER, Fault.CANCEL_AFTER),
    (Fault.DIE_BEFORE, Fault.HANG_AFTER, Fault.CANCEL_BEFORE),
    (Fault.DIE_AFTER, Fault.FAIL_BEFORE, Fault.STALL_BEFORE),
)
"""The short form takes turns, so that every fault meets every kind of call somewhere."""


@dataclass(frozen=True, slots=True)
class Point:
    """The call of this number in this scene; `verb` is for people."""

    scene: str
    call: int
    fault: Fault
    verb: str = ""

    def __str__(self) -> str:
        return f"{self.scene}/{self.call}/{self.fault.replace(' ', '-')}"


def point_named(text: str) -> Point:
    scene, call, fault = text.split("/")
    return Point(scene, int(call), Fault(fault.replace("-", " ")))


@dataclass(slots=True)
class OneFault:
    """Strikes one call, or none, and notes them all while it is `on`."""

    point: Point | None
    on: bool = False
    struck: bool = False
    calls: list[str] = field(default_factory=list)
    changed_calls: set[int] = field(default_factory=set)
    _latency: random.Random = field(default_factory=lambda: random.Random("points"))

    def strike(self, process: Process, verb: str, *, writes: bool) -> Fault | None:
        if not self.on:
            return None
        self.calls.append(verb)
        if self.point is None or self.struck or len(self.calls) != self.point.call:
            return None
        self.struck = True
        return self.point.fault

    def stall_s(self) -> float:
        return STALLS_S[0 if self.point is None else self.point.call % 2]

    def latency_s(self, process: Process) -> float:
        return self._latency.uniform(0.0005, 0.004)

    def changed(self, process: Process, verb: str, *, changed: bool) -> None:
        """Calls come back out of order: the latest of that name is near enough for a choice."""
        if changed and self.on and verb in self.calls:
            self.changed_calls.add(len(self.calls) - self.calls[::-1].index(verb))


def play(scene: str, point: Point | None) -> tuple[Report, OneFault]:
    fault = OneFault(point)
    setting = Setting(start=START, faults=fault, kinds=(str(point or scene),))
    return perform(f"point/{scene}", setting, lambda world: _play(world, scene, fault)), fault


def run_point(point: Point) -> Report:
    report, _ = play(point.scene, point)
    return report


def calls_of(scene: str) -> list[str]:
    """The calls of a scene without faults, in order."""
    report, fault = play(scene, None)
    assert not report.violations, report.violations
    return fault.calls


def every_point() -> Iterator[Point]:
    """The long form: every scene, every call, every fault."""
    for scene in SCENES:
        for number, verb in enumerate(calls_of(scene), 1):
            for fault in FAULTS:
                yield Point(scene, number, fault, verb)


def short_points() -> Iterator[Point]:
    """The short form: three faults for each call that changed something, heartbeats apart, and in
    every other scene one for the first call of each other kind; the faults take turns.
    """
    turn = 0
    for place, scene in enumerate(SCENES):
        _, clean = play(scene, None)
        seen: Counter[str] = Counter()
        for number, verb in enumerate(clean.calls, 1):
            seen[verb] += 1
            turn += 1
            faults: tuple[Fault, ...] = SHORT_FAULTS[turn % len(SHORT_FAULTS)]
            if number not in clean.changed_calls or verb == "Nodes.beat":
                faults = faults[turn % len(faults) :][: seen[verb] == 1 and place % 2]
            for fault in faults:
                yield Point(scene, number, fault, verb)


async def _play(world: World, scene: str, fault: OneFault) -> None:
    receiver = Receiver(world)
    slots = 1 if scene == "backlog" else 20
    for number in (1, 2):
        machine = Machine(world, since_boot_s=1000.0 * number)
        process = Process(world, f"node-{number}", Build(slots=slots, grace_s=1.0), machine)
        process.start(SimulatedRunner(receiver, process))
    world.history.slots, world.history.processes = slots, 2
    await asyncio.sleep(JOINING_S)
    book = Book()
    director = Director(world, "director", book)
    fault.on = True
    await SCENES[scene](director)
    calls = len(fault.calls)
    await _heal(world, receiver, fault)
    auditor = Auditor(world, "auditor", book)
    await auditor.close_books(2.0)
    del fault.calls[calls:]


async def _heal(world: World, receiver: Receiver, fault: OneFault) -> None:
    lasting = fault.point is not None and fault.point.fault not in BRIEF
    if fault.point is not None and fault.point.fault in LONG:
        await asyncio.sleep(
            fault.stall_s()
        )  # the world goes on meanwhile, and gives the process up
    fault.on = False
    for _ in range(20):  # a drain may still be under way
        for process in world.processes:
            if not process.up:
                process.start(SimulatedRunner(receiver, process))
        await asyncio.sleep(0.1)
    await asyncio.sleep(LEASES_S if lasting else 2.0)
