"""What befalls whole processes and clocks, and who starts again what has gone."""

from __future__ import annotations

import asyncio
import random
import signal
from typing import TYPE_CHECKING

from tests.simulation.loop import SECOND
from tests.simulation.receiver import Receiver, SimulatedRunner
from tests.simulation.swarm import BEFALLS, SwarmFaults

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World

WATCH_S = 0.25
BEFALLS_EVERY_S = 12.0
STEP_S_MAX = 1.5


class Chaos:
    def __init__(self, world: World, receiver: Receiver, faults: SwarmFaults) -> None:
        self._world = world
        self._receiver = receiver
        self._faults = faults
        self._chance = world.chance("chaos")
        self._kinds = [kind for kind in BEFALLS if kind in faults.profile.kinds]
        self._up_again: dict[str, float] = {}
        self.healed = False

    async def keep_up(self) -> None:
        """Start again what has gone, after a while: at once when all is healed. Endless."""
        loop = self._world.loop
        while True:
            for process in self._world.processes:
                if process.up:
                    self._up_again.pop(process.name, None)
                    continue
                wait_s = 0.0 if self.healed else self._chance.choice((0.1, 1.0, 8.0, 25.0))
                at = self._up_again.setdefault(process.name, loop.time() + wait_s)
                if self.healed or loop.time() >= at:
                    process.start(SimulatedRunner(self._receiver, process))
            await asyncio.sleep(WATCH_S)

    async def rage(self, until_s: float) -> None:
        """Until this moment something befalls somebody now and then."""
        loop = self._world.loop
        while self._kinds:
            await asyncio.sleep(self._chance.expovariate(1 / BEFALLS_EVERY_S))
            if loop.time() >= until_s:
                return
            self._befall(self._chance.choice(self._kinds))
        await asyncio.sleep(max(0.0, until_s - loop.time()))

    def _befall(self, kind: str) -> None:
        process = self._chance.choice(self._world.processes)
        match kind:
            case "kill":
                process.die()
            case "freeze":
                process.stall(self._faults.stall_s())
            case "stop":
                process.told_to_stop()
            case "hurry":
                process.told_to_hurry()
            case "slow":
                self._slow_down(process)
            case "outage":
                self._cut_off(process)
            case "jump":
                self._set_clock(process)
            case "step":
                self._step()
            case "crash":
                self._crash_runner(process)

    def _slow_down(self, process: Process) -> None:
        factor = self._chance.choice((10.0, 100.0, 400.0))
        self._faults.slow[process.name] = factor
        wait_s = self._chance.uniform(5, 30)
        process.trouble(f"slow by {factor:.0f}", wait_s)
        self._world.loop.call_later(wait_s, self._faults.slow.pop, process.name, None)

    def _cut_off(self, process: Process) -> None:
        """One process, or all of them when it is the database that is gone."""
        gone = [process] if self._chance.random() < 0.5 else self._world.processes
        wait_s = self._faults.stall_s()
        for each in gone:
            each.trouble("is cut off", wait_s)
            until_s = self._world.loop.time() + wait_s
            dead_until = self._faults.dead_until
            dead_until[each.name] = max(until_s, dead_until.get(each.name, 0.0))

    def _set_clock(self, process: Process) -> None:
        """On a machine alone its clock is the authority: not far back, or nothing would be due."""
        if process.build.alone:
            far = 200.0 if process.build.slots > 10 else 40.0
            self._world.step_clock(round(self._chance.choice((-1.0, 1.0, 20.0, far)) * SECOND))
            return
        process.machine.ahead_us = round(
            self._chance.choice((-86400, -60, -5.5, -4, -0.6, 0, 0.6, 4, 5.5, 60, 86400)) * SECOND
        )
        process.trouble("has its clock set", 3600)

    def _crash_runner(self, process: Process) -> None:
        """One of its runner processes: killed, or by a fault of its own."""
        living = [program for program in process.programs if program.returncode is None]
        if living:
            how = self._chance.choice((signal.SIGKILL, signal.SIGSEGV))
            self._chance.choice(living).die(-how)

    def _step(self) -> None:
        """A little, and never far in all: no node fires beside a database that is 5 s off."""
        wanted = round(self._chance.uniform(-1, 1) * STEP_S_MAX * SECOND)
        self._world.step_clock(wanted - self._world.stepped_us)

    def heal(self) -> None:
        """From now on nothing goes wrong, and everything comes up again."""
        self.healed = True
        self._world.history.healed_at = self._world.loop.now_us
        self._faults.heal()
        for process in self._world.processes:
            process.machine.ahead_us = 0
            process.advance_chain()
        self._world.note("world", "everything is healed")


def machine_traits(chance: random.Random, kinds: frozenset[str]) -> tuple[float, float, int]:
    """(rate of the stopwatch, seconds since the boot, how far the wall clock is ahead)."""
    rate = 1.0 + chance.uniform(-1, 1) * 1e-4 if "drift" in kinds else 1.0
    ahead_us = round(chance.uniform(-4.5, 4.5) * SECOND) if "skew" in kinds else 0
    return rate, chance.uniform(0, 1e6), ahead_us
