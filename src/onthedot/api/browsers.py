"""Manners towards browsers: other sites cannot write, nothing is sniffed, framed or cached.

There is no CORS: a page of another origin can read nothing. But a browser sends simple POSTs
anywhere without asking, so writes with a foreign `Origin` are refused here.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from onthedot.api.http import RawHeaders, Request, Response
from onthedot.api.problems import plain_problem, problem_response

READS: Final = frozenset({"GET", "OPTIONS"})
_PORTS: Final = {"http": ":80", "https": ":443"}
DEFAULTS: Final[RawHeaders] = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
"""What an answer says unless it says otherwise itself."""


def refused(request: Request) -> Response | None:
    """The refusal of a write that a browser sends for another site; None: go on."""
    if request.method in READS or not is_foreign(request):
        return None
    return problem_response(
        plain_problem(
            403,
            "a page of another site may not write here",
            "Call the API from a program, or from a page of the same origin.",
        )
    )


def is_foreign(request: Request) -> bool:
    """Whether a browser sent this for another site: its Origin is not the Host it called."""
    origins = request.headers("origin")
    if not origins:
        return False
    hosts = {host.strip().lower() for host in request.headers("host")}
    return any(not _names(origin.strip().lower()) & hosts for origin in origins)


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
