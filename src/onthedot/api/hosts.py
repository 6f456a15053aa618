"""Which names this server answers to.

Without an API key whatever reaches the server may do everything. A page of another site cannot,
unless its name is made to point at 127.0.0.1 (DNS rebinding): then a browser takes us for that
site. It still sends the name, so that we can tell.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from onthedot.api.auth import OPEN_PATHS
from onthedot.api.http import Request, Response
from onthedot.api.problems import plain_problem, problem_response
from onthedot.ids import shown

_HOST: Final = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s:@/?#\[\]\\]+)(?::[0-9]{0,5})?", re.ASCII)
_REMEMBERED_MAX: Final = 100


class AllowedHosts:
    """`names`: what it answers to beside the names of loopback; None: to any. With `open_health`
    probes may call it as they like: they hold no keys, and know only an address.
    """

    def __init__(self, names: Iterable[str] | None, *, open_health: bool = False) -> None:
        self._names = None if names is None else {_bare(name) for name in names}
        self._open_health = open_health
        self._known: set[bytes] = set()

    def refused(self, request: Request) -> Response | None:
        """The refusal of a request for somebody else; None: go on."""
        values = request.raw_values(b"host")
        if len(values) == 1 and values[0] in self._known:
            return None
        given = [value.decode("latin-1") for value in values]
        if len(given) > 1 or (not given and request.http_version != "1.0"):
            count = "several Host headers" if given else "no Host header"
            hint = "Send exactly one, with the name that you call the server by."
            return problem_response(plain_problem(400, f"the request has {count}", hint))
        if not given or self._answers_to(given[0]):
            return None
        if self._open_health and request.path_as_sent in OPEN_PATHS:
            return None
        return problem_response(
            plain_problem(
                403,
                f"this server is not called {shown(given[0])!r}",
                "Call it by a name of loopback, such as localhost, or add the name to"
                " ONTHEDOT_ALLOWED_HOSTS on the server.",
            )
        )

    def _answers_to(self, host: str) -> bool:
        found = _HOST.fullmatch(host.strip().lower())
        if found is None:
            return False
        name = _bare(found["name"])
        if self._names is not None and name not in self._names and not is_loopback(name):
            return False
        if len(self._known) < _REMEMBERED_MAX:
            self._known.add(host.encode("latin-1"))
        return True


def is_loopback(name: str) -> bool:
    """Whether a name or address can only mean this machine."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _bare(name: str) -> str:
    return name.lower().removeprefix("[").removesuffix("]").removesuffix(".")
