"""`isolation="process"`: which functions want a process of their own, and with how much memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
from typing import NamedTuple

from onthedot.errors import Invalid

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")
MEMORY_MIN = 64 * 2**20
"""What Python itself and an app of some size need."""

_PR_SET_PDEATHSIG = 1


class Isolation(NamedTuple):
    """A process of its own for each run; `memory_bytes` 0: as much memory as there is."""

    memory_bytes: int = 0


def isolation_of(isolation: object, memory_limit: object) -> Isolation | None:
    """What `@app.job` was told. Raises Invalid if that is nonsense."""
    if isolation not in (None, "process"):
        raise Invalid(
            f"isolation={isolation!r} is not known",
            hint="Use isolation='process', or leave it out to share a runner process.",
            field="isolation",
        )
    if memory_limit is None:
        return None if isolation is None else Isolation()
    if isolation is None:
        raise Invalid(
            f"memory_limit={memory_limit!r} needs a process of its own",
            hint="Add isolation='process'.",
            field="memory_limit",
        )
    return Isolation(memory_bytes(memory_limit))


def memory_bytes(size: object) -> int:
    match = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if match is not None and match[2].upper() in _UNITS:
        found = int(float(match[1]) * _UNITS[match[2].upper()])
    elif isinstance(size, int) and not isinstance(size, bool):
        found = size
    else:
        raise Invalid(
            f"memory_limit={size!r} is not a size",
            hint="Write it as '512MB', '2GB', or a number of bytes.",
            field="memory_limit",
        )
    if found < MEMORY_MIN:
        raise Invalid(
            f"memory_limit={size!r} is too little: Python itself would not start",
            hint="Give it 64 MiB or more; what the app imports counts, too.",
            field="memory_limit",
        )
    return found


def in_words(memory_bytes: int) -> str:
    """'512 MB'."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if memory_bytes % size == 0:
            return f"{memory_bytes // size} {unit}"
    return f"{memory_bytes / 2**20:.0f} MiB"


def limit_memory(memory_bytes: int) -> None:
    """From now on an allocation beyond it fails, which Python tells as a MemoryError. Data, not the
    address space: libraries reserve far more of that than they ever use.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))


def leave_with_parent(parent: int) -> None:
    """Let the kernel end this process when its parent does, whatever it is doing then. Where the
    kernel cannot, the end of the pipe has to do.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it went before the kernel was told
