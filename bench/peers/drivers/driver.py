"""What the drivers share. A driver puts one library through the same verbs:

  prepare         makes its tables in an empty database
  enqueue N       N calls of a handler that does nothing, with the payload; prints the seconds taken
  delay N AT S    N one-offs, evenly over S seconds from the instant AT on
  recur N S       N schedules, each every S seconds; where they stand in code, `work` declares them
  work            works until it is told to stop

It runs in the environment of its library, so that it knows nothing of onthedot.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

DATABASE = os.environ.get("PEER_DATABASE", "")
REDIS = os.environ.get("PEER_REDIS", "")
RECURRING = int(os.environ.get("PEER_RECURRING", "0"))
"""How many schedules `work` declares, if they are declared in code."""

AT_ONCE = 1_000
PAYLOAD = {
    "template": "welcome",
    "to": "someone@example.org",
    "items": [1, 2, 3, 4, 5, 6, 7, 8],
    "locale": "en-GB",
}
_note = struct.Struct("<dd").pack
_file: int | None = None


def note(due: float | None = None) -> None:
    """When a call began and when it was due (0: nobody knows). Without `due` only the first call of
    a process is noted: drained work is counted by what is left, and writing would cost each call.
    """
    global _file  # noqa: PLW0603 - a handler has nowhere else to keep it
    if _file is not None and due is None:
        return
    now = time.time()
    if _file is None:
        path = Path(os.environ["PEER_NOTES"]) / str(os.getpid())
        _file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(_file, _note(now, due or 0.0))


def option(name: str, default: float) -> float:
    """A setting of the peer that a measurement may want different."""
    return float(os.environ.get(f"PEER_{name}", default))


def instants(count: float, first: float, seconds: float) -> Iterator[float]:
    return (first + number * seconds / count for number in range(int(count)))


def portions(count: float) -> Iterator[int]:
    for begun in range(0, int(count), AT_ONCE):
        yield min(AT_ONCE, int(count) - begun)


def main(verbs: dict[str, Callable[..., Awaitable[None]]]) -> None:
    verb, *numbers = sys.argv[1:]

    async def timed() -> None:
        began = time.perf_counter()
        await verbs[verb](*map(float, numbers))
        print(json.dumps({"seconds": time.perf_counter() - began}))

    asyncio.run(timed())
