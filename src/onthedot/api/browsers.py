"""Manners towards browsers: other sites cannot write, nothing is sniffed, framed or cached.

There is no CORS: a page of another origin can read nothing. But a browser sends simple POSTs
anywhere without asking, so writes with a foreign `Origin` are refused here.
"""

from __future__ import annotations

from typing import Final, cast
from urllib.parse import urlsplit

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from onthedot.api.problems import plain_problem, send_problem

READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS: Final = {"http": ":80", "https": ":443"}
# What an answer says unless it says otherwise itself.
_DEFAULTS: Final = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
}


class Manners:
    """HEAD as GET without the body, the origin check, and the security headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"

        async def polite(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = {name.lower() for name, _ in message["headers"]}
                more = [(name, text) for name, text in _DEFAULTS.items() if name not in said]
                message["headers"] = [*message["headers"], *more]
            elif message["type"] == "http.response.body" and is_head:
                message["body"] = b""
            await send(message)

        if is_head:
            # A copy: the server looks at its own scope to know that no body follows.
            scope = cast("HTTPScope", {**scope, "method": "GET"})
        if scope["method"] not in READS and is_foreign(scope):
            problem = plain_problem(
                403,
                "a page of another site may not write here",
                "Call the API from a program, or from a page of the same origin.",
            )
            await send_problem(polite, problem, {})
            return
        await self.app(scope, receive, polite)


def is_foreign(scope: Scope) -> bool:
    """Whether a browser sent this for another site: its Origin is not the Host it called."""
    headers = scope["headers"]
    hosts = {value.decode("latin-1").strip().lower() for name, value in headers if name == b"host"}
    for name, value in headers:
        if name == b"origin" and not _names(value.decode("latin-1").strip().lower()) & hosts:
            return True
    return False


def _names(origin: str) -> set[str]:
    """An origin's host as a Host header may spell it, with and without the default port."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return set()
    if not parts.netloc or parts.scheme not in _PORTS:
        return set()
    bare = parts.netloc.removesuffix(_PORTS[parts.scheme])
    return {bare, bare + _PORTS[parts.scheme]} if ":" not in bare else {bare}
