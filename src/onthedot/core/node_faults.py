"""Faults of the node itself: a call could not be made, and neither job nor handler is to blame.

Such a fault uses up no attempt. The run stays with its node and is tried again after a while; the
fault must not last for ever, though: in the end it counts like any other failure.
"""

from __future__ import annotations

import errno
from enum import StrEnum
from typing import Final

from onthedot.core.instants import MILLISECOND, MINUTE, SECOND, Instant


class NodeFault(StrEnum):
    OPEN_FILES = "open_files"
    MEMORY = "memory"
    THREADS = "threads"
    ADDRESSES = "addresses"
    RESOLVER = "resolver"


WAIT_US_MIN: Final = 100 * MILLISECOND
WAIT_US_MAX: Final = 5 * SECOND
HELD_US_MAX: Final = 2 * MINUTE
"""Since the first fault of an attempt. From then on it fails."""

TRIES_FOR_OTHERS: Final = 3
"""After each so many faults of one attempt, other nodes may try it."""

_BY_NUMBER: Final = {
    errno.EMFILE: NodeFault.OPEN_FILES,
    errno.ENFILE: NodeFault.OPEN_FILES,
    errno.ENOMEM: NodeFault.MEMORY,
    errno.ENOBUFS: NodeFault.MEMORY,
    errno.EADDRNOTAVAIL: NodeFault.ADDRESSES,
}


class ResolverDown(OSError):
    """No name can be resolved, whichever it is."""


def fault_of(error: BaseException) -> NodeFault | None:
    """Whether an error is one of the node itself; None: it is the receiver's, the job's or ours."""
    if isinstance(error, ResolverDown):
        return NodeFault.RESOLVER
    if isinstance(error, MemoryError):
        return NodeFault.MEMORY
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return NodeFault.THREADS
    # The numbers of a failed resolution are others: they are negative, or mean something else.
    if isinstance(error, OSError) and type(error).__name__ != "gaierror":
        return _BY_NUMBER.get(error.errno or 0)
    return None


def try_again_at(faults: int, *, since: Instant, now: Instant, jitter: float) -> Instant | None:
    """When to try again after so many faults, the first at `since`; None: it has lasted too long,
    and the attempt fails.
    """
    assert faults >= 1 and 0 <= jitter < 1, (faults, jitter)
    if now - since >= HELD_US_MAX:
        return None
    wait = min(WAIT_US_MAX, WAIT_US_MIN << min(faults - 1, 10))
    return now + round(wait / 2 + wait / 2 * jitter)
