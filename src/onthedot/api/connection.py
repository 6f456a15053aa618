"""One connection to the API: uvicorn's protocol, fed no more than a request may have.

What arrives is counted before it is parsed (a parser without a bound took a minute over one long
header). One request is answered at a time: what was sent after it waits, unparsed, and nothing more
is read until its turn has come.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from onthedot.api import browsers
from onthedot.api.limits import ConnectionCount, LimitExceeded, Phase
from onthedot.api.problems import plain_problem, problem_response
from onthedot.api.registry import Registry

CHUNKED_PIECE: Final = 8 * 1024
"""Of a body in chunks so much is parsed in one turn of the loop: a chunk may have one byte."""

_HEAD_END: Final = b"\r\n\r\n"
_TOO_SLOW: Final = LimitExceeded(
    408, "too_slow", "the request did not come in time", "Send it again, all at once."
)
_NOT_HTTP: Final = LimitExceeded(
    400, "not_http", "this is not a valid HTTP/1.1 request", "Speak HTTP/1.1, without TLS."
)
_TOO_LARGE: Final = LimitExceeded(
    413, "body_bytes", "the body is larger than 256 KB", "Send it in fewer, larger chunks."
)


class _Next(Exception):
    """The parser has come to the next request while this one is not answered yet."""


class HttpConnection(HttpToolsProtocol):
    def __init__(self, registry: Registry, config: Config, state: ServerState) -> None:
        super().__init__(config, state, {}, asyncio.get_running_loop())
        self.phase = self.place = Phase.HEAD
        self.since = 0.0
        self.address = ""
        self.body_bytes = 0
        self._registry = registry
        self._head = ConnectionCount(registry.limits)
        self._short, self._few = registry.limits.line_bytes_max, registry.limits.headers_max
        self._head_is_whole = False
        self._body_is_whole = False
        self._body_left: int | None = None
        self._tail = b""
        self._kept = b""
        self._left_bytes = 0
        self._deaf = False

    # From the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self.flow: _Flow = _Flow(self.transport)
        self.address = self.client[0] if self.client else ""
        self._registry.arriving -= 1
        self._registry.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._registry.remove(self)
        self._kept = b""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.phase is Phase.LEAVING or self._deaf:
            self._ignore(data)
        elif self._kept or self.phase is Phase.ANSWERING:
            self._keep(data)
        else:
            self._take(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._registry.stalls(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():  # then it has so long, and no longer
            self._registry.reads(self)

    # What arrives

    def _ignore(self, data: bytes) -> None:
        """So that a client that is still sending gets to read why it was refused."""
        self._left_bytes += len(data)
        if self._left_bytes > self._registry.limits.leave_bytes_max:
            self.abort()

    def _keep(self, data: bytes) -> None:
        """For when the request before it has been answered."""
        self._kept += data
        self.flow.hold()
        if len(self._kept) > self._registry.limits.kept_bytes_max:  # it does not heed the pause
            self._registry.refused["pipelined"] += 1
            self.abort()

    def _take(self, data: bytes) -> None:
        """Parse one request at most, and keep what follows it."""
        over: LimitExceeded | None = None
        try:
            while data and over is None and not self._body_is_whole and not self._kept:
                if self._head_is_whole:
                    data, over = self._take_body(data)
                else:
                    data, over = self._take_head(data)
        except httptools.HttpParserUpgrade:
            # It is answered as if it had not asked for another protocol. Where its body would end
            # the parser cannot tell.
            self._stop_listening()
            data = b""
        except httptools.HttpParserError as error:
            if not isinstance(error.__context__, _Next):
                over = _NOT_HTTP
            self._stop_listening()
            data = b""
        if over is not None:
            self.refuse(over)
            return
        if data:
            self._keep(data)
        self._turn()
        if self._kept and self.phase is Phase.IDLE:  # it was answered before its body had come
            self.loop.call_soon(self._go_on)

    def _take_head(self, data: bytes) -> tuple[bytes, LimitExceeded | None]:
        if not self._head.bytes:  # most heads come in one piece, and are short
            end = data.find(_HEAD_END) + len(_HEAD_END)
            if len(_HEAD_END) <= end <= self._short and data.count(b"\n", 0, end) <= self._few:
                self.parser.feed_data(data[:end])
                # Empty lines before a request are allowed, but not without end.
                return data[end:], None if self._head_is_whole else self._head.add(data[:end])
        length = _head_length(self._tail, data)
        piece = data[:length] if length else data
        over = self._head.add(piece)
        if over is None:
            self.parser.feed_data(piece)
            self._tail = b"" if self._head_is_whole else (self._tail + piece[-3:])[-3:]
        return data[len(piece) :], over

    def _take_body(self, data: bytes) -> tuple[bytes, LimitExceeded | None]:
        if self._body_left is None:
            self._body_left = _announced(self.headers)
        in_chunks = self._body_left < 0
        piece = data[:CHUNKED_PIECE] if in_chunks else data[: self._body_left]
        rest = data[len(piece) :]
        self.body_bytes += len(piece)
        self.parser.feed_data(piece)
        if not in_chunks:
            self._body_left -= len(piece)
        elif rest and not self._body_is_whole:
            self._keep(rest)
            self.loop.call_soon(self._go_on)
            rest = b""
        limits = self._registry.limits
        if self.cycle.response_complete and self.body_bytes > limits.leave_bytes_max:
            self.abort()  # it was answered long ago, and still sends
            rest = b""
        elif in_chunks and self.body_bytes > limits.body_wire_bytes_max:
            return rest, _TOO_LARGE
        return rest, None

    def _go_on(self) -> None:
        """With what was kept."""
        if self.phase is Phase.LEAVING or self.transport.is_closing() or self.parser is None:
            return
        data, self._kept = self._kept, b""
        if data:
            self._take(data)
        if not self._kept and not self.transport.is_closing():
            self.flow.let_go()

    def _stop_listening(self) -> None:
        """Answer what has been asked, and close."""
        self._deaf = True
        if self.cycle is not None:
            self.cycle.keep_alive = False

    # From the parser

    def on_message_begin(self) -> None:
        if self._head_is_whole:
            raise _Next
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_is_whole:  # trailers are no headers (RFC 9110, 6.5.1)
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self.url.startswith(b"/"):
            self._take_host_from_target()
        super().on_headers_complete()
        self._head_is_whole = True

    def _take_host_from_target(self) -> None:
        """The absolute form of a target outweighs the Host header (RFC 9112, 3.2.2)."""
        if self.url == b"*":
            return
        parts = urlsplit(self.url)
        if parts.scheme not in (b"http", b"https") or not parts.netloc:
            raise ValueError("neither a path nor a URL of ours")
        self.headers[:] = [pair for pair in self.headers if pair[0] != b"host"]
        self.headers.append((b"host", parts.netloc))
        self.url = (parts.path or b"/") + (b"?" + parts.query if parts.query else b"")

    def on_message_complete(self) -> None:
        self._body_is_whole = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._registry.stalls(self)  # until it has read the rest
            return
        self._turn()
        if self._kept:
            self.loop.call_soon(self._go_on)
        else:
            self.flow.resume_reading()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        cycle.send = partial(_send, cycle)
        self._registry.begin(super()._start_asgi_task, cycle, app)

    def _turn(self) -> None:
        """Into the phase that follows from what has come and what has been answered."""
        if not self._head_is_whole:
            phase = Phase.HEAD
        elif not self._body_is_whole and not self._deaf:
            phase = Phase.BODY
        elif not self.cycle.response_complete:
            phase = Phase.ANSWERING
        else:
            phase = Phase.IDLE
            self._begin_again()
        if phase is not self.phase:
            self._registry.move(self, phase)

    def _begin_again(self) -> None:
        self._head_is_whole = self._body_is_whole = False
        if self._head.bytes:
            self._head.clear()
            self._tail = b""
        if self.body_bytes:
            self._body_left, self.body_bytes = None, 0

    # From the registry

    def held_bytes(self) -> int:
        unsent = 0 if self.transport.is_closing() else self.transport.get_write_buffer_size()
        return len(self._kept) + self.body_bytes + unsent

    def expire(self) -> None:
        if self.phase is Phase.LEAVING:
            self.abort()
        elif self.phase is Phase.IDLE or (self.phase is Phase.HEAD and not self._head.bytes):
            self.abort()  # `close` would wait until everything sent has been read
        else:
            self.refuse(_TOO_SLOW, counted=True)

    def abort(self) -> None:
        self._registry.remove(self)
        self.transport.abort()

    def refuse(self, over: LimitExceeded, *, counted: bool = False) -> None:
        """Tell why, and close once the client has had the time to read it."""
        if not counted:
            self._registry.refused[over.reason] += 1
        self._kept = b""
        self.flow.let_go()
        if self._head_is_whole:  # whoever answers it must not wait for the rest of the body
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.abort()
                return
        self._registry.move(self, Phase.LEAVING)
        self.transport.write(_written(over, self.server_state.default_headers))
        self.transport.write_eof()


class _Flow(FlowControl):
    """While something is held back, nothing more is read, whoever wants more of a body."""

    _held = False

    def hold(self) -> None:
        self._held = True
        self.pause_reading()

    def let_go(self) -> None:
        self._held = False
        self.resume_reading()

    def resume_reading(self) -> None:
        if not self._held:
            super().resume_reading()


async def _send(cycle: RequestResponseCycle, message: Any) -> None:
    """As uvicorn's, for answers of ours: whole, with headers that need no checking. Head and body
    leave together: each would be a call of the system of its own, and wake the caller.
    """
    if message["type"] == "http.response.start":
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        cycle.response_started = True
        cycle.waiting_for_100_continue = False
        cycle.scope["state"]["start"] = message
    elif not cycle.disconnected:
        start = cycle.scope["state"]["start"]
        parts = [STATUS_LINE[start["status"]]]
        for name, value in (*cycle.default_headers, *start["headers"]):
            parts += (name, b": ", value, b"\r\n")
        parts.append(b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
        if cycle.scope["method"] != "HEAD":
            parts.append(message["body"])
        cycle.transport.write(b"".join(parts))
        cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()


def _head_length(tail: bytes, data: bytes) -> int:
    """How much of `data` belongs to the head; 0: it does not end here. `tail` is the end of what
    came before: the empty line may come in two pieces.
    """
    if tail:
        across = (tail + data[:3]).find(_HEAD_END)
        if across >= 0:
            return across + len(_HEAD_END) - len(tail)
    end = data.find(_HEAD_END)
    return end + len(_HEAD_END) if end >= 0 else 0


def _announced(headers: list[tuple[bytes, bytes]]) -> int:
    """How long the body will be; -1: it comes in chunks. The parser has checked the number."""
    for name, value in headers:
        if name == b"content-length":
            return int(value)
    return -1


def _written(over: LimitExceeded, headers: list[tuple[bytes, bytes]]) -> bytes:
    answer = problem_response(plain_problem(over.status, over.detail, over.hint))
    said = [*headers, *answer.raw_headers(browsers.DEFAULTS), (b"connection", b"close")]
    lines = [STATUS_LINE[over.status], *(b"%s: %s\r\n" % pair for pair in said), b"\r\n"]
    return b"".join([*lines, answer.body])
