"""Which process a node is, so that others on the same machine can see that it is gone.

A process id is used again and a host name may be shared by containers; the kernel's boot id, the
process-id namespace and the start time of the process together are not.
"""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def this_process() -> str:
    """A name for this process that no other has; empty where the system does not tell."""
    home = _home()
    started = _started(os.getpid()) if home else ""
    return f"{home}:{os.getpid()}:{started}" if home and started else ""


def is_gone(process: str) -> bool:
    """Whether a process of this machine has ended. Of another machine we cannot know: no."""
    home, _, rest = process.rpartition(":")[0].rpartition(":")
    started = process.rpartition(":")[2]
    if not home or home != _home() or not rest.isdigit():
        return False
    try:
        return _started(int(rest)) != started
    except OSError:
        return False  # it may well be there, only we may not look


def _home() -> str:
    """The machine since its last start, and the namespace in which its process ids count."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When the process started, in ticks since the boot; empty if there is none."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    # The name in brackets may hold anything, so count from its end; a zombie has ended, too.
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]
