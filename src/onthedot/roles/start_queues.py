"""Held runs in the order in which they are started: those that are on time, and the others, which
were queued, are tried again or catch up. Half of the free slots are for each while both wait.

In one line, by instant, ten thousand retries of one job would all come before what is due now.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Generic, TypeVar

from onthedot.core.instants import Instant

T = TypeVar("T", bound=tuple[Any, ...])
_AT = itemgetter(0)


class StartQueue(Generic[T]):
    """Sorted by instant, the first field of each. What `is_there` no longer knows has left, and is
    passed over by whoever reads.
    """

    def __init__(self, is_there: Callable[[T], bool]) -> None:
        self._is_there = is_there
        self._sorted: list[T] = []

    def add(self, new: list[T]) -> None:
        if not new:
            return
        # Most of what a busy node holds comes before all of them and stays where it is.
        place = bisect_right(self._sorted, min(map(_AT, new)), key=_AT)
        behind = [*self._sorted[place:], *new]
        behind.sort(key=_AT)
        self._sorted[place:] = behind

    def due(self, now: Instant) -> int:
        return bisect_right(self._sorted, now, key=_AT)

    def next_at(self) -> Instant | None:
        gone = next((n for n, each in enumerate(self._sorted) if self._is_there(each)), None)
        del self._sorted[:gone]
        return self._sorted[0][0] if self._sorted else None

    def take(self, count: int) -> list[T]:
        taken = [each for each in self._sorted[:count] if self._is_there(each)]
        del self._sorted[:count]
        return taken


class StartQueues(Generic[T]):
    def __init__(self, is_there: Callable[[T], bool]) -> None:
        self.on_time: StartQueue[T] = StartQueue(is_there)
        self.others: StartQueue[T] = StartQueue(is_there)
        self._odd = 0

    def due(self, now: Instant) -> int:
        return self.on_time.due(now) + self.others.due(now)

    def next_at(self) -> Instant | None:
        ats = (line.next_at() for line in (self.on_time, self.others))
        return min((at for at in ats if at is not None), default=None)

    def take(self, now: Instant, limit: int) -> list[T]:
        """What is due, at most so many; the oldest of each line first."""
        on_time, others = self.on_time.due(now), self.others.due(now)
        if on_time + others > limit and on_time and others:
            half = (limit + self._odd) // 2
            self._odd ^= limit & 1  # of a single slot each line has every second one
            on_time = min(on_time, max(half, limit - others))
        on_time = min(on_time, limit)
        return self.on_time.take(on_time) + self.others.take(min(others, limit - on_time))
