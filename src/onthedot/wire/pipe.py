"""What a worker and its runner processes say to each other: groups of messages in frames.

A frame is four bytes of length and a list in MessagePack. Whatever has to be said at one moment
goes out together, so that a run costs a microsecond and not a system call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

LENGTH_BYTES = 4
FRAME_MAX = 64 * 1024 * 1024


class StartCall(msgspec.Struct, array_like=True, tag="start_call", frozen=True):
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


class CancelCall(msgspec.Struct, array_like=True, tag="cancel_call", frozen=True):
    """Ask a call to end before its time."""

    number: int


class RetireRunner(msgspec.Struct, array_like=True, tag="retire", frozen=True):
    """No more calls come: one in there does not end. Give back those that have not begun."""


class SqlRequest(msgspec.Struct, array_like=True, tag="sql_request", frozen=True):
    """A call wants something of the database that only the server has: to read by one statement,
    or to carry out all of them together with the completion of its run. Each statement is its text
    and lists of values.
    """

    number: int
    ask: int
    completes: bool
    statements: list[tuple[str, list[list[Any]]]]
    started: int = 0


class SqlReply(msgspec.Struct, array_like=True, tag="sql_reply", frozen=True):
    """The answer to what a call asked for."""

    ask: int
    error: str | None = None
    columns: list[str] = []
    rows: list[list[Any]] = []


class RunnerHello(msgspec.Struct, array_like=True, tag="hello", frozen=True):
    """The first word of a runner: what it can call, and the jobs that the code declares.
    `isolated`: the functions that want a process of their own for each call, with how much memory
    it may take (0: any).
    """

    functions: list[str]
    jobs: list[dict[str, Any]]
    isolated: dict[str, int] = {}


class LoadFailed(msgspec.Struct, array_like=True, tag="load_failed", frozen=True):
    """In the place of a hello: the code cannot be loaded."""

    error: str


class CallEnded(msgspec.Struct, array_like=True, tag="call_ended", frozen=True):
    """What a call came to. `stopped`: it ended because it was asked to."""

    number: int
    error: str | None = None
    output: str | None = None
    retryable: bool = True
    stopped: bool = False
    retry_after_us: int | None = None


class CallReturned(msgspec.Struct, array_like=True, tag="call_returned", frozen=True):
    """A call is given back: it had no thread yet."""

    number: int


Line = tuple[int, str, str]
"""What was said: when, at which level (or on which stream), and the text."""


NODE_LEVEL = "node"
"""The level of a line that the node has added itself."""


class CallOutput(msgspec.Struct, array_like=True, tag="call_output", frozen=True):
    """What a call has said since the last time. `progress` and `checkpoint` are JSON; None: nothing
    new.
    """

    number: int
    lines: list[Line] = []
    progress: str | None = None
    checkpoint: str | None = None


class LoopBlocked(msgspec.Struct, array_like=True, tag="loop_blocked", frozen=True):
    """One of these calls has held up all others in its process for so long, and stands there."""

    numbers: list[int]
    seconds: float
    where: str


class RunnerAlive(msgspec.Struct, array_like=True, tag="alive", frozen=True):
    """Said now and then by a runner that has something to do: its loop goes round."""


ToRunner = StartCall | CancelCall | RetireRunner | SqlReply
FromRunner = (
    RunnerHello
    | LoadFailed
    | SqlRequest
    | CallEnded
    | CallReturned
    | CallOutput
    | LoopBlocked
    | RunnerAlive
)

_ENCODER = msgspec.msgpack.Encoder()
_TO_RUNNER = msgspec.msgpack.Decoder(list[ToRunner])
_FROM_RUNNER = msgspec.msgpack.Decoder(list[FromRunner])


def frame(messages: list[Any]) -> bytes:
    """Raises ValueError for what the other side could not read."""
    try:
        body = _ENCODER.encode(messages)
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error
    if len(body) > FRAME_MAX - LENGTH_BYTES:
        raise ValueError(f"{len(body):,} bytes at once are too many")
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def frames(messages: list[T], instead: Callable[[T, str], T | None]) -> bytes:
    """All of them in one frame; or, if one cannot be said, each by itself, and in its place what
    `instead` makes of it and of the reason: nobody's words are lost with somebody else's.
    """
    try:
        return frame(messages)
    except ValueError:
        return b"".join(_alone(message, instead) for message in messages)


def _alone(message: T, instead: Callable[[T, str], T | None]) -> bytes:
    try:
        return frame([message])
    except ValueError as error:
        other = instead(message, f"what was given cannot be passed on: {error}")
        return b"" if other is None else frame([other])


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
