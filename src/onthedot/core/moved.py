"""Where an occurrence comes from and when it may start, where that is not the instant it is due.

Nothing of it is stored: the version that fired it says it, asked again at any time.
"""

from __future__ import annotations

from typing import NamedTuple

from onthedot.core.instants import Instant
from onthedot.core.model import Definition, allowed_of


class Moved(NamedTuple):
    """`nominal`: what the schedule names, if a calendar moved that; `not_before`: until when spread
    and jitter hold the start back, if they do.
    """

    nominal: Instant | None = None
    not_before: Instant | None = None


NOT_MOVED = Moved()


def moved(definition: Definition, job: int, due: Instant, *, anchor: Instant) -> Moved:
    """What was done to the occurrence that is due at an instant, under the version it is of."""
    allowed, offset = allowed_of(definition), definition.shift.of(job, due)
    named = [] if allowed is None else allowed.gathered(due, anchor=anchor)
    nominal = named[0] if named and named[0] != due else None
    return Moved(nominal, due + offset if offset else None)
