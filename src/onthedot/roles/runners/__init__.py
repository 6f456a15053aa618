"""What executes an attempt. The engine knows only this interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from onthedot.core.instants import Instant
from onthedot.core.outcomes import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One attempt, as the handler sees it. `run_id` is the same for every attempt of a run."""

    run_id: str
    job_id: str
    attempt: int
    scheduled_for: Instant
    url: str
    payload: str


class Runner(Protocol):
    async def run(self, call: Call) -> Result:
        """Execute the call. It is cancelled when its time is over or somebody wants it to end."""
        ...

    async def close(self) -> None: ...
