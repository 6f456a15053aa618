"""An event loop in a thread, for callers that have none."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Started by the first call, and there until the process ends. A process that was forked from
    one that had it gets its own: threads are not inherited, and a call would wait for ever.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop
        self._lock = threading.Lock()
        self._process = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._process != os.getpid():
            self._lock = threading.Lock()  # somebody may have held it when we were forked
        with self._lock:
            if self._process != os.getpid():
                self._process, self._loop = os.getpid(), asyncio.new_event_loop()
                thread = threading.Thread(target=_go_on, args=[self._loop], daemon=True)
                thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _go_on(loop: asyncio.AbstractEventLoop) -> None:
    """A SystemExit gets out of the loop, after whoever waits has been told; the others need it."""
    while True:  # endless by design: it ends with the process
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


BACKGROUND = Background()
