"""The thread of a runner process that names who holds up the others."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest

from onthedot.runner.process import WATCHER, _serve
from onthedot.sdk.app import App


def watchers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == WATCHER]


async def test_it_ends_with_the_runner_and_speaks_to_no_loop_that_is_closed():
    ours, theirs = socket.socketpair()
    serving = asyncio.create_task(_serve(App(), theirs.detach(), 0))
    ours.setblocking(False)
    await asyncio.get_running_loop().sock_recv(ours, 1)
    [watcher] = watchers()

    ours.close()
    await serving
    await asyncio.to_thread(watcher.join, 5)

    assert not watchers()


async def test_it_watches_on_where_sleeping_is_refused(monkeypatch: pytest.MonkeyPatch):
    def refused(seconds: float) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(time, "sleep", refused)
    ours, theirs = socket.socketpair()
    serving = asyncio.create_task(_serve(App(), theirs.detach(), 0))

    await asyncio.sleep(0.4)

    assert len(watchers()) == 1
    ours.close()
    await serving
