"""One instant."""

from __future__ import annotations

from dataclasses import dataclass

from onthedot.core.instants import Instant


@dataclass(frozen=True, slots=True)
class Once:
    """A schedule of one instant: `runAt`, or a `delay` counted from the creation."""

    at: Instant
