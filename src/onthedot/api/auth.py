"""Who may come in: with an API key set, only callers who know it."""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Final

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from onthedot.api.problems import plain_problem, send_problem

# Probes come from machines that hold no keys, and an outage is no secret.
OPEN_PATHS: Final = frozenset(
    prefix + path for prefix in ("", "/v1") for path in ("/health", "/health/live", "/health/ready")
)

Headers = Iterable[tuple[bytes, bytes]]


class RequireKey:
    """The gate stands before the router, so that unknown paths need the key too."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self.app = app
        self.key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._may_enter(scope):
            await self.app(scope, receive, send)
        else:
            await self._refuse(scope, send)

    def _may_enter(self, scope: Scope) -> bool:
        if scope["type"] != ScopeType.HTTP or scope["path"] in OPEN_PATHS:
            return True
        return any(hmac.compare_digest(offer, self.key) for offer in offered(scope["headers"]))

    async def _refuse(self, scope: Scope, send: Send) -> None:
        # Only a page asks a browser for the key; a dialogue over a failed poll would be a nuisance.
        wants_page = any(name == b"accept" and b"text/html" in v for name, v in scope["headers"])
        challenge = 'Basic realm="onthedot", charset="UTF-8"' if wants_page else "Bearer"
        problem = plain_problem(
            401,
            "this server needs an API key, and none that it knows was sent",
            "Send 'Authorization: Bearer <key>' or 'X-API-Key: <key>'; the key is the value of "
            "ONTHEDOT_API_KEY on the server.",
        )
        await send_problem(send, problem, {"WWW-Authenticate": challenge})


def offered(headers: Headers) -> Iterator[bytes]:
    """Every key in the headers. Basic, with any user name, opens the page in a browser."""
    for name, value in headers:
        if name == b"x-api-key":
            yield value.strip()
        elif name == b"authorization":
            scheme, _, credentials = value.strip().partition(b" ")
            if scheme.lower() == b"bearer":
                yield credentials.strip()
            elif scheme.lower() == b"basic":
                yield _password(credentials.strip())


def _password(credentials: bytes) -> bytes:
    try:
        return b64decode(credentials, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""
