"""How much of the server one client may take, and for how long.

Everything here is counted before a request is parsed, and none of it needs an API key: whoever can
connect is held to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Final


class Phase(IntEnum):
    """What a connection is waited for. A new one is waited for its first request."""

    HEAD = auto()
    BODY = auto()
    ANSWERING = auto()
    IDLE = auto()
    LEAVING = auto()


EVICTION_ORDER: Final = (Phase.LEAVING, Phase.HEAD, Phase.IDLE, Phase.BODY)
"""Who makes room for a new connection. A request that is being answered never does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`body_bytes_per_s`: a body that comes more slowly than this, after `body_s`, is given up.
    `write_s`: so long a client may leave an answer unread. `leave_s`: so long we read on after a
    refusal, because closing at once would take the refusal away from a client that still sends.
    `settled_s`: so long a newcomer is spared when room must be made for others.
    """

    line_bytes_max: int = 8 * 1024
    head_bytes_max: int = 32 * 1024
    headers_max: int = 100
    head_s: float = 10.0
    body_s: float = 10.0
    body_bytes_per_s: int = 8 * 1024
    body_wire_bytes_max: int = 1024 * 1024
    idle_s: float = 65.0
    write_s: float = 30.0
    leave_s: float = 5.0
    leave_bytes_max: int = 1024 * 1024
    kept_bytes_max: int = 1024 * 1024
    held_bytes_max: int = 64 * 1024 * 1024
    connections_max: int = 1_000
    settled_s: float = 1.0
    requests_per_turn: int = 32

    @property
    def per_address_max(self) -> int:
        """Of one address that is not this machine, where a proxy may stand for everybody."""
        return max(1, self.connections_max // 2)


@dataclass(frozen=True, slots=True)
class LimitExceeded:
    """A limit that a client has gone over: what it is told, and what is counted."""

    status: int
    reason: str
    detail: str
    hint: str


class ConnectionCount:
    """How much of the head of one request has come."""

    __slots__ = ("_limits", "bytes", "line_bytes", "lines")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.clear()

    def clear(self) -> None:
        self.bytes = 0
        self.lines = 0
        self.line_bytes = 0

    def add(self, piece: bytes) -> LimitExceeded | None:
        """Count a piece that is about to be parsed. What is over a limit must not be."""
        limits = self._limits
        if not self.lines:
            end = piece.find(b"\n")
            self.line_bytes += end if end >= 0 else len(piece)
            if self.line_bytes > limits.line_bytes_max:
                return _too_long(414, "request line", limits.line_bytes_max)
        self.bytes += len(piece)
        self.lines += piece.count(b"\n")
        if self.bytes > limits.head_bytes_max:
            return _too_long(431, "head of the request", limits.head_bytes_max)
        if self.lines > limits.headers_max + 2:  # the request line, and the empty one at the end
            return LimitExceeded(
                *(431, "header_count", f"the request has more than {limits.headers_max} headers"),
                "Send fewer headers.",
            )
        return None


def _too_long(status: int, what: str, bytes_max: int) -> LimitExceeded:
    reason = "request_line" if status == 414 else "header_bytes"
    detail = f"the {what} is longer than {bytes_max // 1024} KB"
    return LimitExceeded(status, reason, detail, "Send less in the URL and the headers.")


def overdue(limits: Limits, phase: Phase, *, waited_s: float, body_bytes: int = 0) -> bool:
    """Whether a connection has been waited for long enough."""
    match phase:
        case Phase.HEAD:
            return waited_s > limits.head_s
        case Phase.BODY:
            return waited_s > limits.body_s + body_bytes / limits.body_bytes_per_s
        case Phase.IDLE:
            return waited_s > limits.idle_s
        case Phase.LEAVING:
            return waited_s > limits.leave_s
        case Phase.ANSWERING:  # it waits for us
            return False
