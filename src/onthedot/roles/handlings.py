"""How to execute each job version, remembered: a version never changes, so every hit is right. And
what earlier attempts of a function have left for the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from onthedot.core.firing import VersionRef
from onthedot.core.model import LANE_MARK, Handling, LeasedRun, RunRef
from onthedot.roles.holding import Ready, ref
from onthedot.store.contract import Store

REMEMBERED_MAX = 200_000
ALIKE_MAX = 10_000
"""Many jobs are executed alike: such ways are kept once."""


class Handlings:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[int, int], Handling | None] = {}
        self._alike: dict[Handling, Handling] = {}
        self._checkpoints: dict[RunRef, str | None] = {}

    async def load(self, runs: Sequence[LeasedRun]) -> None:
        """Fetch what is not remembered, in one call; the oldest make room."""
        refs = dict.fromkeys(VersionRef(run.job, run.version) for run in runs)
        missing = [ref for ref in refs if ref not in self._known]
        found = await self._store.jobs.handlings(missing) if missing else {}
        self._known |= {ref: self._shared(found.get(ref)) for ref in missing}
        again = [run for run in runs if run.fence > 1 and _may_have_left_something(run)]
        if again:
            left = await self._store.notes.checkpoints([(run.job, run.run) for run in again])
            self._checkpoints |= {ref(run): left.get((run.job, run.run)) for run in again}

    def _shared(self, handling: Handling | None) -> Handling | None:
        if handling is None:
            return None
        if len(self._alike) < ALIKE_MAX:
            return self._alike.setdefault(handling, handling)
        return self._alike.get(handling, handling)

    def match(self, runs: Iterable[LeasedRun]) -> tuple[list[Ready], list[LeasedRun]]:
        """Those that can be executed, since it is known how, and the others."""
        ready: list[Ready] = []
        unknown: list[LeasedRun] = []
        for run in runs:
            checkpoint = None
            try:
                handling = self._known[run.job, run.version]
                if run.fence > 1 and _may_have_left_something(run):
                    checkpoint = self._checkpoints.pop(ref(run))
            except KeyError:
                unknown.append(run)
            else:
                ready.append(Ready(run.at, run, handling, checkpoint))
        self._make_room()
        return ready, unknown

    def _make_room(self) -> None:
        """After a match, so that what was just loaded has been used."""
        surplus = max(0, len(self._known) - REMEMBERED_MAX)
        for oldest in list(islice(self._known, surplus)):
            del self._known[oldest]


def _may_have_left_something(run: LeasedRun) -> bool:
    """Only functions leave checkpoints, and none before its run was first held (fence 1)."""
    return LANE_MARK in run.lane
