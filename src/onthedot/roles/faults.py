"""What this node cannot do at the moment, and which attempts wait for it."""

from __future__ import annotations

from collections import Counter

from onthedot.clock import Clock
from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import LeasedRun
from onthedot.core.node_faults import HELD_US_MAX, NodeFault, try_again_at
from onthedot.observe.events import log, warn

KEPT_MAX = 10_000
TELL_S = 10.0
"""A fault is logged at most so often, with how many there were."""

Attempt = tuple[int, int, int]


class NodeFaults:
    def __init__(self, clock: Clock, counted: Counter[str]) -> None:
        self._clock = clock
        self._counted = counted
        # How many faults each attempt has had, and since when. Those that others took are forgotten
        # in the end, the oldest first.
        self._attempts: dict[Attempt, tuple[int, Instant]] = {}
        self._last: dict[NodeFault, tuple[float, str]] = {}
        self._untold: Counter[NodeFault] = Counter()
        self._told_at = clock.monotonic() - TELL_S

    def __bool__(self) -> bool:
        return bool(self._attempts)

    def add(self, run: LeasedRun, fault: NodeFault, error: str, *, jitter: float) -> Instant | None:
        """Another fault of this attempt; when to try it again, None: not any more."""
        now = self._clock.now()
        key = run.job, run.run, run.attempt
        faults, since = self._attempts.get(key, (0, now))
        self._counted[fault] += 1
        self._untold[fault] += 1
        self._last[fault] = self._clock.monotonic(), error
        self._tell()
        at = try_again_at(faults + 1, since=since, now=now, jitter=jitter)
        if at is None:
            self._attempts.pop(key, None)
        else:
            self._attempts[key] = faults + 1, since
            if len(self._attempts) > KEPT_MAX:
                del self._attempts[next(iter(self._attempts))]
        return at

    def of(self, run: LeasedRun) -> int:
        """How many this attempt has had."""
        return self._attempts.get((run.job, run.run, run.attempt), (0, 0))[0]

    def over(self, run: LeasedRun) -> None:
        """The call was made."""
        if self._attempts.pop((run.job, run.run, run.attempt), None) and not self._attempts:
            log("node.fault_over")

    def problems(self) -> list[str]:
        """What a person on call should know."""
        horizon = self._clock.now() - HELD_US_MAX - 10 * SECOND
        for key in [key for key, (_, since) in self._attempts.items() if since < horizon]:
            del self._attempts[key]  # others have taken it
        if not self._attempts:
            return []
        _, error = max(self._last.values())
        return [f"this node cannot make calls, {len(self._attempts)} attempts wait: {error}"]

    def _tell(self) -> None:
        now = self._clock.monotonic()
        if now - self._told_at < TELL_S:
            return
        self._told_at = now
        for fault, count in self._untold.items():
            warn("node.fault", fault=fault, count=count, error=self._last[fault][1])
        self._untold.clear()
