"""The public API, called in this process: the real application over ASGI.

Why not the verbs beneath it: the answers that the checker reads are then exactly those that a user
gets, the reading of bodies, receipts and problem documents included. It costs a fraction of a
millisecond a call, uses no thread and no socket, and so stays deterministic. The application is
built once for all seeds; what it works with is looked up in the process that the call came to.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from onthedot.api.app import build
from onthedot.api.services import Services
from onthedot.observe.health import Health
from onthedot.sdk.transport import TransportRequest, call_asgi
from tests.simulation.loop import LIFE
from tests.simulation.world import INSTALLATION

if TYPE_CHECKING:
    from tests.simulation.process import Process

ROOMS = (
    "clock",
    "jobs",
    "runs",
    "dead_letters",
    "outbox",
    "nodes",
    "ledger",
    "audit",
    "backfills",
    "calendars",
    "zones",
    "upkeep",
)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    said: Any


class _Here:
    """The store, the clock and the hints of the process in which this is asked."""

    def __getattr__(self, name: str) -> Any:
        process = _serving()
        return getattr(process.store if name in ROOMS else process.clock, name)


_SERVING: dict[Any, Process] = {}


def _serving() -> Process:
    return _SERVING[LIFE.get()]


def _wake(word: str) -> None:
    process = _serving()
    process.hear(word)
    process.tell(word, ())


@lru_cache(maxsize=1)
def _application() -> Any:
    here: Any = _Here()
    return build(
        Services(
            store=here,
            clock=here,
            installation=INSTALLATION,
            version="simulated",
            api_key=None,
            wake_scheduler=lambda: _wake("clock"),
            wake_worker=lambda: _wake("queue"),
            health=lambda: Health(1, ("api",), ()),
        )
    )


async def ask(
    process: Process, method: str, path: str, said: Any, headers: dict[str, str]
) -> Answer | None:
    """Send one request and wait for its answer; None if the process went away meanwhile."""
    if not process.ready:
        return None
    loop = process.world.loop
    life = process.life
    answered: asyncio.Future[Answer | None] = loop.create_future()
    process.pending.append(answered)
    _SERVING[life] = process
    work = _serve(method, path, said, headers, answered)
    task = loop.start(life, work, f"{process.name}/api")
    task.add_done_callback(lambda _: None if answered.done() else answered.set_result(None))
    try:
        return await answered
    finally:
        if answered in process.pending:
            process.pending.remove(answered)


def hang_up_all() -> None:
    _SERVING.clear()


async def _serve(
    method: str,
    path: str,
    said: Any,
    headers: dict[str, str],
    answered: asyncio.Future[Answer | None],
) -> None:
    body = None if said is None else json.dumps(said).encode()
    route, _, query = path.partition("?")
    asked = TransportRequest(method, route, dict(parse_qsl(query)), body, headers)
    status, text = await call_asgi(_application(), asked)
    if not answered.done():
        answered.set_result(Answer(status, json.loads(text) if text else None))
