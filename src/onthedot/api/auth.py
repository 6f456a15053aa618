"""Who may come in: with an API key set, only callers who know it."""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from onthedot.api.http import Request, Response
from onthedot.api.problems import plain_problem, problem_response

# Probes come from machines that hold no keys, and an outage is no secret.
OPEN_PATHS: Final = frozenset(
    prefix + path for prefix in ("", "/v1") for path in ("/health", "/health/live", "/health/ready")
)


def refused(request: Request, key: str | None) -> Response | None:
    """The refusal of who does not know the key; None: come in."""
    if key is None or request.path_as_sent in OPEN_PATHS:
        return None
    expected = key.encode()
    if any(hmac.compare_digest(offer, expected) for offer in offered(request)):
        return None
    # Only a page asks a browser for the key; a dialogue over a failed poll would be a nuisance.
    wants_page = any("text/html" in accepted for accepted in request.headers("accept"))
    challenge = 'Basic realm="onthedot", charset="UTF-8"' if wants_page else "Bearer"
    problem = plain_problem(
        401,
        "this server needs an API key, and none that it knows was sent",
        "Send 'Authorization: Bearer <key>' or 'X-API-Key: <key>'; the key is the value of "
        "ONTHEDOT_API_KEY on the server.",
    )
    return problem_response(problem, {"WWW-Authenticate": challenge})


def offered(request: Request) -> Iterator[bytes]:
    """Every key in the headers. Basic, with any user name, opens the page in a browser."""
    for value in request.headers("x-api-key"):
        yield value.strip().encode("latin-1")
    for value in request.headers("authorization"):
        scheme, _, credentials = value.strip().encode("latin-1").partition(b" ")
        if scheme.lower() == b"bearer":
            yield credentials.strip()
        elif scheme.lower() == b"basic":
            yield _password(credentials.strip())


def _password(credentials: bytes) -> bytes:
    try:
        return b64decode(credentials, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""
