"""What libraries log is told as events: one line each, quoted, and counted once there are many."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable

from onthedot.observe.foreign import BURST, ForeignLogs

PROGRAM = """
import asyncio, logging, threading, warnings
from onthedot.observe.events import to_stderr
from onthedot.observe.foreign import adopt

class Bad:
    def __del__(self):
        raise ValueError("in a finaliser")

async def fails():
    raise KeyError("in a task")

async def main():
    adopt()
    logging.getLogger("uvicorn.error").warning("two\\nlines %s", "and a value")
    logging.getLogger("broken").error("%d", "no number")
    warnings.warn("an old way")
    thread = threading.Thread(target=lambda: 1 / 0, name="worker")
    thread.start()
    thread.join()
    del [Bad()][0]
    asyncio.get_running_loop().call_soon(lambda: {}["in a callback"])
    task = asyncio.create_task(fails())
    await asyncio.sleep(0.05)
    del task
    await asyncio.sleep(0.05)

to_stderr("info")
asyncio.run(main())
"""


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("lib", logging.WARNING, "lib.py", 1, text, None, None)


def test_everything_that_python_and_libraries_say_is_one_event_a_line():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )

    lines = done.stderr.splitlines()
    assert lines
    assert all(" WARNING log.foreign logger=" in line for line in lines), done.stderr
    said = "\n".join(lines)
    for part in (
        *('message="two\\nlines and a value"', "logger=broken", "an old way", "ZeroDivisionError"),
        *("in a finaliser", "in a callback", "in a task"),
    ):
        assert part in said, part


def test_a_flood_is_suppressed_and_counted(caplog):
    waiting: list[Callable[[], None]] = []
    foreign = ForeignLogs(lambda seconds, call: waiting.append(call))

    for _ in range(1_000):
        foreign.handle(record("Invalid HTTP request received."))
    told = len(caplog.records)
    waiting.pop()()
    foreign.handle(record("again"))

    assert told == BURST
    assert [each.getMessage() for each in caplog.records[BURST:]] == [
        f"log.suppressed logger=lib count={1_000 - BURST} within_s=10.0",
        "log.foreign logger=lib level=WARNING message=again",
    ]
    assert len(waiting) == 1
