"""Timeouts of many attempts, nearly all of which are over long before."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

T = TypeVar("T")

SHARE = 50
"""An alarm goes off no sooner than it should, and no later than by this part of its length."""

EXACT_S = 1.0
"""Shorter ones are exact."""

Alarm = dict[T, None]
"""Everybody for whom it goes off, in order; who leaves it is not woken."""


class Timeouts(Generic[T]):
    """Those that end at about the same time share a timer of the loop: one for each would cost a
    short attempt as much as all the rest of it.
    """

    def __init__(self, ring: Callable[[T], None]) -> None:
        self._ring = ring
        self._set: dict[float, Alarm[T]] = {}

    def set(self, who: T, after_s: float) -> Alarm[T]:
        loop = asyncio.get_running_loop()
        at, grain = loop.time() + after_s, _grain(after_s)
        if grain:
            at = math.ceil(at / grain) * grain
        alarm = self._set.get(at)
        if alarm is None:
            alarm = self._set[at] = {}
            loop.call_at(at, self._go_off, at)
        alarm[who] = None
        return alarm

    def _go_off(self, at: float) -> None:
        alarm = self._set.pop(at)
        for who in list(alarm):
            if who in alarm:
                self._ring(who)


@lru_cache
def _grain(seconds: float) -> float:
    return 0.0 if seconds < EXACT_S else 2.0 ** math.floor(math.log2(seconds / SHARE))
