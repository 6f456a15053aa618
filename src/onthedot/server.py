"""One server process: it listens, waits for its database, and runs a node until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from onthedot.api.front import ApiFront
from onthedot.config import Settings
from onthedot.errors import DatabaseAway, StoreUnavailable
from onthedot.event_loop import run
from onthedot.factory import opened
from onthedot.node import Node, OnReady, listen
from onthedot.observe.events import log, to_stderr, warn
from onthedot.observe.foreign import adopt
from onthedot.roles.descriptors import reserve

T = TypeVar("T")

AWAIT_S_MIN, AWAIT_S_MAX = 0.5, 5.0
"""Between two looks at a database that is not there when the server starts."""

SPEAK_S = 1.0
"""So long callers wait for a server that starts, before they are told that it does."""

_STARTING = "the server is starting: its database, or its app, has not answered yet"


def run_server(settings: Settings, *, on_ready: OnReady | None = None) -> int:
    """Run a node until SIGTERM or SIGINT has been drained; CannotStart if it cannot begin."""
    settings.check_bind()
    to_stderr(settings.log_level)
    return run(_serve(settings, on_ready))


async def _serve(settings: Settings, on_ready: OnReady | None) -> int:
    adopt()
    stop, hurry = asyncio.Event(), asyncio.Event()
    _listen_to_signals(stop, hurry)
    clients = reserve(settings.descriptors)
    door = listen(settings, clients)
    try:
        async with contextlib.AsyncExitStack() as stack:
            node = await _started(settings, stack, door, stop)
            if node is not None:
                await node.run(door, stop, hurry, on_ready)
    finally:
        if door is not None:
            await door.close()
    return 0


async def _started(
    settings: Settings, stack: contextlib.AsyncExitStack, door: ApiFront | None, stop: asyncio.Event
) -> Node | None:
    """A node, as soon as its database is there; what it needs stays open with `stack`. Meanwhile
    the API says that it is not. None: told to stop before that. Endless by design, until then.
    """
    pause_s = AWAIT_S_MIN
    while not stop.is_set():
        try:
            with _speaking(door):
                return await _unless(stop, _made(settings, stack))
        except (DatabaseAway, StoreUnavailable) as error:
            warn("store.awaited", error=error.message, again_in_s=pause_s)
            if door is not None:
                door.wait(error.message)
            await _unless(stop, asyncio.sleep(pause_s))
            pause_s = min(2 * pause_s, AWAIT_S_MAX)
    return None


@contextlib.contextmanager
def _speaking(door: ApiFront | None) -> Iterator[None]:
    """A database of several hosts that are all silent takes seconds for each of them."""
    if door is None:
        yield
        return
    speaking = asyncio.get_running_loop().call_later(SPEAK_S, door.begin, _STARTING)
    try:
        yield
    finally:
        speaking.cancel()


async def _made(settings: Settings, stack: contextlib.AsyncExitStack) -> Node:
    async with contextlib.AsyncExitStack() as attempt:
        store, clock = await attempt.enter_async_context(opened(settings))
        node = await Node.make(settings, store, clock)
        stack.push_async_callback(attempt.pop_all().aclose)
        return node


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """What it comes to; None if it is cut short by `stop`."""
    working = asyncio.create_task(work, name="start")
    stopping = asyncio.create_task(stop.wait(), name="stop")
    await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not working.done():
        working.cancel()
        await asyncio.wait([working])
        return None
    return working.result()


def _listen_to_signals(stop: asyncio.Event, hurry: asyncio.Event) -> None:
    """The first signal drains, the second one ends at once."""

    def heard(number: signal.Signals) -> None:
        log("server.stopping", signal=number.name, at_once=stop.is_set())
        (hurry if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, heard, number)
