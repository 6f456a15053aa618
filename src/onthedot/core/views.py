"""A run and a node as people see them: what the stores read, the API shows and `why` explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onthedot.core.instants import Instant
from onthedot.core.model import Lanes
from onthedot.core.recovery import Offset, judge_offset
from onthedot.core.states import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What a node says about itself when it joins. `boot_id` is random for each incarnation.

    `process` names the operating system's process beyond doubt (see roles/processes.py), so that
    a node on the same machine sees that it is gone; empty where unknown. `queues` are those from
    which it takes runs (none: all), `functions` those that it has, in so many `runners`.
    """

    boot_id: str
    host: str
    pid: int
    process: str = ""
    roles: tuple[str, ...]
    slots: int
    version: str
    queues: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    runners: int = 0


@dataclass(frozen=True, slots=True)
class Load:
    """What a node says about itself with every heartbeat: attempts under way, claimed runs that
    wait in its memory, how far the database's clock is ahead of its machine's, and whether it
    claims: a scheduler that drains, or that may not start anything, leaves its shards to others.
    """

    running: int = 0
    held: int = 0
    offset_us: int = 0
    claiming: bool = True


IDLE: Final = Load()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come, in its own words. `total` None: nobody knows."""

    done: int | float
    total: int | float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """`settled`: it is dead, and nothing is owned by it any more."""

    number: int
    facts: NodeFacts
    joined_at: Instant
    beat_at: Instant
    dead: bool
    settled: bool = False
    load: Load = IDLE

    def takes(self, lane: str) -> bool:
        lanes = Lanes(self.facts.queues, frozenset(self.facts.functions))
        return "worker" in self.facts.roles and lanes.take(lane)

    @property
    def refused(self) -> bool:
        """Its machine's clock is too far off for it to start anything."""
        return judge_offset(self.load.offset_us) is Offset.REFUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    attempt: int
    status: Status
    started_at: Instant | None
    finished_at: Instant | None
    node: int | None
    error: str | None
    output: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as people see it: its latest attempt, with the node that has it or had it. A missed or
    skipped range has `until` and `count`; `redrive_of` is the failed run that it does again.
    `progress` is that of its latest attempt.
    """

    job: int
    run: int
    version: int
    status: Status
    due: Instant
    at: Instant
    attempt: int
    rescues: int
    started_at: Instant | None = None
    finished_at: Instant | None = None
    node: int | None = None
    error: str | None = None
    output: str | None = None
    reason: str | None = None
    until: Instant | None = None
    count: int | None = None
    redrive_of: int | None = None
    progress: Progress | None = None
    backfill_of: Instant | None = None
