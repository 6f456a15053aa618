"""A node within a program: `async with app.node(database=…):`.

It is a node like any other, with a heartbeat, a lock on its file and a drain at the end; only the
functions run here, on the program's own loop and in its threads, by the user's choice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from onthedot import config
from onthedot.embedded.inline import InlineFunctions
from onthedot.errors import WrongUse
from onthedot.factory import opened
from onthedot.node import Node, NodeReady, listen
from onthedot.sdk.app import App
from onthedot.sdk.client import Client, JobsClient
from onthedot.sdk.embedding import Embedded
from onthedot.sdk.transport import LocalTransport

ROLES = "scheduler,worker,janitor"
HERE = sorted({setting.name for setting in config.SETTINGS} - {"app", "runners", "server"})


@asynccontextmanager
async def embedded(app: App, given: Mapping[str, Any]) -> AsyncIterator[Embedded]:
    settings = _settings(given)
    settings.check_bind()
    door = listen(settings, settings.connections)
    try:
        async with opened(settings) as (store, clock):
            node = await Node.make(settings, store, clock, InlineFunctions(app, clock))
            async with _running(node, door) as ready:
                loop = asyncio.get_running_loop()
                client = Client(transport=LocalTransport(node.application(), loop))
                with app.bound_to(JobsClient(client, loop)):
                    yield Embedded(ready.node, ready.url, client)
    finally:
        if door is not None:
            await door.close()


@asynccontextmanager
async def _running(node: Node, door: Any) -> AsyncIterator[NodeReady]:
    """From when it has joined until it has drained. A drain that is cancelled is cut short."""
    stop, hurry = asyncio.Event(), asyncio.Event()
    joined: asyncio.Future[NodeReady] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(
        node.run(door, stop, hurry, joined.set_result), name="embedded node"
    )
    try:
        both: list[asyncio.Future[Any]] = [joined, running]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        yield joined.result()
    finally:
        stop.set()
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            hurry.set()
            with suppress(asyncio.CancelledError):
                await running
            raise


def _settings(given: Mapping[str, Any]) -> config.Settings:
    for name in given:
        if name not in HERE:
            raise WrongUse(
                f"'{name}' is no setting of a node within a program",
                hint=f"Known: {', '.join(HERE)}.",
                field=name,
            )
    said = {name: _text(value) for name, value in {"roles": ROLES, **given}.items()}
    return config.load(said)


def _text(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return None if value is None else str(value)
