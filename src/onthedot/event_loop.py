"""The event loop, set up for many small things on time."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# The loop and the writer thread share one interpreter: a shorter turn keeps starts on time.
SWITCH_INTERVAL_S = 0.0005
COLLECT_EVERY = 50_000


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run this until it is done."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    collect_rarely(COLLECT_EVERY)
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        return runner.run(work)


def collect_rarely(every: int) -> None:
    """What a run leaves behind has no cycles. Looking for some at every 700th object, the modules
    included, would cost a quarter of all the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(every, 20, 100)


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one: its timers and sockets are several times quicker."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
