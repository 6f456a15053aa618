"""Logs are events: a fixed name and fields, one line a fact, on standard error.

`run.finished run=812 attempt=2 took_ms=41` can be read, grepped and counted; prose cannot.
"""

from __future__ import annotations

import json
import logging
import queue
import sys
import threading
from contextlib import suppress
from typing import Final, TextIO

from onthedot.core.redaction import for_logs

_logger = logging.getLogger("onthedot")
LINES_MAX: Final = 10_000
FLUSH_S: Final = 1.0


def log(event: str, /, **fields: object) -> None:
    _logger.info("%s%s", event, _line(fields))


def warn(event: str, /, **fields: object) -> None:
    _logger.warning("%s%s", event, _line(fields))


def to_stderr(level: str = "info") -> None:
    """Send events to standard error, for the server. A program that embeds us keeps its own
    handlers.
    """
    for old in list(_logger.handlers):
        _logger.removeHandler(old)
    stream: TextIO | None = sys.stderr  # None: it was closed before Python began
    handler = logging.NullHandler() if stream is None else EventWriter(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _logger.addHandler(handler)
    _logger.setLevel(level.upper())
    _logger.propagate = False


class EventWriter(logging.Handler):
    """Writes lines in a thread of its own: whoever logs never waits for whoever reads. If that one
    stands still, what no longer fits is dropped, and counted in `log.dropped`.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: queue.Queue[str] = queue.Queue(LINES_MAX)
        self._dropped = 0
        threading.Thread(target=self._write_all, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            self._dropped += 1

    def flush(self) -> None:
        """Wait for what was logged, but not for long: it is called when the process ends, too."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(lambda: not self._lines.unfinished_tasks, FLUSH_S)

    def _write_all(self) -> None:
        while True:  # as long as the process lives
            line = self._lines.get()
            # A full disk, or a reader that has gone: there is nobody to tell.
            with suppress(OSError, ValueError):
                self._stream.write(line + "\n")
                self._stream.flush()
            self._lines.task_done()
            if self._dropped and self._lines.empty():
                count, self._dropped = self._dropped, 0
                warn("log.dropped", count=count)


def _line(fields: dict[str, object]) -> str:
    return "".join(f" {name}={_value(value)}" for name, value in fields.items())


def _value(value: object) -> str:
    """Quoted where needed, without secrets. Nothing that a value holds can begin a new line or move
    the cursor.
    """
    text = for_logs(str(value))
    if text and text.isprintable() and not any(c in ' "=\\' for c in text):
        return text
    return json.dumps(text) if not text.isprintable() else json.dumps(text, ensure_ascii=False)
