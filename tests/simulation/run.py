"""One seed, from its beginning to its verdict."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
from dataclasses import dataclass, field

from onthedot.roles.loop import Loop
from tests.simulation import api
from tests.simulation.audit import Auditor
from tests.simulation.chaos import Chaos, machine_traits
from tests.simulation.checker import violations
from tests.simulation.clients import Book, Customer
from tests.simulation.loop import Stuck, VirtualLoop
from tests.simulation.process import Machine, Process
from tests.simulation.receiver import Receiver, SimulatedRunner
from tests.simulation.swarm import Profile, SwarmFaults, profile
from tests.simulation.world import World

CHAOS_S = 220.0
HEALING_S = 40.0
SETTLING_S = 4.0
PROMPT_S = 1.6
# What the product says of itself only when it has made a mistake.
MISTAKES = re.compile(
    r"^(loop\.failed .*where=[^\" ]|api\.failed|runner\.failed|run\.unrecordable|run\.given_up"
    r"|clock\.set_aside|clock\.cannot_set_aside)"
)


@dataclass(slots=True)
class Report:
    seed: int | str
    kinds: tuple[str, ...]
    violations: list[str]
    digest: str
    story: list[str] = field(repr=False)
    virtual_s: float = 0.0
    runs: int = 0
    turns: int = 0


class Mistakes(logging.Handler):
    """Brings what the product logs into the story, and its mistakes into the verdict."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.INFO)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        self._world.note("log", text.partition("\n")[0])
        if MISTAKES.match(text):
            self._world.broken(text[:400])


def run_seed(seed: int) -> Report:
    return _simulate(seed, profile(seed))


def _simulate(seed: int, plan: Profile) -> Report:
    loop = VirtualLoop()
    world = World(seed, loop, start=plan.start)
    world.hints_lost = plan.hints_lost
    faults = SwarmFaults(plan, world.chance("faults"))
    world.faults = faults
    listening = Mistakes(world)
    logger = logging.getLogger("onthedot")
    logger.addHandler(listening)
    level, logger.propagate = logger.level, False
    logger.setLevel(logging.INFO)
    deaf = _Deaf("deaf" in plan.kinds)
    gc.disable()  # a cycle that is collected now or later must not change anything
    try:
        with deaf:
            loop.run_until_complete(_history(world, plan, faults))
    except Stuck as stuck:
        world.broken(f"stuck: {stuck}")
    finally:
        logger.removeHandler(listening)
        logger.setLevel(level)
        logger.propagate = True
    for accident in (*loop.accidents, *loop.unheard()):
        world.broken(f"accident: {accident}")
    report = Report(
        seed=seed,
        kinds=tuple(sorted(plan.kinds)),
        violations=violations(world.history),
        digest=world.digest(),
        story=world.story,
        virtual_s=loop.time(),
        runs=len(world.history.effects),
        turns=loop.turns,
    )
    api.hang_up_all()
    loop.bring_down()
    gc.enable()
    return report


def _hears_nothing(self: Loop) -> None:
    return


class _Deaf:
    """While it lasts no loop hears any hint, not even from its own process."""

    def __init__(self, on: bool) -> None:
        self._on = on
        self._nudge = Loop.nudge

    def __enter__(self) -> None:
        if self._on:
            Loop.nudge = _hears_nothing  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        Loop.nudge = self._nudge  # type: ignore[method-assign]


async def _history(world: World, plan: Profile, faults: SwarmFaults) -> None:
    receiver = Receiver(world)
    chance = world.chance("machines")
    for number, build in enumerate(plan.builds, 1):
        rate, since_boot_s, ahead_us = machine_traits(chance, plan.kinds)
        machine = Machine(world, rate=rate, since_boot_s=since_boot_s)
        machine.ahead_us = ahead_us
        process = Process(world, f"node-{number}", build, machine)
        process.start(SimulatedRunner(receiver, process))
    chaos = Chaos(world, receiver, faults)
    keeping = asyncio.create_task(chaos.keep_up(), name="keeper")
    book = Book()
    world.history.calm = plan.calm
    if plan.builds[0].slots >= 20:
        world.history.prompt_s = PROMPT_S
    names = [f"client-{number}" for number in range(1, plan.clients + 1)]
    customers = [Customer(world, name, book, plan).live(CHAOS_S) for name in names]
    tasks = [asyncio.create_task(each, name="client") for each in customers]
    await chaos.rage(CHAOS_S)
    chaos.heal()
    for task in tasks:
        await task
    await asyncio.sleep(HEALING_S)
    world.history.healed_at = world.loop.now_us
    auditor = Auditor(world, "auditor", book)
    await auditor.probe()
    await asyncio.sleep(SETTLING_S)
    await auditor.pause_everything()
    world.history.settled = await auditor.settle(SETTLING_S)
    await auditor.read_books("books")
    await asyncio.sleep(SETTLING_S)
    await auditor.read_books("books again")
    keeping.cancel()
