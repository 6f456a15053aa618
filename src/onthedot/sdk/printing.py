"""What functions print and log goes into the log of their run; all else to standard error."""

from __future__ import annotations

import io
import logging
import sys
from contextvars import ContextVar
from typing import Any, TextIO

from onthedot.sdk.notes import CallNotes

SPEAKER: ContextVar[CallNotes | None] = ContextVar("SPEAKER", default=None)
"""The notes of the call that is under way here. Tasks inherit it, and the threads of a runner."""


def capture() -> None:
    """From now on, before the user's code is loaded: what keeps a stream keeps ours."""
    real = sys.stderr
    sys.stdout = _Stream("stdout", real)
    sys.stderr = _Stream("stderr", real)


def capture_logging() -> None:
    """After the user's code is loaded. One that sets logging up has its way, and what it writes to
    the streams is in the log of the run all the same.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(_PrintHandler())
        if root.level == logging.WARNING:
            root.setLevel(logging.INFO)


class _Stream(io.TextIOBase):
    """Standard output or error. What is no text (`.buffer`, `.fileno()`) is the real one's."""

    def __init__(self, name: str, real: TextIO) -> None:
        self._name = name
        self._real = real
        self.buffer: Any = real.buffer

    def write(self, text: str) -> int:
        notes = SPEAKER.get()
        if notes is None:
            return self._real.write(text)
        notes.write(self._name, text)
        return len(text)

    def flush(self) -> None:
        self._real.flush()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._real.fileno()


class _PrintHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        notes, text = SPEAKER.get(), self.format(record)
        if notes is not None:
            notes.line(record.levelname.lower(), text)
        else:
            sys.stderr.write(f"{record.levelname} {text}\n")
