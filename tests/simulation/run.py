"""One seed, from its beginning to its verdict."""

from __future__ import annotations

import asyncio
import random

from tests.simulation.audit import Auditor
from tests.simulation.chaos import Chaos, machine_traits
from tests.simulation.clients import Book, Customer
from tests.simulation.late import Ghost, Meddler
from tests.simulation.process import Machine, Process
from tests.simulation.receiver import Receiver, SimulatedRunner
from tests.simulation.stage import Report, Setting, perform
from tests.simulation.swarm import Profile, SwarmFaults, profile
from tests.simulation.world import World

CHAOS_S = 220.0
HEALING_S = 40.0
SETTLING_S = 4.0
HEARD_S = 0.5
"""So soon a due run starts in calm times, when every hint is heard."""


def run_seed(seed: int) -> Report:
    plan = profile(seed)
    faults = SwarmFaults(plan, random.Random(f"{seed}/faults"), random.Random(f"{seed}/meddling"))
    setting = Setting(
        start=plan.start,
        faults=faults,
        kinds=tuple(sorted(plan.kinds)),
        hints_lost=plan.hints_lost,
        deaf="deaf" in plan.kinds,
    )
    return perform(seed, setting, lambda world: _history(world, plan, faults))


async def _history(world: World, plan: Profile, faults: SwarmFaults) -> None:
    receiver, book = Receiver(world), Book()
    late = _come_late(world, plan, book)
    _start_processes(world, plan, receiver)
    chaos = Chaos(world, receiver, faults)
    keeping = asyncio.create_task(chaos.keep_up(), name="keeper")
    world.history.calm = plan.calm
    world.history.hears = "deaf" not in plan.kinds
    if plan.calm:
        world.history.prompt_s = HEARD_S
    world.history.slots, world.history.processes = plan.builds[0].slots, len(plan.builds)
    names = [f"client-{number}" for number in range(1, plan.clients + 1)]
    customers = [Customer(world, name, book, plan).live(CHAOS_S) for name in names]
    tasks = [asyncio.create_task(each, name="client") for each in customers]
    await chaos.rage(CHAOS_S)
    chaos.heal()
    for task in tasks:
        await task
    for each in late:
        each.cancel()
    await asyncio.sleep(HEALING_S)
    auditor = Auditor(world, "auditor", book)
    await auditor.probe()
    await asyncio.sleep(SETTLING_S)
    await auditor.close_books(SETTLING_S)
    keeping.cancel()


def _come_late(world: World, plan: Profile, book: Book) -> list[asyncio.Task[None]]:
    """Who says or does what comes late, or twice."""
    world.echoes = "echo" in plan.kinds
    works = []
    if "meddle" in plan.kinds:
        meddler = Meddler(world, book, plan)
        world.meddle = meddler.meddle
        works.append(meddler.live(CHAOS_S))
    if "ghost" in plan.kinds:
        works.append(Ghost(world, book).haunt())
    return [asyncio.create_task(work, name="late") for work in works]


def _start_processes(world: World, plan: Profile, receiver: Receiver) -> None:
    chance = world.chance("machines")
    for number, build in enumerate(plan.builds, 1):
        rate, since_boot_s, ahead_us = machine_traits(chance, plan.kinds)
        machine = Machine(world, rate=rate, since_boot_s=since_boot_s)
        machine.ahead_us = ahead_us
        process = Process(world, f"node-{number}", build, machine)
        process.start(SimulatedRunner(receiver, process))
