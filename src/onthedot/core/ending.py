"""The end of a run: what is kept of it, and whether anything follows."""

from __future__ import annotations

from typing import NamedTuple

from onthedot.core.instants import Instant
from onthedot.core.notifying import FAILURES
from onthedot.core.states import Status
from onthedot.core.traits import is_chained


class EndedRun(NamedTuple):
    """A run that has left the live and the waiting ones for good. `attempt` 0: it was missed."""

    job: int
    run: int
    attempt: int
    fence: int
    version: int
    status: Status
    due: Instant
    started: Instant | None
    finished: Instant
    node: int | None
    rescues: int
    error: str | None
    output: str | None
    reason: str | None
    payload: str | None
    traits: int

    @property
    def is_failure(self) -> bool:
        """Whether it leaves a dead letter, and a notice if its job asks for one."""
        return self.status in FAILURES

    @property
    def is_followed(self) -> bool:
        """Whether its end may have consequences, beyond what is kept of it."""
        return self.is_failure or is_chained(self.traits)
