"""A whole node in memory, in virtual time: the real roles over the real store, driven by a test.

The roles run on a virtual loop, functions on the test's own one, with real input and output.
Virtual time stands still while functions run, and leaps over the time in which nothing is due: the
clock is set forward to the next instant that the store knows of, and the roles are told to look.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from onthedot.config import Settings
from onthedot.core.instants import DAY, SECOND, Instant
from onthedot.core.model import Lanes
from onthedot.core.outcomes import Result
from onthedot.core.states import Status
from onthedot.core.views import NodeFacts, RunView
from onthedot.embedded.inline import InlineFunctions
from onthedot.errors import Invalid
from onthedot.factory import in_memory
from onthedot.ids import run_id
from onthedot.node import Node as Server
from onthedot.roles.incarnation import NodeServices
from onthedot.roles.notifier import NoticeDelivery
from onthedot.roles.runners import Call, Done, EitherRunner, Stop
from onthedot.sdk.app import App, Function
from onthedot.sdk.client import Client, JobsClient
from onthedot.sdk.transport import LocalTransport
from onthedot.store.contract import Store
from onthedot.testing.loop import VirtualLoop
from onthedot.usecases.declaring import declare

T = TypeVar("T")

START = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE_S = 5.0
ROLES = ("scheduler", "worker", "janitor")
KEPT_US = 100 * 365 * DAY
PAGE = 1_000
STEPS_MAX = 10_000_000


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A run that was asked for while the node was there."""

    function: str
    arguments: dict[str, Any]
    run_id: str
    when: dict[str, Any]
    """`delay` or `run_at`, as it was asked for; empty: at once."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A run by its latest attempt. `result` is what the function returned, read back from JSON."""

    function: str
    run_id: str
    status: Status
    scheduled_for: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempt: int
    result: Any
    error: str | None
    reason: str | None


class VirtualClock:
    """The node's time: that of its loop, and what was leapt over. The stopwatch knows nothing of
    the leaps, so that no heartbeat ever looks old.
    """

    def __init__(self, loop: VirtualLoop, start: Instant) -> None:
        self._loop = loop
        self._ahead_us = start

    def now(self) -> Instant:
        return self._ahead_us + self._loop.now_us

    def monotonic(self) -> float:
        return self._loop.time()

    def leap(self, at: Instant) -> None:
        self._ahead_us += max(0, at - self.now())


class FixedChance:
    """The middle of every jitter, so that a test finds a retry where it was yesterday."""

    def jitter(self) -> float:
        return 0.5

    def token(self, size: int) -> str:
        return "7e" * size


class _NoCallbacks:
    """No test of functions is meant to call out."""

    def start(self, call: Call, done: Done) -> Stop:
        what = f"the testing kit calls functions only, not {call.url}"
        done(Result(error=what, retryable=False))
        return lambda: None

    async def close(self) -> None:
        return


class _RecordedJobs(JobsClient):
    """Remembers what was enqueued."""

    def __init__(
        self, client: Client, book: list[Enqueued], loop: asyncio.AbstractEventLoop | None
    ) -> None:
        super().__init__(client, loop)
        self._book = book

    async def trigger(self, key: str, fields: Mapping[str, Any]) -> str:
        made = await super().trigger(key, fields)
        self._note(key, fields, made)
        return made

    async def trigger_many(self, key: str, runs: Sequence[Mapping[str, Any]]) -> list[str]:
        made = await super().trigger_many(key, runs)
        for fields, each in zip(runs, made, strict=True):
            self._note(key, fields, each)
        return made

    def _note(self, key: str, fields: Mapping[str, Any], made: str) -> None:
        when = {name: value for name, value in fields.items() if name != "payload"}
        self._book.append(Enqueued(key, dict(fields["payload"]), made, when))


class World:
    """What is behind both kinds of node. `loop`: where functions run; it must be running, or be
    run, whenever one of the coroutines here is awaited.
    """

    def __init__(self, app: App, start: datetime, patience_s: float) -> None:
        if start.tzinfo is None:
            raise Invalid("the start has no time zone", hint="Use datetime(…, tzinfo=UTC).")
        self.app = app
        self.book: list[Enqueued] = []
        self.posted: list[tuple[str, Any]] = []
        self._start = _instant(start)
        self._patience_s = patience_s
        self._lasting: set[asyncio.Task[Any]] = set()

    async def open(self, calls: asyncio.AbstractEventLoop, *, hop: bool) -> None:
        """`hop`: calls from other loops are brought to that one, since it goes on meanwhile."""
        self.loop = VirtualLoop()
        self.clock = VirtualClock(self.loop, self._start)
        self.store: Store = await in_memory()
        self._installation = await self.store.upkeep.installation()
        self._functions = InlineFunctions(self.app, self.clock, calls)
        self._functions.on_halt = self._lasting.discard  # it is about to end: wait for it again
        try:
            await declare(self.store, self._functions.jobs, app=self.app.name, clock=self.clock)
        except BaseException:
            await self._let_go()
            raise
        server = Server(replace(Settings(), roles=ROLES), self._kit(), None)
        loop = calls if hop else None
        self.client = Client(transport=LocalTransport(server.application(), loop))
        self._bound = self.app.bound_to(_RecordedJobs(self.client, self.book, loop))
        self._bound.__enter__()
        self._server = server
        self._stop, hurry = asyncio.Event(), asyncio.Event()
        work = server.run(None, self._stop, hurry, None)
        self._running = self.loop.create_task(work, name="node")
        await self.settle()

    async def close(self) -> None:
        self._bound.__exit__(None, None, None)
        await self._functions.close()
        self._stop.set()
        for _ in range(STEPS_MAX):
            self.loop.settle()
            if self._running.done():
                break
            await asyncio.sleep(0)
            upcoming = self.loop.next_timer()
            if upcoming is not None:
                self.loop.leap(upcoming)
        await self._let_go()
        self._running.result()
        self._complain()

    async def _let_go(self) -> None:
        await self.store.upkeep.close()
        self.loop.close()

    async def advance(self, until: Instant) -> None:
        """Everything that is due up to then happens, in its order and at its instant."""
        for _ in range(STEPS_MAX):
            await self.settle()
            upcoming = await self._upcoming()
            if upcoming is None or upcoming > until:
                break
            self._go_to(upcoming)
        self._go_to(until)
        await self.settle()

    async def settle(self) -> None:
        """Everything that is due now, and what it leads to now."""
        while True:  # bounded: by what is due, and by patience
            self.loop.settle()
            running = self._functions.under_way - self._lasting
            if not running:
                break
            ended, _ = await asyncio.wait(
                running, timeout=self._patience_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not ended:
                self._lasting.update(running)  # time goes on without them
        self._lasting.intersection_update(self._functions.under_way)
        self._complain()

    def _go_to(self, at: Instant) -> None:
        """With functions under way the loop's time moves too: their timeouts are measured by it."""
        if self._functions.under_way:
            self.loop.leap(self.loop.time() + max(0, at - self.clock.now()) / SECOND)
        self.clock.leap(at)
        incarnation = self._server.incarnation
        if incarnation is not None:
            incarnation.look()

    async def _upcoming(self) -> Instant | None:
        """The next instant at which something happens."""
        seen = await self.store.ledger.overview(limit=1, now=self.clock.now())
        ats = [each.due for each in seen.upcoming]
        incarnation = self._server.incarnation
        known = None if incarnation is None else incarnation.next_at()
        if known is not None:
            ats.append(known)
        timer = self.loop.next_timer() if self._functions.under_way else None
        if timer is not None:
            ats.append(self.clock.now() + round((timer - self.loop.time()) * SECOND))
        return max(min(ats), self.clock.now()) if ats else None

    def _kit(self) -> NodeServices:
        facts = NodeFacts(
            boot_id="testing",
            host="testing",
            pid=os.getpid(),
            roles=ROLES,
            slots=Settings().slots,
            version="testing",
            functions=tuple(sorted(self._functions.functions)),
        )
        return NodeServices(
            store=self.store,
            clock=self.clock,
            chance=FixedChance(),
            runner=EitherRunner(_NoCallbacks(), self._functions),
            facts=facts,
            installation=self._installation,
            lanes=Lanes((), self._functions.functions),
            retention_us=KEPT_US,
            alone=True,
            postbox=NoticeDelivery(self._post),
        )

    async def _post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Result:
        self.posted.append((url, msgspec.json.decode(body)))
        return Result()

    def _complain(self) -> None:
        """A mistake of the node's own must not look like a test that passes."""
        if self.loop.accidents:
            raise AssertionError("; ".join(self.loop.accidents))

    # Reading. The store in memory answers at once, so nobody has to wait for it.

    def enqueued(self, function: Function[Any, Any], match: Mapping[str, Any]) -> list[Enqueued]:
        return [
            each
            for each in self.book
            if each.function == function.name
            if all(each.arguments.get(name, _MISSING) == value for name, value in match.items())
        ]

    def runs(self, function: Function[Any, Any] | None) -> list[Ran]:
        named = self.app.functions.values() if function is None else [function]
        found = [ran for each in named for ran in self._runs_of(each.name)]
        return sorted(found, key=lambda ran: (ran.scheduled_for, ran.run_id))

    def _runs_of(self, name: str) -> Iterable[Ran]:
        job = at_once(self.store.jobs.keyed("default", name))
        before: int | None = None
        while job is not None:
            page = self.store.ledger.page(job.id, before=before, limit=PAGE, now=self.clock.now())
            views = at_once(page)
            yield from (self._ran(name, view) for view in views)
            if len(views) < PAGE:
                return
            before = views[-1].run

    def _ran(self, name: str, view: RunView) -> Ran:
        return Ran(
            function=name,
            run_id=run_id(self._installation, view.job, view.run),
            status=view.status,
            scheduled_for=moment(view.due),
            started_at=None if view.started_at is None else moment(view.started_at),
            finished_at=None if view.finished_at is None else moment(view.finished_at),
            attempt=view.attempt,
            result=None if view.output is None else msgspec.json.decode(view.output),
            error=view.error,
            reason=view.reason,
        )


_MISSING = object()


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise AssertionError("the store in memory has waited for something")


def moment(at: Instant) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=at)


def _instant(at: datetime) -> Instant:
    return round((at - datetime.fromtimestamp(0, UTC)) / timedelta(microseconds=1))
