"""What libraries and Python itself log becomes events of ours: one line each, and not too many.

`log.foreign logger=asyncio level=ERROR message="..."`. A client that makes a library complain could
otherwise fill the disk, and lines of another format break whoever reads the log by a program.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from onthedot.observe.events import warn

BURST = 5
WINDOW_S = 10.0
"""Of one logger so many lines are told in such a time; the rest is counted."""

TEXT_MAX = 8_000


Later = Callable[[float, Callable[[], None]], None]
"""Calls something after so many seconds; from any thread."""


class ForeignLogs(logging.Handler):
    """Takes records of every logger but ours."""

    def __init__(self, later: Later) -> None:
        super().__init__(logging.WARNING)
        self._later = later
        self._told: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except Exception as error:  # noqa: BLE001  (arguments that do not fit their text)
            message = f"{record.msg!r} ({error})"
        trace = ""
        if record.exc_info and record.exc_info[1] is not None:
            trace = "".join(traceback.format_exception(record.exc_info[1]))
        self.tell(record.name, record.levelname, message, trace)

    def tell(self, logger: str, level: str, message: str, trace: str = "") -> None:
        self._told[logger] += 1
        if self._told[logger] == 1:
            self._later(WINDOW_S, partial(self._begin_again, logger))
        if self._told[logger] <= BURST:
            more = {"trace": trace.rstrip()[-TEXT_MAX:]} if trace else {}
            warn("log.foreign", logger=logger, level=level, message=message[:TEXT_MAX], **more)

    def _begin_again(self, logger: str) -> None:
        suppressed = self._told.pop(logger, 0) - BURST
        if suppressed > 0:
            warn("log.suppressed", logger=logger, count=suppressed, within_s=WINDOW_S)


def adopt() -> None:
    """From now on every logger, warning and uncaught exception of this process is told our way, as
    long as its event loop runs.
    """
    loop = asyncio.get_running_loop()

    def later(seconds: float, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nothing more is told
            loop.call_soon_threadsafe(loop.call_later, seconds, call)

    foreign = ForeignLogs(later)
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(foreign)
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    threading.excepthook = lambda told: _uncaught(
        foreign, f"thread {told.thread.name if told.thread else '?'}", told.exc_value
    )
    sys.unraisablehook = lambda told: _uncaught(foreign, "unraisable", told.exc_value)


def _uncaught(foreign: ForeignLogs, where: str, error: BaseException | None) -> None:
    if error is None or isinstance(error, SystemExit):
        return
    trace = "".join(traceback.format_exception(error))
    foreign.tell("python", "ERROR", f"{where}: {type(error).__name__}: {error}", trace)
