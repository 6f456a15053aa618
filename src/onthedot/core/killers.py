"""Which functions must not share a process: those that crash theirs, and those that do not end.

The one definition: the worker decides by it, and the simulation's checker holds the worker to it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

ASKED_S = 5.0
"""A call that has not ended so long after it was asked to has to be killed."""

KILLS_MAX = 2
"""A function that had to be killed so often, without enough good calls in between, runs alone."""

TRUSTED_AFTER = 10
"""Calls in a row that end by themselves until kills are forgotten. One is not enough: a function
that hangs every other time would be back among others every other time."""


ALONE_MAX = 10
"""Processes for calls of functions that had to be killed, at the same time. They share them evenly:
most such functions are merely slow, and must come to their end as well."""


@dataclass(slots=True)
class _Record:
    kills: int = 0
    ended: int = 0


class Killers:
    """What one worker knows of the functions it has called. `apart`: whose calls share a process
    with nobody; `stuck`: those of them that had to be killed.
    """

    def __init__(self) -> None:
        self.apart: set[str] = set()
        self.stuck: set[str] = set()
        self._records: dict[str, _Record] = {}

    def __bool__(self) -> bool:
        """Whether there is any function that `ended` must hear of."""
        return bool(self._records)

    def share(self) -> int:
        """How many processes each of the stuck ones may have."""
        return ALONE_MAX // max(1, len(self.stuck))

    def crashed(self, function: str) -> bool:
        """A process died while a call of it was alone in there. Whether it is newly apart."""
        self._records.setdefault(function, _Record()).ended = 0
        return self._set_apart(function)

    def killed(self, function: str) -> bool:
        """A call of it had to be killed. Whether the function is newly apart, or newly stuck."""
        record = self._records.setdefault(function, _Record())
        record.kills, record.ended = record.kills + 1, 0
        if record.kills < KILLS_MAX or function in self.stuck:
            return False
        self.stuck.add(function)
        self._set_apart(function)
        return True

    def ended(self, function: str) -> bool:
        """A call of it has ended by itself, well or not. Whether it may be among others again."""
        record = self._records.get(function)
        if record is None:
            return False
        record.ended += 1
        if record.ended < (TRUSTED_AFTER if record.kills else 1):
            return False
        del self._records[function]
        self.stuck.discard(function)
        if function not in self.apart:
            return False
        self.apart.remove(function)
        return True

    def _set_apart(self, function: str) -> bool:
        if function in self.apart:
            return False
        self.apart.add(function)
        return True


RETIRING_S = 60.0
"""So long the other calls in a runner with one that does not end may go on, if they take it."""

_MARGIN_S = 0.1
"""A runner is killed a little after its call has to be: what ends at that moment has ended."""


def killed_at(asked: Collection[float], *, others: bool, retired_at: float) -> float | None:
    """When to kill a runner that takes no new call since `retired_at`. `asked`: when those calls in
    it that have not ended were asked to; `others`: there are some that were not, and that go on.
    None: not at all, all of them end by themselves.
    """
    if not asked:
        return None
    at, last = max(asked) + ASKED_S + _MARGIN_S, retired_at + RETIRING_S
    return min(max(at, last) if others else at, last + ASKED_S)
