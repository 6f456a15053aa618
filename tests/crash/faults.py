"""Does to processes, their lines and their database what a plan says, and keeps the books of it:
what the checker must know, and what a report counts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.crash.billing import runners_of
from tests.crash.cluster import Cluster
from tests.crash.history import SECOND
from tests.crash.planning import CLOCK, DATABASE, LINE, PROCESS, RUNNER, Fault, Kind
from tests.support.disk import Disk
from tests.support.faketime import WallClock
from tests.support.proxy import Proxy
from tests.support.rest import NoAnswer
from tests.support.server import Server

UP_S = 90.0
POLL_S = 0.1
DRAIN_S = 90.0
SLOW_S = (0.01, 0.3)
ENDS = (0.001, 0.02)
# What hung in a connection that was forgotten is noticed so much later.
NOTICED_US = 20 * SECOND
SUSPECTS_US = 20 * SECOND
# Offsets of a wall clock: a moment, seconds, an hour, a day.
OFFSETS_S = (0.7, -0.7, 4.0, -4.0, 30.0, -30.0, 3600.0, -3600.0, 86400.0, -86400.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something befell this place, from then to then."""

    kind: str
    place: str
    node: int
    begin: int
    end: int

    def touches(self, other: Trouble) -> bool:
        return self.begin <= other.end and other.begin <= self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What faults can befall: nodes, and what each has of its own."""

    cluster: Cluster
    lines: Sequence[Proxy] = ()
    clocks: Sequence[WallClock] = ()
    disk: Disk | None = None


class Faults:
    """`troubles`: what has been done; `wrong`: what went otherwise than it must."""

    def __init__(self, ground: Ground, kinds: Mapping[str, Kind]) -> None:
        self.troubles: list[Trouble] = []
        self.under_way: list[str] = []
        self.wrong: list[str] = []
        self._kinds = kinds
        self._cluster = ground.cluster
        self._lines = ground.lines
        self._clocks = ground.clocks
        self._disk = ground.disk
        self._locks: dict[tuple[str, int], threading.Lock] = {
            (place, node): threading.Lock()
            for place in (PROCESS, RUNNER, LINE, CLOCK, DATABASE)
            for node in range(len(ground.cluster.nodes))
        }
        self._deeds: Mapping[str, Callable[[Fault], None]] = {
            "kill": self._kill,
            "stop": self._stop,
            "freeze": self._stop,
            "kill runner": self._kill_runner,
            "drain": self._drain,
            "slow": self._slow,
            "reset": self._reset,
            "flaky": self._flaky,
            "refuse": self._refuse,
            "hold": self._hold,
            "lose": self._lose,
            "sever": self._lose,
            "cut backend": self._cut_backend,
            "kill backend": self._kill_backend,
            "stop database": self._stop_database,
            "kill database": self._kill_database,
            "set clock": self._set_clock,
            "fill disk": self._fill_disk,
        }

    def carry_out(self, fault: Fault) -> None:
        """From its beginning to its end: what it befell is as it was before."""
        kind = self._kinds[fault.kind]
        node = 0 if kind.place == DATABASE else fault.node
        shown = fault.kind if kind.place == DATABASE else f"{fault.kind} {node}"
        with self._locks[kind.place, node]:
            begin = _now()
            self.under_way.append(shown)
            try:
                self._deeds[fault.kind](fault)
            except Exception as error:
                self.wrong.append(f"{shown}: {error}")
                raise
            finally:
                self.under_way.remove(shown)
                self.troubles.append(
                    Trouble(kind=fault.kind, place=kind.place, node=node, begin=begin, end=_now())
                )

    def tally(self) -> Counter[str]:
        return Counter(trouble.kind for trouble in self.troubles)

    def strikes(self) -> int:
        return sum(self._kinds[trouble.kind].strikes for trouble in self.troubles)

    def breaks(self) -> Iterator[int]:
        """A node that drains while it cannot reach its database leaves its work to the others as
        if it had been killed.
        """
        elsewhere = [each for each in self.troubles if each.place != PROCESS]
        for drain in self.troubles:
            if drain.kind == "drain" and any(drain.touches(each) for each in elsewhere):
                yield drain.end

    # Processes

    def _kill(self, fault: Fault) -> None:
        victim = self._cluster.nodes[fault.node]
        self._lost()
        victim.kill9()
        time.sleep(fault.lasts_s)
        self._bring_up(victim)

    def _stop(self, fault: Fault) -> None:
        victim = self._cluster.nodes[fault.node]
        self._lost()
        victim.signal(signal.SIGSTOP)
        time.sleep(fault.lasts_s)
        self._cluster.wake(victim)

    def _kill_runner(self, fault: Fault) -> None:
        """By the kernel, or by a fault of its own: its node calls what was in it again, one by
        one, which takes a new process each.
        """
        victim = self._cluster.nodes[fault.node]
        found = runners_of(victim.process.pid) if victim.running else []
        if not found:
            return
        how = signal.SIGKILL if fault.draw < 0.5 else signal.SIGSEGV
        now = _now()
        self._cluster.cuts.append((now, now + SUSPECTS_US))
        with contextlib.suppress(ProcessLookupError):
            os.kill(found[int(fault.draw * 1_000) % len(found)], how)

    def _drain(self, fault: Fault) -> None:
        victim = self._cluster.nodes[fault.node]
        code = victim.terminate(within_s=DRAIN_S)
        if code != 0:
            self.wrong.append(f"drain of node {fault.node}: exit code {code}")
        time.sleep(fault.lasts_s)
        self._bring_up(victim)

    def _lost(self) -> None:
        """The last words of a process are read a little later, by a receiver that is busy."""
        self._cluster.cuts.append((_now(), _now() + SECOND))

    def _bring_up(self, victim: Server) -> None:
        """Until it answers. One that finds no database when it starts says so and ends; as a
        service it would be started again, and so it is here.
        """
        deadline = time.monotonic() + UP_S
        while time.monotonic() < deadline:
            if not victim.running:
                victim.launch()
            if _answers(victim):
                return
            time.sleep(POLL_S)
        raise AssertionError(f"{victim.url} is not up after {UP_S:g} s:\n{victim.log_tail()}")

    # Lines

    @contextmanager
    def _cut(self, *, noticed_us: int = SECOND) -> Iterator[None]:
        """Meanwhile, and until it has noticed that it is over, a node may be given up."""
        begin = _now()
        try:
            yield
        finally:
            self._cluster.cuts.append((begin, _now() + noticed_us))

    def _slow(self, fault: Fault) -> None:
        self._lines[fault.node].slow(_between(SLOW_S, fault.draw))
        time.sleep(fault.lasts_s)
        self._lines[fault.node].heal()

    def _flaky(self, fault: Fault) -> None:
        self._lines[fault.node].flaky(_between(ENDS, fault.draw))
        time.sleep(fault.lasts_s)
        self._lines[fault.node].heal()

    def _reset(self, fault: Fault) -> None:
        self._lines[fault.node].reset()

    def _refuse(self, fault: Fault) -> None:
        with self._cut():
            self._lines[fault.node].refuse()
            time.sleep(fault.lasts_s)
            self._lines[fault.node].heal()

    def _hold(self, fault: Fault) -> None:
        with self._cut():
            self._lines[fault.node].hold()
            time.sleep(fault.lasts_s)
            self._lines[fault.node].heal()

    def _lose(self, fault: Fault) -> None:
        with self._cut(noticed_us=NOTICED_US):
            self._lines[fault.node].lose()
            time.sleep(fault.lasts_s)
            self._lines[fault.node].heal()

    # The database

    def _a_backend(self, fault: Fault) -> int | None:
        found = self._cluster.backends()
        return found[int(fault.draw * len(found))] if found else None

    def _cut_backend(self, fault: Fault) -> None:
        backend = self._a_backend(fault)
        if backend is not None:
            self._cluster.cut_off(backend)

    def _kill_backend(self, fault: Fault) -> None:
        """PostgreSQL recovers by itself; until then it says that it does."""
        backend = self._a_backend(fault)
        if backend is not None:
            self._cluster.kill_backend(backend)
            self._cluster.wait_for_database()

    def _stop_database(self, fault: Fault) -> None:
        self._cluster.database.stop("immediate")
        time.sleep(fault.lasts_s)
        self._cluster.database.start()

    def _kill_database(self, fault: Fault) -> None:
        self._cluster.database.kill9()
        time.sleep(fault.lasts_s)
        self._cluster.database.start()

    def _fill_disk(self, fault: Fault) -> None:
        assert self._disk is not None
        self._disk.fill()
        time.sleep(fault.lasts_s)
        self._disk.free()

    # Clocks

    def _set_clock(self, fault: Fault) -> None:
        clock = self._clocks[fault.node]
        clock.set(OFFSETS_S[int(fault.draw * len(OFFSETS_S))])
        time.sleep(fault.lasts_s)
        clock.set(0)


def _answers(node: Server) -> bool:
    try:
        node.rest.get("/health/live")
    except NoAnswer:
        return False
    return True


def _between(bounds: tuple[float, float], draw: float) -> float:
    least, most = bounds
    return least + draw * (most - least)


def _now() -> int:
    return time.time_ns() // 1_000
