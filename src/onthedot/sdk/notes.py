"""What a call says besides its result: lines, progress, a checkpoint. Bounded; from any thread."""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from onthedot.clock import Clock, SystemClock
from onthedot.core.instants import Instant
from onthedot.core.outcomes import storable
from onthedot.wire.pipe import Line

HEAD_BYTES_MAX = 48 * 1024
TAIL_BYTES_MAX = 16 * 1024
"""Of a call that says more than fits, the beginning and the end are kept: what it did, and what it
did last. What lies between is counted, and a line in its place says how much it was."""

LINE_BYTES_MAX = 4_000
CHECKPOINT_BYTES_MAX = 64 * 1024
TEXT_BYTES_MAX = 400
CLOCK = SystemClock()
_LOCK = threading.Lock()
"""One for all of them: it is held for a moment, and one for each call would cost every call."""


class CallUpdate(NamedTuple):
    """What has been said since the last time."""

    lines: list[Line]
    progress: str | None
    checkpoint: str | None


class CallNotes:
    """`on_news` is called, from whichever thread, when there is something to `take` again.

    Most calls say nothing, and are over within microseconds: what it takes to keep words is made
    with the first of them.
    """

    __slots__ = (
        *("_checkpoint", "_clock", "_last_checkpoint", "_logger", "_news", "_on_news"),
        *("_progress", "_words"),
    )

    def __init__(
        self,
        on_news: Callable[[], object] = lambda: None,
        *,
        checkpoint: str | None = None,
        clock: Clock = CLOCK,
    ) -> None:
        self._on_news = on_news
        self._clock = clock
        self._news = False
        self._words: _Words | None = None
        self._progress: str | None = None
        self._checkpoint: str | None = None
        self._last_checkpoint = checkpoint
        self._logger: logging.Logger | None = None

    # What a function says

    def write(self, stream: str, text: str) -> None:
        """As to a stream: a line ends where the text says so."""
        with _LOCK:
            self._spoken().write(stream, text, self._clock.now())
        self._tell()

    def line(self, level: str, text: str) -> None:
        with _LOCK:
            for each in text.split("\n"):
                self._spoken().add(level, each, self._clock.now())
        self._tell()

    def progress(self, done: float, total: float | None, text: str) -> None:
        said: dict[str, Any] = {"done": _number("done", done)}
        if total is not None:
            said["total"] = _number("total", total)
        if not isinstance(text, str):
            raise TypeError(f"text={text!r}: what it is doing is said in words")
        if text:
            said["text"] = storable(text, TEXT_BYTES_MAX)
        self._progress = msgspec.json.encode(said).decode()
        self._tell()

    def checkpoint(self, value: Any) -> None:
        try:
            text = msgspec.json.encode(value)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise TypeError(f"a checkpoint is a JSON value: {error}") from None
        if len(text) > CHECKPOINT_BYTES_MAX:
            raise ValueError(
                f"a checkpoint has at most {CHECKPOINT_BYTES_MAX:,} bytes of JSON, this one has "
                f"{len(text):,}: store it elsewhere and keep where it is"
            )
        self._checkpoint = self._last_checkpoint = text.decode()
        self._tell()

    @property
    def last_checkpoint(self) -> Any:
        """The value, as the attempt before kept it or this one; None if none did."""
        return None if self._last_checkpoint is None else msgspec.json.decode(self._last_checkpoint)

    @property
    def logger(self) -> logging.Logger:
        """One of its own, so that nothing a program sets up for its logging concerns it."""
        if self._logger is None:
            self._logger = logging.Logger("run", logging.DEBUG)  # noqa: LOG001  (it is to have no parent)
            self._logger.addHandler(_NotesHandler(self))
        return self._logger

    # What is done with it

    def take(self) -> CallUpdate | None:
        """What is new; None if nothing is."""
        if not self._news and self._words is None:
            return None
        with _LOCK:
            self._news = False
            lines = self._words.take() if self._words is not None else []
            progress, self._progress = self._progress, None
            checkpoint, self._checkpoint = self._checkpoint, None
        if not lines and progress is None and checkpoint is None:
            return None
        return CallUpdate(lines, progress, checkpoint)

    def close(self) -> None:
        """The call is over: what has no line end is a line, and after the cut comes the end."""
        if self._words is not None:
            with _LOCK:
                self._words.close(self._clock.now())

    def _spoken(self) -> _Words:
        if self._words is None:
            self._words = _Words()
        return self._words

    def _tell(self) -> None:
        if not self._news:
            self._news = True
            self._on_news()


class _Words:
    """The lines of a call, bounded; whoever uses it has the lock."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._begun: dict[str, str] = {}
        self._room = HEAD_BYTES_MAX
        self._tail: deque[Line] = deque()
        self._tail_bytes = 0
        self._cut_lines = self._cut_bytes = 0

    def write(self, stream: str, text: str, now: Instant) -> None:
        *whole, rest = (self._begun.pop(stream, "") + text).split("\n")
        for line in whole:
            self.add(stream, line, now)
        if len(rest) > LINE_BYTES_MAX:
            self.add(stream, rest, now)
        elif rest:
            self._begun[stream] = rest

    def add(self, level: str, text: str, now: Instant) -> None:
        kept = storable(text, LINE_BYTES_MAX) or ""
        size = len(kept.encode())
        line = (now, level, kept)
        if size <= self._room and not self._tail:
            self._room -= size
            self._lines.append(line)
            return
        self._tail.append(line)
        self._tail_bytes += size
        while self._tail_bytes > TAIL_BYTES_MAX:
            gone = len(self._tail.popleft()[2].encode())
            self._tail_bytes -= gone
            self._cut_lines += 1
            self._cut_bytes += gone

    def take(self) -> list[Line]:
        lines, self._lines = self._lines, []
        return lines

    def close(self, now: Instant) -> None:
        begun, self._begun = self._begun, {}
        for stream, text in begun.items():
            self.add(stream, text, now)
        if self._cut_lines:
            words = f"… [cut: {self._cut_lines:,} lines, {self._cut_bytes:,} bytes]"
            self._lines.append((self._tail[0][0], "cut", words))
        self._lines += self._tail
        self._tail.clear()


class _NotesHandler(logging.Handler):
    def __init__(self, notes: CallNotes) -> None:
        super().__init__()
        self._notes = notes

    def emit(self, record: logging.LogRecord) -> None:
        self._notes.line(record.levelname.lower(), self.format(record))


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}={value!r}: progress is counted in numbers")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{name}={value!r}: progress is counted from 0 upwards")
    return value
