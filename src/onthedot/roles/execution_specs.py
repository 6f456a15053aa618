"""How to execute each job version, remembered: a version never changes, so every hit is right. And
what earlier attempts of a function have left for the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from onthedot.core.firing import VersionRef
from onthedot.core.model import ExecutionSpec, LeasedRun, RunRef, calls_function
from onthedot.roles.held_runs import ReadyRun, ref
from onthedot.store.contract import Store

REMEMBERED_MAX = 200_000
ALIKE_MAX = 10_000
"""Many jobs are executed alike: such ways are kept once."""


class ExecutionSpecs:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[int, int], ExecutionSpec | None] = {}
        self._alike: dict[ExecutionSpec, ExecutionSpec] = {}
        self._checkpoints: dict[RunRef, str | None] = {}

    def forget(self) -> None:
        """The store may know other jobs under the same numbers."""
        self._known.clear()
        self._checkpoints.clear()

    async def load(self, runs: Sequence[LeasedRun]) -> None:
        """Fetch what is not remembered, in one call; the oldest make room."""
        refs = dict.fromkeys(VersionRef(run.job, run.version) for run in runs)
        missing = [ref for ref in refs if ref not in self._known]
        found = await self._store.jobs.execution_specs(missing) if missing else {}
        self._known |= {ref: self._shared(found.get(ref)) for ref in missing}
        again = [run for run in runs if run.fence > 1 and _may_have_left_something(run)]
        if again:
            left = await self._store.notes.checkpoints([(run.job, run.run) for run in again])
            self._checkpoints |= {ref(run): left.get((run.job, run.run)) for run in again}

    def _shared(self, execution: ExecutionSpec | None) -> ExecutionSpec | None:
        if execution is None:
            return None
        if len(self._alike) < ALIKE_MAX:
            return self._alike.setdefault(execution, execution)
        return self._alike.get(execution, execution)

    def match(self, runs: Iterable[LeasedRun]) -> tuple[list[ReadyRun], list[LeasedRun]]:
        """Those that can be executed, since it is known how, and the others."""
        ready: list[ReadyRun] = []
        unknown: list[LeasedRun] = []
        for run in runs:
            checkpoint = None
            try:
                execution = self._known[run.job, run.version]
                if run.fence > 1 and _may_have_left_something(run):
                    checkpoint = self._checkpoints.pop(ref(run))
            except KeyError:
                unknown.append(run)
            else:
                ready.append(ReadyRun(run.at, run, execution, checkpoint))
        self._make_room()
        return ready, unknown

    def _make_room(self) -> None:
        """After a match, so that what was just loaded has been used."""
        surplus = max(0, len(self._known) - REMEMBERED_MAX)
        for oldest in list(islice(self._known, surplus)):
            del self._known[oldest]


def _may_have_left_something(run: LeasedRun) -> bool:
    """Only functions leave checkpoints, and none before its run was first held (fence 1)."""
    return calls_function(run.lane)
