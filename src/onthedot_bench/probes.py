"""What a bench costs the machine: processor time of the engine and of the database, memory, and how
exact a bare timer is here and now.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onthedot.store.contract import Store
from onthedot.store.values import Costs

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6
_PROC = Path("/proc")
FLOOR_STEP_S = 0.005

# In a process of its own: one in ours would measure how busy our interpreter is. It ends with its
# input, and says how late 99 of 100 bare timers were, in milliseconds.
_FLOOR = """
import os, sys, threading, time
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
late = []
while not over.is_set():
    due = time.perf_counter() + float(sys.argv[1])
    time.sleep(float(sys.argv[1]))
    late.append(time.perf_counter() - due)
late.sort()
print(late[int(len(late) * 0.99)] * 1e3 if late else 0.0)
"""


def machine() -> dict[str, str]:
    """What decides how quick the same code is: to be told with every figure."""
    options = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    build = "optimized" if "--enable-optimizations" in options else "not optimized"
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()} ({build})",
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


@dataclass(slots=True)
class Spent:
    """Between two moments. Seconds of processor time; None: that cannot be seen from here."""

    python_s: float = 0.0
    database_s: float | None = None
    costs: Costs | None = None
    rss_mb: float = 0.0
    runner_rss_mb: float | None = None
    timer_floor_p99_ms: float = 0.0


@contextmanager
def timer_floor(spent: Spent) -> Iterator[None]:
    """Meanwhile another process does nothing but wait for timers."""
    probe = subprocess.Popen(
        [sys.executable, "-S", "-c", _FLOOR, str(FLOOR_STEP_S)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield
    finally:
        said, _ = probe.communicate("")
        spent.timer_floor_p99_ms = float(said or 0)


class Meter:
    """Reads what was spent since it was made. `runners`: the processes that do our work."""

    def __init__(self, before: Costs | None, runners: list[int]) -> None:
        self._before = before
        self._runners = runners
        self._server = _postmaster(before)
        self._python_s = self._python()
        self._database_s = self._database()

    @classmethod
    async def begin(cls, store: Store, runners: list[int] | None = None) -> Meter:
        return cls(await store.upkeep.costs(), runners or [])

    def read_processor(self, spent: Spent) -> None:
        """At the end of what is measured, before anything else is done."""
        spent.python_s = self._python() - self._python_s
        now = self._database()
        if now is not None and self._database_s is not None:
            spent.database_s = now - self._database_s
        if self._server is None and spent.database_s is not None:
            spent.python_s -= spent.database_s  # SQLite's thread is one of our own
        spent.rss_mb = rss_mb(os.getpid())
        spent.runner_rss_mb = max(map(rss_mb, self._runners), default=None)

    async def read_costs(self, spent: Spent, store: Store) -> None:
        """When everything has been written."""
        after = await store.upkeep.costs()
        if after is not None and self._before is not None:
            spent.costs = after - self._before

    def _python(self) -> float:
        return time.process_time() + sum(map(family_s, self._runners))

    def _database(self) -> float | None:
        if self._server is not None:
            return family_s(self._server)
        for thread in threading.enumerate():
            if thread.name == "sqlite-write":
                return _thread_s(thread)
        return None


def rss_mb(pid: int) -> float:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE_MB
    except OSError:  # no such process, or no such system
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def family_s(pid: int) -> float:
    """Processor time of a process and of all that it has started, those that have gone included."""
    parents = {
        int(entry.name): int(fields[1])
        for entry in _PROC.iterdir()
        if entry.name.isdigit() and (fields := _stat(int(entry.name)))
    }
    family, grown = {pid}, 0
    while len(family) > grown:
        grown = len(family)
        family |= {child for child, parent in parents.items() if parent in family}
    return sum(_processor_s(each) + _reaped_s(each) for each in family)


def _postmaster(costs: Costs | None) -> int | None:
    """The parent of our connection's process, if it runs on this machine."""
    if costs is None or costs.backend is None:
        return None
    fields = _stat(costs.backend)
    return int(fields[1]) if fields else None


def _stat(pid: int, thread: int | None = None) -> list[str]:
    """The fields after the name, from the state on."""
    place = _PROC / str(pid) if thread is None else _PROC / str(pid) / "task" / str(thread)
    try:
        return (place / "stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []


def _processor_s(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) * _TICK_S if fields else 0.0


def _reaped_s(pid: int) -> float:
    """Of children that have gone."""
    fields = _stat(pid)
    return (int(fields[13]) + int(fields[14])) * _TICK_S if fields else 0.0


def _thread_s(thread: threading.Thread) -> float | None:
    fields = _stat(os.getpid(), thread.native_id)
    return (int(fields[11]) + int(fields[12])) * _TICK_S if fields else None
