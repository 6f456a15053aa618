"""What the processes of a simulation share: time, chance, the database, and the story told."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from onthedot.store.sqlite import INSTALLATION_BYTES
from onthedot.store.sqlite.database import InlineDatabase
from onthedot.store.sqlite.migrations import migrate
from tests.simulation.history import Effect, History, Kept
from tests.simulation.loop import SECOND, SimulatedLoop
from tests.simulation.pager import Pager

if TYPE_CHECKING:
    from tests.simulation.line import Faults
    from tests.simulation.process import Process

INSTALLATION = "51" * INSTALLATION_BYTES


async def _nobody() -> None: ...


class World:
    """`start`: the database's time at the beginning, in microseconds since the epoch."""

    def __init__(self, seed: int | str, loop: SimulatedLoop, *, start: int) -> None:
        self.seed = seed
        self.loop = loop
        self.start = start
        self.history = History()
        self.story: list[str] = []
        self.processes: list[Process] = []
        self.faults: Faults | None = None
        self.meddle: Callable[[], Awaitable[None]] = _nobody
        self.echoes = False
        self.hints_lost = 0.0
        self.stepped_us = 0
        self.latest = 0
        self.pager = Pager(self)
        self.database = InlineDatabase()
        self.database.apply(lambda connection: migrate(connection, installation=INSTALLATION))
        self.database._connection.execute("create table kept (run_id text, effect text)")
        self._hints = self.chance("hints")

    def chance(self, what: str) -> random.Random:
        """A stream of chance of its own, so that more of one thing changes nothing elsewhere."""
        return random.Random(f"{self.seed}/{what}")

    # Time

    def now(self) -> int:
        """The database's clock, the authority."""
        return self.start + self.loop.now_us + self.stepped_us

    def step_clock(self, us: int) -> None:
        """Somebody sets the database's clock. `latest`: what it has ever shown before."""
        self.latest = max(self.latest, self.now())
        self.stepped_us += us
        if us < 0:
            self.history.slack += -us
        self.note("database", f"clock set by {us / SECOND:+.3f} s")

    # The story

    def note(self, who: str, what: str) -> None:
        self.story.append(f"{self.loop.now_us / SECOND:11.6f} {who:<10} {what}")

    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.story).encode()).hexdigest()[:16]

    def broken(self, what: str) -> None:
        """Something that the product must never do, seen by the harness itself."""
        self.note("world", f"BROKEN {what}")
        self.history.accidents.append(what)

    # Hints

    def tell(self, teller: Process, word: str, after_us: list[int]) -> None:
        """Hints from one process to all others; each may be late, and each may be lost."""
        for process in self.processes:
            if process is teller:
                continue
            for wait in after_us or [0]:
                if self._hints.random() >= self.hints_lost:
                    late = self._hints.uniform(0.001, 0.05)
                    self.loop.outside(wait / SECOND + late, process.hear, word)

    def close(self) -> None:
        self.database._connection.close()

    # Effects

    def kept(self) -> list[Kept]:
        """What functions have written beside our tables; one row each time that it was carried
        out.
        """
        rows = self.database._connection.execute("select run_id, effect from kept order by rowid")
        return [Kept(*row) for row in rows]

    def begin(self, effect: Effect) -> None:
        self.history.effects.append(effect)
        self.note(
            effect.process,
            f"handler begins {effect.run_id} attempt {effect.attempt} as {effect.name}",
        )
