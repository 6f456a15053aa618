"""What a process has seen of its database, and whether the database still knows it.

A failover to a replica that lagged behind, or a copy of the data put back under running nodes,
takes the database back in time. Numbers are then given out a second time, and whatever was
remembered under them means something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NamedTuple

from onthedot.core.instants import MINUTE, Instant

EPOCH_ZERO: Final[Instant] = 1_767_225_600_000_000
"""2026-01-01: from here the minutes are counted from which epochs are taken."""


class Pulse(NamedTuple):
    """A node's row: when it joined, which tells two nodes of one number apart, and its last
    heartbeat, each later than the one before.
    """

    joined_at: Instant
    beat_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """`server`: when the database server started. `timeline`, `position`: where it was in its log;
    a failover begins a new timeline. `numbers`: the last one given out, by table. `pruned_before`:
    nodes that died before it may have been forgotten.
    """

    server: int
    timeline: int
    position: int
    epoch: int
    pruned_before: Instant = 0
    numbers: Mapping[str, int] = field(default_factory=dict)
    pulses: Mapping[int, Pulse] = field(default_factory=dict)

    def since(self, before: Sighting) -> Sighting:
        """The same, with the highest numbers of both."""
        numbers = {
            table: max(number, before.numbers.get(table, 0))
            for table, number in self.numbers.items()
        }
        return replace(self, numbers=numbers)


class Gap(NamedTuple):
    """A database that went back lacks what was written after `since` and up to `until`: it may
    have happened all the same, and may happen again.
    """

    epoch: int
    noticed_at: Instant
    since: Instant
    until: Instant
    reason: str


RESTORED: Final = "a backup was restored"


class DatabaseChange(Enum):
    SAME = "same"
    MOVED = "moved"
    """Another server process, or another epoch: what is remembered may not hold any more."""
    FAILED_OVER = "failed over"
    """Another timeline: what was committed last may be lost, although nothing shows it."""


def went_back(seen: Sighting, now: Sighting) -> str | None:
    """What shows that the database is older than it was; None if nothing does."""
    if now.epoch < seen.epoch:
        return f"its epoch is {now.epoch} and was {seen.epoch}"
    for number, pulse in seen.pulses.items():
        found = now.pulses.get(number)
        if found is None and pulse.beat_at >= now.pruned_before:
            return f"it does not know node {number}"
        if found is not None and found.joined_at != pulse.joined_at:
            return f"node {number} is another one"
        if found is not None and found.beat_at < pulse.beat_at:
            behind_s = (pulse.beat_at - found.beat_at) / 1_000_000
            return f"a heartbeat of node {number} is {behind_s:.1f} s older than it was"
    for table, number in seen.numbers.items():
        if now.numbers.get(table, 0) < number:
            return f"the last number in {table} is {now.numbers.get(table, 0)} and was {number}"
    if now.timeline == seen.timeline and now.position < seen.position:
        return f"its log ends {seen.position - now.position} bytes earlier than it did"
    return None


def last_in_common(seen: Sighting, now: Sighting) -> Instant | None:
    """The newest heartbeat of the nodes that both know; None if there is none."""
    known = [
        now.pulses[number].beat_at
        for number, pulse in seen.pulses.items()
        if number in now.pulses and now.pulses[number].joined_at == pulse.joined_at
    ]
    return max(known, default=None)


def compare(seen: Sighting, now: Sighting) -> DatabaseChange:
    """For a database that did not go back."""
    if now.timeline != seen.timeline:
        return DatabaseChange.FAILED_OVER
    moved = now.server != seen.server or now.epoch != seen.epoch
    return DatabaseChange.MOVED if moved else DatabaseChange.SAME


def epoch_at(now: Instant) -> int:
    """The epoch that begins now, unless a later one has begun. From the time, since a counter in
    the database would be taken back together with it.
    """
    return max(0, (now - EPOCH_ZERO) // MINUTE)
