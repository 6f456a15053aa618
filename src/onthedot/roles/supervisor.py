"""Keeps the loops of one node incarnation running together, and ends them together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from onthedot.clock import Clock
from onthedot.errors import LoopEnded
from onthedot.roles.loop import Loop

STALLED_S = 30.0
"""A step that takes this long is reported: nothing here takes so long."""


class Supervisor:
    """`others` names problems of the node that no loop shows."""

    def __init__(
        self, loops: Sequence[Loop], clock: Clock, others: Callable[[], list[str]] = list
    ) -> None:
        self._loops = tuple(loops)
        self._clock = clock
        self._others = others

    async def run(self, stop: asyncio.Event) -> None:
        """Run the loops until `stop`, then return with all of them still going, for the drain.

        A loop that ends by an exception (the node was declared dead) ends the others at once,
        and the exception is raised here; LoopEnded if it was cancelled by whoever it called.
        """
        self._tasks = [asyncio.create_task(loop.run(), name=loop.name) for loop in self._loops]
        stopped = asyncio.create_task(stop.wait(), name="stop")
        try:
            await asyncio.wait([*self._tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
            self._raise_failures()
        except BaseException:
            await self.cancel()
            raise
        finally:
            stopped.cancel()

    async def during(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something while the loops go on; one that dies meanwhile ends it, and is raised."""
        task = asyncio.create_task(work, name="drain")
        try:
            while not task.done():
                going = [loop for loop in self._tasks if not loop.done()]
                await asyncio.wait([task, *going], return_when=asyncio.FIRST_COMPLETED)
                self._raise_failures()
            task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])

    def _raise_failures(self) -> None:
        """A node that works without one of its loops would look well and do half of its duty."""
        for task in self._tasks:
            if task.cancelled():
                raise LoopEnded(f"{task.get_name()} was cancelled from within")
            if task.done():
                task.result()

    async def stop(self, *loops: Loop) -> None:
        """End these loops in order, each after the step it is in."""
        for loop in loops:
            loop.stop()
            await self._tasks[self._loops.index(loop)]

    async def ended(self, *loops: Loop, within_s: float) -> None:
        """Wait, no longer than this, until these loops have ended."""
        tasks = [self._tasks[self._loops.index(loop)] for loop in loops]
        if tasks:
            await asyncio.wait(tasks, timeout=within_s)

    async def cancel(self) -> None:
        """End every loop now. In order, so that a simulation can replay it."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            await asyncio.wait([task])

    def problems(self) -> list[str]:
        """What a person on call should know: loops that fail, and loops that hang."""
        now = self._clock.monotonic()
        found = self._others()
        found += [loop.trouble for loop in self._loops if loop.trouble is not None]
        found += [
            f"{loop.name} has been stuck for {now - loop.stepping_since:.0f} s"
            for loop in self._loops
            if loop.stepping_since is not None and now - loop.stepping_since > STALLED_S
        ]
        return found
