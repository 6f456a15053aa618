"""HTTP as the API speaks it, over ASGI: a request that is read, and an answer that is sent whole.

Our own, since little is asked for: no streams, no forms, no cookies. The framework that stood
between the server and the routes took longer than reading and checking a job.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qsl

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_BYTES_MAX: Final = 256 * 1024

RawHeaders = list[tuple[bytes, bytes]]


class HttpError(Exception):
    """A refusal that HTTP itself has a name for."""

    def __init__(
        self, status: int, detail: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail
        self.headers = headers


class Request:
    """`path` is without the slashes that nobody needs: at its end, and one after the other.
    `parameters`: what its route declares that its query may have.
    """

    __slots__ = ("_receive", "_scope", "method", "parameters", "parts", "path")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self.parts = [part for part in scope["path"].split("/") if part]
        self.path = "/" + "/".join(self.parts)
        # HEAD is GET whose answer leaves without its body.
        self.parameters: tuple[str, ...] = ()
        self.method: str = "GET" if scope["method"] == "HEAD" else scope["method"]

    @property
    def wants_body(self) -> bool:
        return bool(self._scope["method"] != "HEAD")

    @property
    def http_version(self) -> str:
        return str(self._scope["http_version"])

    @property
    def path_as_sent(self) -> str:
        return str(self._scope["raw_path"].decode("latin-1"))

    @property
    def query(self) -> list[tuple[str, str]]:
        """The parameters in the order given, those without a value included."""
        text = self._scope["query_string"].decode("latin-1")
        return parse_qsl(text, keep_blank_values=True) if text else []

    def headers(self, name: str) -> list[str]:
        """The values of a header, whose name is given in lowercase, in the order given."""
        return [value.decode("latin-1") for value in self.raw_values(name.encode())]

    def raw_values(self, name: bytes) -> list[bytes]:
        """The same, as they were sent."""
        return [value for given, value in self._scope["headers"] if given == name]

    def header(self, name: str) -> str | None:
        """The first of them."""
        found = self.headers(name)
        return found[0] if found else None

    async def body(self) -> bytes:
        """All of it, or HttpError: at most BODY_BYTES_MAX are ever held."""
        announced = self.header("content-length")  # the server has checked that it is a number
        if announced is not None and int(announced) > BODY_BYTES_MAX:
            raise HttpError(413)
        parts: list[bytes] = []
        size, more = 0, True
        while more:  # bounded by BODY_BYTES_MAX, and by the server's patience with a slow caller
            message = await self._receive()
            if message["type"] == "http.disconnect":
                # The caller hung up: that is no failure of the server, and nobody reads this.
                raise HttpError(400, "the body ended early")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > BODY_BYTES_MAX:
                raise HttpError(413)
            more = message.get("more_body", False)
        return b"".join(parts)


class Response:
    """An answer. `headers` say what it has beside its type and its length."""

    __slots__ = ("body", "headers", "media_type", "status")

    def __init__(
        self,
        body: bytes = b"",
        status: int = 200,
        media_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.body = body
        self.status = status
        self.media_type = media_type
        self.headers = headers or {}

    async def send(self, send: Send, more: RawHeaders, *, with_body: bool = True) -> None:
        """`more`: headers of every answer that does not say otherwise."""
        raw = self.raw_headers(more)
        await send({"type": "http.response.start", "status": self.status, "headers": raw})
        body = self.body if with_body else b""
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def raw_headers(self, more: RawHeaders) -> RawHeaders:
        raw: RawHeaders = []
        if self.status not in (204, 304):
            raw.append((b"content-length", b"%d" % len(self.body)))
        if self.body:
            raw.append((b"content-type", self.media_type.encode()))
        if not self.headers:
            return raw + more
        for name, text in self.headers.items():
            assert text.isprintable(), (name, text)  # or it could begin a header of its own
            raw.append((name.lower().encode(), text.encode()))
        said = {name for name, _ in raw}
        return raw + [header for header in more if header[0] not in said]
