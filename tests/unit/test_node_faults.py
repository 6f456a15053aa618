"""Which errors are the node's own, and how long they are put up with."""

from __future__ import annotations

import errno
import socket
from itertools import pairwise

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.node_faults import (
    HELD_US_MAX,
    WAIT_US_MAX,
    WAIT_US_MIN,
    NodeFault,
    ResolverDown,
    fault_of,
    try_again_at,
)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (OSError(errno.EMFILE, "Too many open files"), NodeFault.OPEN_FILES),
        (OSError(errno.ENFILE, "Too many open files in system"), NodeFault.OPEN_FILES),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), NodeFault.MEMORY),
        (OSError(errno.ENOBUFS, "No buffer space available"), NodeFault.MEMORY),
        (MemoryError(), NodeFault.MEMORY),
        (OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"), NodeFault.ADDRESSES),
        (RuntimeError("can't start new thread"), NodeFault.THREADS),
        (ResolverDown(socket.EAI_AGAIN, "no name can be resolved"), NodeFault.RESOLVER),
    ],
)
def test_what_the_node_lacks_is_a_fault_of_its_own(error, fault):
    assert fault_of(error) is fault


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
        OSError(errno.EHOSTUNREACH, "No route to host"),
        OSError(errno.ETIMEDOUT, "Connection timed out"),
        OSError("Multiple exceptions: of several kinds"),
        socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
        RuntimeError("something else"),
        ValueError("no URL"),
    ],
)
def test_what_the_receiver_does_is_no_fault_of_the_node(error):
    assert fault_of(error) is None


def test_the_waits_grow_up_to_a_bound_and_end_with_a_failed_attempt():
    now = 0
    waits: list[int] = []
    while (at := try_again_at(len(waits) + 1, since=0, now=now, jitter=0.999)) is not None:
        waits.append(at - now)
        now = at

    assert waits[0] <= WAIT_US_MIN
    assert all(later >= earlier for earlier, later in pairwise(waits))
    assert max(waits) <= WAIT_US_MAX
    assert HELD_US_MAX <= now <= HELD_US_MAX + WAIT_US_MAX
    assert len(waits) < 60


def test_a_wait_is_never_less_than_half_of_what_is_meant():
    assert try_again_at(1, since=0, now=SECOND, jitter=0.0) == SECOND + WAIT_US_MIN // 2
