"""A schedule with a first and a last instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onthedot.core.instants import Instant

if TYPE_CHECKING:
    from onthedot.core.schedules.allowed import Allowed
    from onthedot.core.schedules.span import Schedule


@dataclass(frozen=True, slots=True)
class Within:
    """Of `base`, only what is due from `start` to `end`, both included; None: no such bound."""

    base: Schedule | Allowed
    start: Instant | None = None
    end: Instant | None = None

    def after(self, instant: Instant, *, anchor: Instant = 0) -> Instant | None:
        if self.start is not None and instant < self.start:
            instant = self.start - 1
        due = self.base.after(instant, anchor=anchor)
        return None if due is None or (self.end is not None and due > self.end) else due
