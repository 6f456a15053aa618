"""The testing kit: `with node(app) as …` in a `def` test, `async with node(app) as …` in an
`async def` one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from onthedot.errors import Invalid
from onthedot.testing.world import PATIENCE_S, START, Enqueued, Ran, World, moment

if TYPE_CHECKING:
    from types import TracebackType

    from onthedot.core.instants import Instant
    from onthedot.sdk.app import App, Function
    from onthedot.sdk.blocking import BlockingClient
    from onthedot.sdk.client import Client

__all__ = ["AsyncNode", "BlockingNode", "Enqueued", "Opening", "Ran", "node"]

T = TypeVar("T")


def node(app: App, *, at: datetime = START, patience_s: float = PATIENCE_S) -> Opening:
    """A node in memory that runs the functions of an app in virtual time, which begins `at`.

    A function that takes longer than `patience_s`, in real time, is one that lasts: virtual time
    goes on without it, and its timeout comes.
    """
    return Opening(World(app, at, patience_s))


class Opening:
    """How it is entered decides what it is: a node to wait for, or one that blocks."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __enter__(self) -> BlockingNode:
        if asyncio._get_running_loop() is not None:
            raise Invalid(
                "a blocking node was entered within an event loop",
                hint="Write `async with onthedot.testing.node(app) as node:`.",
            )
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_HereAndNow())
        try:
            self._loop.run_until_complete(self._world.open(self._loop, hop=False))
        except BaseException:
            self._loop.close()
            raise
        return BlockingNode(self._world, self._loop)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        try:
            self._loop.run_until_complete(self._world.close())
        finally:
            self._loop.close()

    async def __aenter__(self) -> AsyncNode:
        await self._world.open(asyncio.get_running_loop(), hop=True)
        return AsyncNode(self._world)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self._world.close()


class _Seen:
    """What both kinds of node tell at once."""

    def __init__(self, world: World) -> None:
        self._world = world

    def enqueued(self, function: Function[Any, Any], /, **match: Any) -> list[Enqueued]:
        """What was enqueued, by the test or by functions, with at least these arguments."""
        return self._world.enqueued(function, match)

    def runs(self, function: Function[Any, Any] | None = None, /) -> list[Ran]:
        """The runs of a function, or of all, in the order of their instants."""
        return self._world.runs(function)

    @property
    def posted(self) -> list[tuple[str, Any]]:
        """What would have been sent to the URLs of `on_failure`: each URL with its document."""
        return self._world.posted


class _Time:
    """The virtual clock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> datetime:
        return moment(self._world.clock.now())

    def _until(self, span: timedelta | None, more: dict[str, float]) -> Instant:
        whole = (span or timedelta()) + timedelta(**more)
        if whole < timedelta():
            raise Invalid(f"time does not go back: {whole}", hint="Advance by a positive span.")
        return self._world.clock.now() + whole // timedelta(microseconds=1)


class AsyncClock(_Time):
    async def advance(self, span: timedelta | None = None, /, **more: float) -> None:
        """Let time pass (`advance(days=1)`): everything that is due meanwhile happens."""
        await self._world.advance(self._until(span, more))


class AsyncNode(_Seen):
    """For `async def` tests. Coroutines run on the test's loop, functions in its threads."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.clock = AsyncClock(world)

    @property
    def client(self) -> Client:
        """The whole API of the node."""
        return self._world.client

    async def drain(self) -> None:
        """Run everything that is due now, and what that enqueues, without moving the clock."""
        await self._world.advance(self._world.clock.now())


class BlockingClock(_Time):
    def __init__(self, world: World, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(world)
        self._loop = loop

    def advance(self, span: timedelta | None = None, /, **more: float) -> None:
        """Let time pass (`advance(days=1)`): everything that is due meanwhile happens."""
        self._loop.run_until_complete(self._world.advance(self._until(span, more)))


class BlockingNode(_Seen):
    """For `def` tests. Functions run in the test's own thread, coroutines on a loop in it."""

    def __init__(self, world: World, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(world)
        self._loop = loop
        self.clock = BlockingClock(world, loop)

    @property
    def client(self) -> BlockingClient:
        """The whole API of the node."""
        return self._world.client.blocking

    def drain(self) -> None:
        """Run everything that is due now, and what that enqueues, without moving the clock."""
        self._loop.run_until_complete(self._world.advance(self._world.clock.now()))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine of the test's, on the loop on which functions run."""
        return self._loop.run_until_complete(work)


class _HereAndNow(ThreadPoolExecutor):
    """In the thread that asks: what a test has begun in a database's transaction is seen there."""

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001  (whoever waits for it gets it)
            future.set_exception(error)
        return future
