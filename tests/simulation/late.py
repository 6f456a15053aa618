"""What comes late: writes of holds that are over, and edits between the look at the clock and the
claim. What comes twice is in `line.py`.

The roles take care that nothing of this kind is sent: whoever is dead asks no more, whoever gives a
run back has not started it. So these faults go to the store directly, and what guards it, the fence
above all, is tested even where nothing that the roles do today needs it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from onthedot.core.model import Outcome, RunRef
from onthedot.core.states import Status
from onthedot.errors import StoreError
from onthedot.ids import run_id
from onthedot.store.sqlite import SqliteStore
from tests.simulation.clients import Book, Client, Customer
from tests.simulation.loop import SECOND
from tests.simulation.world import INSTALLATION

if TYPE_CHECKING:
    from tests.simulation.swarm import Profile
    from tests.simulation.world import World

LOOK_S = 0.05
LATE_S_MAX = 1.0
SPEAKS = 0.02
HOUR = 3600 * SECOND
HELD = "select job, run, owner, fence, attempt, due from run where owner is not null"


class Hold(NamedTuple):
    """A run in the hands of a node, under one fence."""

    job: int
    run: int
    owner: int
    fence: int
    attempt: int
    due: int


class Ghost(Client):
    """Says what the last holder of a run could have said, while the next one has it: one that was
    seen, or, now and then, any node under the fence before.
    """

    def __init__(self, world: World, book: Book) -> None:
        super().__init__(world, "ghost", book)
        self._store = SqliteStore(world.database)
        self._holds: dict[tuple[int, int], Hold] = {}

    async def haunt(self) -> None:
        """As long as there are faults at all."""
        while self.world.faults is not None and self.world.faults.on:
            held = [Hold(*row) for row in self.world.database._connection.execute(HELD)]
            for hold in held:
                old = self._holds.get((hold.job, hold.run), hold)
                if old.fence < hold.fence and old.attempt == hold.attempt:
                    await asyncio.sleep(self.chance.uniform(0, LATE_S_MAX) ** 2)
                    await self._speak(old)
            if held and self.chance.random() < SPEAKS:
                hold, other = self.chance.choice(held), self.chance.choice(held)
                await self._speak(hold._replace(owner=other.owner, fence=hold.fence - 1))
            self._holds = {(hold.job, hold.run): hold for hold in held}
            await asyncio.sleep(LOOK_S)

    async def _speak(self, old: Hold) -> None:
        """With instants and words that nobody else would have, so that they are known again."""
        ref, now = RunRef(old.job, old.run, old.fence), self.world.now()
        said = (old.job, old.run, old.attempt, old.fence)
        word = Outcome(*said, Status.SUCCEEDED, now, now, None, "a ghost's word")
        name = run_id(INSTALLATION, old.job, old.run)
        self.world.note(self.name, f"says it still has {name}, under fence {old.fence}")
        try:
            await self._store.runs.started(old.owner, {ref: old.due - HOUR})
            await self.ask("read", "GET", f"/v1/runs/{name}", run_id=name)
            await self._store.runs.finish(old.owner, [word], now=now)
        except StoreError as error:  # its node is dead
            self.world.note(self.name, f"is not heard: {error}")


class Meddler(Customer):
    """Changes jobs at the moment at which somebody is about to claim what it has seen of them."""

    def __init__(self, world: World, book: Book, profile: Profile) -> None:
        super().__init__(world, "meddler", book, profile)
        self._asked: asyncio.Queue[asyncio.Future[None]] = asyncio.Queue()

    async def meddle(self) -> None:
        """One edit, wherever it is asked for: it is the meddler's, not that of the process."""
        done = asyncio.get_running_loop().create_future()
        self._asked.put_nowait(done)
        await done

    async def live(self, until_s: float) -> None:
        """Until it is cancelled. Then nobody waits for it any more."""
        done: asyncio.Future[None] | None = None
        try:
            while True:
                done = await self._asked.get()
                await self.chance.choice((self.edit, self.edit, self.pause, self.resume))()
                _let_go(done)
        finally:
            while done is not None:
                _let_go(done)
                done = None if self._asked.empty() else self._asked.get_nowait()


def _let_go(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
