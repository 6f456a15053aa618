"""The composition root: settings become services, and one call runs the server until it is told to
stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator

import uvicorn

from onthedot import __version__
from onthedot.api.app import build
from onthedot.api.services import Services
from onthedot.clock import Clock, DatabaseClock, SystemClock
from onthedot.config import Settings
from onthedot.errors import CannotStart, NodeDead, SchemaMismatch, StoreError
from onthedot.ids import SystemChance
from onthedot.observe.events import log, to_stderr, warn
from onthedot.observe.health import Health
from onthedot.roles.incarnation import Incarnation, Kit, join
from onthedot.roles.processes import this_process
from onthedot.roles.runners.http import HttpRunner
from onthedot.store.contract import NodeFacts, Store
from onthedot.store.postgres import PoolSettings
from onthedot.store.postgres import open_store as open_postgres
from onthedot.store.sqlite import open_store as open_sqlite
from onthedot.store.sqlite.lock import LockFile

REJOIN_S = 0.5
API_GRACE_S = 2
BACKLOG = 1_024
# The loop and the writer thread share one interpreter: a shorter turn keeps starts on time.
SWITCH_INTERVAL_S = 0.0005


def run_server(settings: Settings, *, on_ready: Callable[[str], None] | None = None) -> int:
    """Run a node until SIGTERM or SIGINT has been drained. Raises CannotStart if it cannot
    begin.
    """
    settings.check_bind()
    to_stderr(settings.log_level)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with asyncio.Runner(loop_factory=_fast_loop()) as runner:
        return runner.run(_serve(settings, on_ready))


async def _serve(settings: Settings, on_ready: Callable[[str], None] | None) -> int:
    stop, hurry = asyncio.Event(), asyncio.Event()
    _listen_to_signals(stop, hurry)
    listening = _bind(settings) if "api" in settings.roles else None
    async with _opened(settings) as (store, clock):
        node = await Node.make(settings, store, clock)
        await node.run(listening, stop, hurry, on_ready)
    return 0


@contextlib.asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[tuple[Store, Clock]]:
    """The store, and the clock that is its authority. On SQLite the lock file comes first."""
    lock = None if settings.on_postgres else LockFile(settings.database_path)
    try:
        store = await _open(settings)
        try:
            yield store, await _clock_of(store)
        finally:
            await store.upkeep.close()
    finally:
        if lock is not None:
            lock.close()


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

    def __init__(self, settings: Settings, kit: Kit) -> None:
        self._settings = settings
        self._kit = kit
        self._incarnation: Incarnation | None = None

    @classmethod
    async def make(cls, settings: Settings, store: Store, clock: Clock) -> Node:
        chance = SystemChance()
        facts = NodeFacts(
            boot_id=chance.token(8),
            host=socket.gethostname(),
            pid=os.getpid(),
            process=this_process(),
            roles=settings.roles,
            slots=settings.slots,
            version=__version__,
        )
        kit = Kit(
            store=store,
            clock=clock,
            chance=chance,
            runner=HttpRunner(version=__version__),
            facts=facts,
            installation=await store.upkeep.installation(),
            queues=settings.queues,
            retention_us=settings.retention_us,
            alone=not settings.on_postgres,  # the lock file of SQLite says so
        )
        return cls(settings, kit)

    async def run(
        self,
        listening: socket.socket | None,
        stop: asyncio.Event,
        hurry: asyncio.Event,
        on_ready: Callable[[str], None] | None,
    ) -> None:
        api = self._start_api(listening) if listening is not None else None
        try:
            working = asyncio.create_task(self._incarnate(stop), name="node")
            if on_ready is not None:
                on_ready(_url(listening))
            hurrying = asyncio.create_task(hurry.wait(), name="hurry")
            await asyncio.wait([working, hurrying], return_when=asyncio.FIRST_COMPLETED)
            hurrying.cancel()
            if not working.done():
                working.cancel()
            await asyncio.wait([working])
            if not working.cancelled():
                working.result()
        finally:
            if api is not None:
                await _stop_api(*api)
            await self._kit.runner.close()

    async def _incarnate(self, stop: asyncio.Event) -> None:
        """Join and work; after a death join anew. Endless by design, until `stop`."""
        while not stop.is_set():
            try:
                self._incarnation = await join(self._kit)
                await self._incarnation.run(stop, grace_us=self._settings.grace_us)
            except (NodeDead, StoreError) as error:
                self._incarnation = None
                warn("node.rejoins", error=error)
                await asyncio.sleep(REJOIN_S)

    def _start_api(self, listening: socket.socket) -> tuple[_Api, asyncio.Task[None]]:
        services = Services(
            store=self._kit.store,
            clock=self._kit.clock,
            installation=self._kit.installation,
            version=__version__,
            api_key=self._settings.api_key,
            wake_scheduler=self._wake_scheduler,
            wake_worker=self._wake_worker,
            health=self._health,
        )
        config = uvicorn.Config(
            build(services),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=API_GRACE_S,
        )
        api = _Api(config)
        task = asyncio.create_task(api.serve(sockets=[listening]), name="api")
        return api, task

    def _wake_scheduler(self) -> None:
        if self._incarnation is not None:
            self._incarnation.scheduler.loop.nudge()

    def _wake_worker(self) -> None:
        if self._incarnation is not None:
            self._incarnation.worker.look()

    def _health(self) -> Health:
        roles = self._settings.roles
        if self._incarnation is None:
            return Health(0, roles, ("this node has not joined: the database does not answer",))
        problems = tuple(self._incarnation.supervisor.problems())
        return Health(self._incarnation.member.number, roles, problems)


class _Api(uvicorn.Server):
    """Uvicorn inside our loop: the signals are ours, since the drain comes before its end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _stop_api(api: _Api, task: asyncio.Task[None]) -> None:
    api.should_exit = True
    await asyncio.wait([task])


async def _open(settings: Settings) -> Store:
    try:
        if settings.on_postgres:
            pool = PoolSettings(size=settings.pool, prepared=settings.prepared)
            return await open_postgres(settings.database, pool=pool)
        return await open_sqlite(str(settings.database_path))
    except SchemaMismatch as error:
        raise CannotStart(error.message, hint=error.hint, field="database") from error
    except StoreError as error:
        where = "the database" if settings.on_postgres else f"'{settings.database_path}'"
        raise CannotStart(
            f"cannot open {where}: {error.message}", hint=error.hint, field="database"
        ) from error


def _bind(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(BACKLOG)  # from now on calls wait for us instead of being refused
    except OSError as error:
        listening.close()
        raise CannotStart(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}",
            hint="Is a server running there already? Choose another port with --port.",
            field="port",
        ) from None
    return listening


def _url(listening: socket.socket | None) -> str:
    if listening is None:
        return "(no api role)"
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen_to_signals(stop: asyncio.Event, hurry: asyncio.Event) -> None:
    """The first signal drains, the second one ends at once."""

    def heard(number: signal.Signals) -> None:
        log("server.stopping", signal=number.name, at_once=stop.is_set())
        (hurry if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, heard, number)


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one: its timers and sockets are several times quicker."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
