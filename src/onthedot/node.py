"""The composition root: settings become services, and one call runs them until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from onthedot import __version__
from onthedot.api.app import Application, build
from onthedot.api.front import ApiFront
from onthedot.api.hosts import AllowedHosts
from onthedot.api.limits import Limits
from onthedot.api.services import Services
from onthedot.api.serving import bind
from onthedot.clock import Clock
from onthedot.config import Settings
from onthedot.core.declared import DeclaredJob
from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import Lanes
from onthedot.core.views import NodeFacts
from onthedot.errors import (
    LoopEnded,
    NodeDead,
    StoreError,
    StoreLost,
    StoreWentBack,
)
from onthedot.ids import SystemChance
from onthedot.observe.events import warn
from onthedot.observe.health import Health
from onthedot.observe.tally import Tally
from onthedot.roles.incarnation import Incarnation, NodeServices, Tell, join
from onthedot.roles.loop import Loop
from onthedot.roles.notifier import NoticeDelivery
from onthedot.roles.processes import this_process
from onthedot.roles.rollbacks import RollbackResponse
from onthedot.roles.runners.factory import Functions, open_functions, open_runner
from onthedot.roles.runners.transactions import FunctionTransactions
from onthedot.store.contract import Store
from onthedot.store.timed import timed

if TYPE_CHECKING:
    from onthedot.store.postgres.hints import Hints

T = TypeVar("T")

REJOIN_S = 0.5
LOST_S = 3.0
"""So long a process whose store is lost stays for probes to see why, before it ends."""
# Two nodes know the database's time to some milliseconds: what is due by the clock of the one that
# gives a hint may not be so yet by the clock of the one that hears it. So it looks twice.
LOOK_AGAIN_S = 0.05


@dataclass(frozen=True, slots=True)
class NodeReady:
    """What a node that has joined says. `url` is None without the role api, `declared` without an
    app.
    """

    node: int
    url: str | None
    declared: DeclaredJob | None = None


OnReady = Callable[[NodeReady], None]


def listen(settings: Settings, clients: int) -> ApiFront | None:
    """`clients`: how many may be connected."""
    if "api" not in settings.roles:
        return None
    limits = Limits(connections_max=clients)
    return ApiFront(bind(settings.host, settings.port), __version__, settings.roles, limits)


@contextlib.asynccontextmanager
async def _talking(hints: Hints | None, clock: Clock, hurry: asyncio.Event) -> AsyncIterator[None]:
    """Meanwhile hints go to the other processes and come from them."""
    if hints is None:
        yield
        return
    loop = Loop("hints", hints.step, clock)
    hints.on_news = loop.nudge
    task = asyncio.create_task(loop.run(), name="hints")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        await hints.close(at_once=hurry.is_set())


class Node:
    """One server process: the API, and one incarnation after the other of the node behind it."""

    def __init__(
        self,
        settings: Settings,
        kit: NodeServices,
        hints: Hints | None,
        functions: Functions | None = None,
    ) -> None:
        self._settings = settings
        self._kit = kit
        self._hints = hints
        self._failure = ""
        self._declared: DeclaredJob | None = None
        self._horizon: Instant = 0
        self._incarnation: Incarnation | None = None
        self._lost: StoreLost | None = None
        self._apart = "it is about to join"
        """Why there is no incarnation."""
        self._rollbacks = RollbackResponse(
            kit.store, kit.clock, kit.installation, kit.tally, functions
        )
        if hints is not None:
            hints.on_heard = self._heard

    @classmethod
    async def make(
        cls, settings: Settings, store: Store, clock: Clock, functions: Functions | None = None
    ) -> Node:
        """`functions`: an app in this process, in the place of runner processes."""
        chance = SystemChance()
        hints = _hints(settings, clock)
        installation = await store.upkeep.installation()
        if functions is None and settings.app:
            functions = await open_functions(
                settings.app,
                settings.runners,
                transactions=FunctionTransactions(store, clock),
                database=_of_functions(settings),
            )
        executing = await open_runner(functions, version=__version__, store=store, clock=clock)
        facts = NodeFacts(
            boot_id=chance.token(8),
            host=socket.gethostname(),
            pid=os.getpid(),
            process=this_process(),
            roles=settings.roles,
            slots=settings.slots,
            version=__version__,
            queues=settings.queues,
            functions=tuple(sorted(executing.functions)),
            runners=executing.runners,
        )
        tally = Tally()
        kit = NodeServices(
            store=timed(store, tally, clock),
            clock=clock,
            chance=chance,
            runner=executing.runner,
            tally=tally,
            facts=facts,
            installation=installation,
            lanes=Lanes(settings.queues, executing.functions),
            retention_us=settings.retention_us,
            alone=not settings.on_postgres,  # the lock file of SQLite says so
            tell=_teller(hints, clock),
            postbox=NoticeDelivery(executing.post, settings.webhook_secrets),
        )
        node = cls(settings, kit, hints, functions)
        node._declared = executing.declared
        # The clock may have been set back before this process was started.
        node._horizon = await store.clock.horizon()
        return node

    async def run(
        self,
        door: ApiFront | None,
        stop: asyncio.Event,
        hurry: asyncio.Event,
        on_ready: OnReady | None,
    ) -> None:
        url = None if door is None else door.url

        def ready(node: int) -> None:
            if on_ready is not None:
                on_ready(NodeReady(node, url, self._declared))

        if door is not None:
            self._kit.tally.refused = door.refused
            door.on_failure = lambda: self._fail(stop, "the API ended by a fault of its own")
            door.open(self._api())
        try:
            async with _talking(self._hints, self._kit.clock, hurry):
                await self._work(stop, hurry, ready)
        finally:
            if door is not None:
                await door.close()
            await self._kit.runner.close()
        if self._failure:
            raise LoopEnded(self._failure, hint="The log tells why. Start the server again.")

    def _fail(self, stop: asyncio.Event, why: str) -> None:
        """A server that cannot be reached drains and ends, so that it is started again."""
        self._failure = why
        stop.set()

    def _api(self) -> Application:
        """With a key the name by which it is called proves nothing, and a proxy may use another."""
        key, names = self._settings.api_key, self._settings.allowed_hosts
        hosts = AllowedHosts(None if key and not names else names, open_health=key is not None)
        return self.application(api_key=key, hosts=hosts)

    async def _work(
        self, stop: asyncio.Event, hurry: asyncio.Event, on_joined: Callable[[int], None]
    ) -> None:
        """Until the drain is over, or somebody is in a hurry."""
        working = asyncio.create_task(self._incarnate(stop, on_joined), name="node")
        hurrying = asyncio.create_task(hurry.wait(), name="hurry")
        await asyncio.wait([working, hurrying], return_when=asyncio.FIRST_COMPLETED)
        hurrying.cancel()
        if not working.done():
            working.cancel()
        await asyncio.wait([working])
        if not working.cancelled():
            working.result()

    async def _incarnate(self, stop: asyncio.Event, on_joined: Callable[[int], None]) -> None:
        """Join and work; after a death join again. Endless by design, until `stop`."""
        told = False
        while not stop.is_set():
            try:
                self._incarnation = await join(self._kit, starting=not told)
                await self._rollbacks.mend()
                self._incarnation.scheduler.horizon = self._horizon
                if not told:
                    on_joined(self._incarnation.member.number)
                told = True
                await self._incarnation.run(stop, grace_us=self._settings.grace_us)
            except StoreLost as error:
                self._incarnation, self._lost = None, error
                warn("server.failed", error=error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOST_S):
                        await stop.wait()
                raise
            except (NodeDead, StoreError, LoopEnded) as error:
                self._incarnation, self._apart = None, error.message
                if isinstance(error, StoreWentBack):
                    self._rollbacks.noticed(error)
                warn("node.rejoins", error=error)
                await asyncio.sleep(REJOIN_S)

    @property
    def incarnation(self) -> Incarnation | None:
        """None between two of them."""
        return self._incarnation

    def application(
        self, *, api_key: str | None = None, hosts: AllowedHosts | None = None
    ) -> Application:
        """The API of this node. Without a key and hosts it is for callers in this process."""
        services = Services(
            store=self._kit.store,
            clock=self._kit.clock,
            installation=self._kit.installation,
            version=__version__,
            api_key=api_key,
            hosts=hosts,
            wake_scheduler=self._wake_scheduler,
            wake_worker=self._wake_worker,
            health=self._health,
            silent_until=self._silent_until,
            tally=self._kit.tally,
        )
        return build(services)

    def _wake_scheduler(self) -> None:
        self._nudge_scheduler()
        self._kit.tell("clock", ())

    def _wake_worker(self) -> None:
        self._nudge_worker()
        self._kit.tell("queue", ())

    def _heard(self, word: str) -> None:
        """Another process says that there is something new."""
        if word == "clock":
            self._nudge_scheduler()
        elif word == "nodes":
            self._nudge_heartbeat()
        else:
            self._nudge_worker()
            asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self._nudge_worker)

    def _nudge_scheduler(self) -> None:
        if self._incarnation is not None:
            self._incarnation.scheduler.loop.nudge()

    def _nudge_heartbeat(self) -> None:
        if self._incarnation is not None:
            self._incarnation.heartbeat.nudge()

    def _nudge_worker(self) -> None:
        if self._incarnation is not None:
            self._incarnation.worker.look()

    def _silent_until(self) -> Instant | None:
        return None if self._incarnation is None else self._incarnation.scheduler.silent_until

    def _health(self) -> Health:
        roles, problems = self._settings.roles, self._rollbacks.problems()
        if self._lost is not None:
            return Health(0, roles, (f"{self._lost}: the server is about to end",))
        if self._incarnation is None:
            problems += (f"this node has not joined: {self._apart}",)
            return Health(0, roles, problems)
        problems += tuple(self._incarnation.supervisor.problems())
        return Health(self._incarnation.member.number, roles, problems)


def _of_functions(settings: Settings) -> str:
    """Where functions write themselves; empty: only the server has the file."""
    return (settings.functions_database or settings.database) if settings.on_postgres else ""


def _hints(settings: Settings, clock: Clock) -> Hints | None:
    if not settings.on_postgres or not settings.notify:
        return None
    from onthedot.store.postgres.hints import Hints

    past_pooler = settings.notify if isinstance(settings.notify, str) else None
    return Hints(past_pooler or settings.database, clock)


def _teller(hints: Hints | None, clock: Clock) -> Tell:
    """How roles reach other processes: at once, or when the clock comes to an instant."""

    def tell(word: str, ats: Iterable[Instant]) -> None:
        if hints is None:
            return
        now = clock.now()
        for after_us in sorted({max(0, at - now) for at in ats}) or [0]:
            hints.tell(word, after_us / SECOND)

    return tell
