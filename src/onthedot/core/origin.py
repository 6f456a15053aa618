"""Where an occurrence comes from and when it may start, where that is not the instant it is due.

Nothing of it is stored: the version that fired it says it, asked again at any time.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from onthedot.core.instants import Instant
from onthedot.core.model import Definition, allowed_of
from onthedot.errors import TooCostly


class Origin(NamedTuple):
    """`nominal`: what the schedule names, if a calendar moved that; `not_before`: until when spread
    and jitter hold the start back, if they do.
    """

    nominal: Instant | None = None
    not_before: Instant | None = None


NOT_MOVED = Origin()


def moved(definition: Definition, job: int, due: Instant, *, anchor: Instant) -> Origin:
    """What was done to the occurrence that is due at an instant, under the version it is of."""
    allowed, offset = allowed_of(definition), definition.shift.of(job, due)
    named: list[Instant] = []
    if allowed is not None:
        with suppress(TooCostly):
            named = allowed.gathered(due, anchor=anchor)
    nominal = named[0] if named and named[0] != due else None
    return Origin(nominal, due + offset if offset else None)
