"""What a worker and its runner processes say to each other: groups of messages in frames.

A frame is four bytes of length and a list in MessagePack. Whatever has to be said at one moment
goes out together, so that a run costs a microsecond and not a system call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

LENGTH_BYTES = 4
FRAME_MAX = 64 * 1024 * 1024


class Begin(msgspec.Struct, array_like=True, tag="begin", frozen=True):
    """Call this function."""

    number: int
    function: str
    payload: str
    run_id: str
    job_id: str
    attempt: int
    scheduled_for: int
    timeout_us: int
    checkpoint: str | None = None
    fence: int | None = None
    """Of an exactly-once run: under what its transaction completes it."""


class Halt(msgspec.Struct, array_like=True, tag="halt", frozen=True):
    """Ask a call to end before its time."""

    number: int


class Asked(msgspec.Struct, array_like=True, tag="asked", frozen=True):
    """A call wants something of the database that only the server has: to read by one statement,
    or to carry out all of them together with the completion of its run. Each statement is its text
    and lists of values.
    """

    number: int
    ask: int
    completes: bool
    statements: list[tuple[str, list[list[Any]]]]
    started: int = 0


class Told(msgspec.Struct, array_like=True, tag="told", frozen=True):
    """The answer to what a call asked for."""

    ask: int
    error: str | None = None
    columns: list[str] = []
    rows: list[list[Any]] = []


class Hello(msgspec.Struct, array_like=True, tag="hello", frozen=True):
    """The first word of a runner: what it can call, and the jobs that the code declares.
    `isolated`: the functions that want a process of their own for each call, with how much memory
    it may take (0: any).
    """

    functions: list[str]
    jobs: list[dict[str, Any]]
    isolated: dict[str, int] = {}


class Refusal(msgspec.Struct, array_like=True, tag="refusal", frozen=True):
    """In the place of a hello: the code cannot be loaded."""

    error: str


class End(msgspec.Struct, array_like=True, tag="end", frozen=True):
    """What a call came to. `stopped`: it ended because it was asked to."""

    number: int
    error: str | None = None
    output: str | None = None
    retryable: bool = True
    stopped: bool = False
    retry_after_us: int | None = None


Line = tuple[int, str, str]
"""What was said: when, at which level (or on which stream), and the text."""


class Said(msgspec.Struct, array_like=True, tag="said", frozen=True):
    """What a call has said since the last time. `progress` and `checkpoint` are JSON; None: nothing
    new.
    """

    number: int
    lines: list[Line] = []
    progress: str | None = None
    checkpoint: str | None = None


class Blocked(msgspec.Struct, array_like=True, tag="blocked", frozen=True):
    """One of these calls has held up all others in its process for so long, and stands there."""

    numbers: list[int]
    seconds: float
    where: str


class Alive(msgspec.Struct, array_like=True, tag="alive", frozen=True):
    """Said now and then by a runner that has something to do: its loop goes round."""


ToRunner = Begin | Halt | Told
FromRunner = Hello | Refusal | Asked | End | Said | Blocked | Alive

_ENCODER = msgspec.msgpack.Encoder()
_TO_RUNNER = msgspec.msgpack.Decoder(list[ToRunner])
_FROM_RUNNER = msgspec.msgpack.Decoder(list[FromRunner])


def frame(messages: list[Any]) -> bytes:
    body = _ENCODER.encode(messages)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


class Frames:
    """Cuts a stream of bytes into its frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._bytes += data
        while len(self._bytes) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._bytes[:LENGTH_BYTES], "big")
            if end > FRAME_MAX:
                raise ValueError(f"a frame of {end} bytes")
            if len(self._bytes) < end:
                return
            body = bytes(self._bytes[LENGTH_BYTES:end])
            del self._bytes[:end]
            yield body


def to_runner(body: bytes) -> list[ToRunner]:
    return _TO_RUNNER.decode(body)


def from_runner(body: bytes) -> list[FromRunner]:
    return _FROM_RUNNER.decode(body)
