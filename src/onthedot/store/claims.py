"""What the verbs take and give that bring runs to the nodes, and their outcomes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from onthedot.core.instants import Instant
from onthedot.core.model import CALLBACKS, Cut, Entry, Lanes, LeasedRun, NewRun
from onthedot.core.traits import is_at_most_once

_COMING = attrgetter("at", "job", "run")


@dataclass(frozen=True, slots=True)
class Peeked:
    """Due entries, in the order in which they lie, and the cuts of those whose version has ended.

    `more`: a shard had more of them than its share of the limit. `waiting`: a waiting run comes up
    as well. `free`: a run is anybody's; None: this was not asked. `source` is what the store needs
    to find the entries again when they are fired; nobody else looks into it.
    """

    entries: list[Entry]
    cuts: list[Cut]
    more: bool
    waiting: bool
    free: bool | None = None
    source: object = None


class Lessee(NamedTuple):
    """Who gets how many runs, and of which lanes."""

    node: int
    own: int
    lanes: Lanes = CALLBACKS

    def takes(self, lane: str, traits: int) -> bool:
        """Whether it may have such runs ahead of their instant."""
        return self.lanes.take(lane) and not is_at_most_once(traits)

    def share(self, runs: Sequence[NewRun]) -> tuple[list[NewRun], list[NewRun]]:
        """The node's own runs, the first to come, and the rest."""
        kinds = {(run.lane, run.traits) for run in runs}
        wanted = {kind for kind in kinds if self.takes(*kind)}
        if self.own >= len(runs) and wanted == kinds:
            return list(runs), []
        mine: list[NewRun] = []
        rest: list[NewRun] = []
        for run in sorted(runs, key=_COMING):
            takes = len(mine) < self.own and (run.lane, run.traits) in wanted
            (mine if takes else rest).append(run)
        return mine, rest


@dataclass(frozen=True, slots=True)
class Promoted:
    """`leased` runs are the node's own now; `moved` counts all that left the waiting table.
    `unowned`: when those of them that nobody owns come up."""

    leased: list[LeasedRun]
    moved: int
    unowned: tuple[Instant, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of outcomes. `repeated` ones were already in history under the same attempt and
    fence; `stale` ones came from an owner that no longer holds the run and changed nothing.
    `retry_at` is the earliest instant of a retry, or of the next link of a chain, after them."""

    accepted: int = 0
    repeated: int = 0
    stale: int = 0
    retry_at: Instant | None = None

    def __add__(self, other: Finished) -> Finished:
        retries = [at for at in (self.retry_at, other.retry_at) if at is not None]
        return Finished(
            self.accepted + other.accepted,
            self.repeated + other.repeated,
            self.stale + other.stale,
            min(retries, default=None),
        )
