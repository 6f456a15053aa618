"""The composition root: settings become services, and one call runs them until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onthedot import __version__
from onthedot.api.app import Application, build
from onthedot.api.services import Services
from onthedot.api.serving import Serving, bind, url_of
from onthedot.clock import Clock, DatabaseClock, SystemClock
from onthedot.config import Settings
from onthedot.core.declared import Declared
from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import Lanes
from onthedot.errors import CannotStart, LoopEnded, NodeDead, SchemaMismatch, StoreError
from onthedot.ids import Chance, SystemChance
from onthedot.observe.events import log, to_stderr, warn
from onthedot.observe.health import Health
from onthedot.observe.tally import Tally
from onthedot.roles.incarnation import Incarnation, Kit, Tell, join
from onthedot.roles.loop import Loop
from onthedot.roles.notifier import Postbox
from onthedot.roles.processes import this_process
from onthedot.roles.runners.opening import Functions, open_functions, open_runner
from onthedot.roles.runners.transactions import Transactions
from onthedot.roles.running import run
from onthedot.store.contract import Store
from onthedot.store.migrate import State, inspect
from onthedot.store.sqlite import open_store as open_sqlite
from onthedot.store.sqlite.lock import LockFile
from onthedot.store.timed import timed
from onthedot.store.values import NodeFacts

if TYPE_CHECKING:
    from onthedot.store.postgres.hints import Hints

REJOIN_S = 0.5
# Two nodes know the database's time to some milliseconds: what is due by the clock of the one that
# gives a hint may not be so yet by the clock of the one that hears it. So it looks twice.
LOOK_AGAIN_S = 0.05


@dataclass(frozen=True, slots=True)
class Ready:
    """What a node that has joined says. `url` is None without the role api, `declared` without an
    app.
    """

    node: int
    url: str | None
    declared: Declared | None = None


OnReady = Callable[[Ready], None]


def run_server(settings: Settings, *, on_ready: OnReady | None = None) -> int:
    """Run a node until SIGTERM or SIGINT has been drained; CannotStart if it cannot begin."""
    settings.check_bind()
    to_stderr(settings.log_level)
    return run(_serve(settings, on_ready))


async def _serve(settings: Settings, on_ready: OnReady | None) -> int:
    stop, hurry = asyncio.Event(), asyncio.Event()
    _listen_to_signals(stop, hurry)
    listening = listen(settings)
    try:
        async with opened(settings) as (store, clock):
            node = await Node.make(settings, store, clock)
            await node.run(listening, stop, hurry, on_ready)
    finally:
        if listening is not None:
            listening.close()
    return 0


def listen(settings: Settings) -> socket.socket | None:
    return bind(settings.host, settings.port) if "api" in settings.roles else None


async def in_memory() -> Store:
    """A store that lasts as long as whoever holds it, for the testing kit."""
    return await open_sqlite(None)


@contextlib.asynccontextmanager
async def opened(
    settings: Settings, chance: Chance | None = None
) -> AsyncIterator[tuple[Store, Clock]]:
    """The store, and the clock that is its authority. On SQLite the lock file comes first."""
    lock = None if settings.on_postgres else LockFile(settings.database_path)
    try:
        store = await _open(settings, chance)
        try:
            yield store, await _clock_of(store)
        finally:
            await store.upkeep.close()
    finally:
        if lock is not None:
            lock.close()


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


async def _clock_of(store: Store) -> Clock:
    own = SystemClock()
    stamp = await store.nodes.time()
    if stamp is None:
        return own
    clock = DatabaseClock(own)
    clock.observe(stamp)
    return clock


class Node:
    """One server process: the API, and one incarnation after the other of the node behind it."""

    def __init__(self, settings: Settings, kit: Kit, hints: Hints | None) -> None:
        self._settings = settings
        self._kit = kit
        self._hints = hints
        self._declared: Declared | None = None
        self._incarnation: Incarnation | None = None
        if hints is not None:
            hints.on_heard = self._heard

    @classmethod
    async def make(
        cls, settings: Settings, store: Store, clock: Clock, functions: Functions | None = None
    ) -> Node:
        """`functions`: an app in this process, in the place of runner processes."""
        chance = SystemChance()
        hints = _hints(settings, clock)
        if functions is None and settings.app:
            functions = await open_functions(
                settings.app,
                settings.runners,
                transactions=Transactions(store, clock),
                database=settings.database if settings.on_postgres else "",
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
        kit = Kit(
            store=timed(store, tally, clock),
            clock=clock,
            chance=chance,
            runner=executing.runner,
            tally=tally,
            facts=facts,
            installation=await store.upkeep.installation(),
            lanes=Lanes(settings.queues, executing.functions),
            retention_us=settings.retention_us,
            alone=not settings.on_postgres,  # the lock file of SQLite says so
            tell=_teller(hints, clock),
            postbox=Postbox(executing.post, settings.webhook_secrets),
        )
        node = cls(settings, kit, hints)
        node._declared = executing.declared
        return node

    async def run(
        self,
        listening: socket.socket | None,
        stop: asyncio.Event,
        hurry: asyncio.Event,
        on_ready: OnReady | None,
    ) -> None:
        url = None if listening is None else url_of(listening)

        def ready(node: int) -> None:
            if on_ready is not None:
                on_ready(Ready(node, url, self._declared))

        api = None
        if listening is not None:
            api = Serving(self.application(api_key=self._settings.api_key), listening)
        try:
            async with _talking(self._hints, self._kit.clock, hurry):
                await self._work(stop, hurry, ready)
        finally:
            if api is not None:
                await api.close()
            await self._kit.runner.close()

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
        """Join and work; after a death join anew. Endless by design, until `stop`."""
        told = False
        while not stop.is_set():
            try:
                self._incarnation = await join(self._kit, starting=not told)
                if not told:
                    on_joined(self._incarnation.member.number)
                told = True
                await self._incarnation.run(stop, grace_us=self._settings.grace_us)
            except (NodeDead, StoreError, LoopEnded) as error:
                self._incarnation = None
                warn("node.rejoins", error=error)
                await asyncio.sleep(REJOIN_S)

    @property
    def incarnation(self) -> Incarnation | None:
        """None between two of them."""
        return self._incarnation

    def application(self, *, api_key: str | None = None) -> Application:
        """The API of this node. Without a key it is for callers in this process."""
        services = Services(
            store=self._kit.store,
            clock=self._kit.clock,
            installation=self._kit.installation,
            version=__version__,
            api_key=api_key,
            wake_scheduler=self._wake_scheduler,
            wake_worker=self._wake_worker,
            health=self._health,
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

    def _health(self) -> Health:
        roles = self._settings.roles
        if self._incarnation is None:
            return Health(0, roles, ("this node has not joined: the database does not answer",))
        problems = tuple(self._incarnation.supervisor.problems())
        return Health(self._incarnation.member.number, roles, problems)


async def _open(settings: Settings, chance: Chance | None) -> Store:
    """An empty database is set up. One of a newer version or of somebody else is refused, and on
    PostgreSQL an older one too: other nodes may be at work on it.
    """
    harmless = (State.EMPTY,) if settings.on_postgres else (State.EMPTY, State.OLDER)
    try:
        schema = await inspect(settings.database, prepared=settings.prepared)
        refusal = schema.refusal()
        if refusal is not None and schema.state not in harmless:
            raise refusal
        if settings.on_postgres:
            return await _open_postgres(settings, chance)
        return await open_sqlite(str(settings.database_path), chance=chance)
    except SchemaMismatch as error:
        raise CannotStart(error.message, hint=error.hint, field="database") from error
    except StoreError as error:
        where = "the database" if settings.on_postgres else f"'{settings.database_path}'"
        raise CannotStart(
            f"cannot open {where}: {error.message}", hint=error.hint, field="database"
        ) from error


async def _open_postgres(settings: Settings, chance: Chance | None) -> Store:
    from onthedot.store.postgres import PoolSettings, open_store  # its driver is an extra

    pool = PoolSettings(size=settings.pool, prepared=settings.prepared)
    return await open_store(settings.database, chance=chance, pool=pool)


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


def _listen_to_signals(stop: asyncio.Event, hurry: asyncio.Event) -> None:
    """The first signal drains, the second one ends at once."""

    def heard(number: signal.Signals) -> None:
        log("server.stopping", signal=number.name, at_once=stop.is_set())
        (hurry if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, heard, number)
