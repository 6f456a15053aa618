"""File descriptors of this process: as many as it may have, and enough of them for the engine."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress

from onthedot.core.descriptors import Needs, clients_allowed, raised
from onthedot.errors import CannotStart

UNLIMITED = sys.maxsize


def reserve(needs: Needs) -> int:
    """Raise the limit as far as we may; returns how many clients there is room for."""
    limit = _raise_limit()
    allowed = clients_allowed(needs, limit)
    if allowed is None:
        raise CannotStart(
            f"this process may have {limit} files open, and {needs.slots} slots need"
            f" {needs.least}: clients could keep callbacks from being made",
            hint=f"Raise the limit (`ulimit -n {needs.least}`, or LimitNOFILE= of systemd), or use"
            " fewer --slots.",
            field="slots",
        )
    return allowed


def _raise_limit() -> int:
    soft, hard = (
        UNLIMITED if limit == resource.RLIM_INFINITY else limit
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    wanted = raised(soft, hard)
    if wanted > soft:
        # Some systems allow less than they say. Then the limit is what it was.
        with suppress(OSError, ValueError):
            given = resource.RLIM_INFINITY if hard == UNLIMITED else hard
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, given))
            return wanted
    return soft
