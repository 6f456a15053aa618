"""A small blocking REST client for tests, and the one way in which tests wait."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPException
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
POLL_S = 0.01
PAGES_MAX = 10_000

T = TypeVar("T")


class NoAnswer(Exception):
    """The server did not answer: whether it did what was asked is not known."""


@dataclass(frozen=True, slots=True)
class Reply:
    """`headers` have names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class Rest:
    """Speaks to the server at `url`. A body that is not bytes is sent as JSON."""

    def __init__(
        self, url: str, *, timeout_s: float = 10.0, headers: Mapping[str, str] | None = None
    ) -> None:
        self.url = url
        self._timeout_s = timeout_s
        self._headers = dict(headers or {})

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """One request on a connection of its own. Raises NoAnswer if there is no whole answer."""
        place = urlsplit(self.url)
        assert place.hostname is not None
        connection = HTTPConnection(place.hostname, place.port, timeout=self._timeout_s)
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        kind = {} if sent is None else {"Content-Type": "application/json"}
        try:
            connection.request(method, path, sent, {**kind, **self._headers, **(headers or {})})
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, names, answer.read())
        except (OSError, HTTPException) as error:
            raise NoAnswer(f"{method} {path}: {type(error).__name__}: {error}") from error
        finally:
            connection.close()

    def get(self, path: str, **query: object) -> Reply:
        return self.ask("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        return self.ask("POST", path, body, headers)

    def patch(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
        return self.ask("PATCH", path, body, headers)

    def delete(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        return self.ask("DELETE", path, None, headers)

    def made(self, path: str, body: Any) -> Any:
        """Post what must succeed; its JSON answer."""
        reply = self.post(path, body)
        assert reply.ok, f"POST {path} {body}: {reply.status} {reply.body!r}"
        return reply.json

    def pages(self, path: str, what: str, *, limit: int = 1000) -> Iterator[Any]:
        """Every element of a list, page after page: `pages("/v1/jobs", "jobs")`."""
        cursor: dict[str, str] = {}
        for _ in range(PAGES_MAX):
            reply = self.get(path, limit=limit, **cursor)
            assert reply.status == 200, f"GET {path}: {reply.status} {reply.body!r}"
            page = reply.json
            yield from page[what]
            if page["nextCursor"] is None:
                return
            cursor = {"cursor": page["nextCursor"]}
        raise AssertionError(f"{path} never ends")


def instant_us(text: str) -> int:
    """An RFC 3339 instant as microseconds since the epoch."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def eventually(probe: Callable[[], T], what: str, *, within_s: float = 10.0) -> T:
    """Ask again until the answer is true, or fail naming what was awaited."""
    deadline = time.monotonic() + within_s
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what} (last: {found!r})")
        time.sleep(POLL_S)
