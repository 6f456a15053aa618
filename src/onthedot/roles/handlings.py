"""How to execute each job version, remembered: a version never changes, so every hit is right."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from onthedot.core.firing import VersionRef
from onthedot.core.model import Handling, LeasedRun
from onthedot.roles.holding import Ready
from onthedot.store.contract import Store

REMEMBERED_MAX = 50_000


class Handlings:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[int, int], Handling | None] = {}

    async def load(self, runs: Iterable[LeasedRun]) -> None:
        """Fetch what is not remembered, in one call; the oldest make room."""
        refs = dict.fromkeys(VersionRef(run.job, run.version) for run in runs)
        missing = [ref for ref in refs if ref not in self._known]
        found = await self._store.jobs.handlings(missing) if missing else {}
        self._known |= {ref: found.get(ref) for ref in missing}

    def match(self, runs: Iterable[LeasedRun]) -> tuple[list[Ready], list[LeasedRun]]:
        """Those that can be executed, since it is known how, and the others."""
        ready: list[Ready] = []
        unknown: list[LeasedRun] = []
        for run in runs:
            try:
                handling = self._known[run.job, run.version]
            except KeyError:
                unknown.append(run)
            else:
                ready.append(Ready(run.at, run, handling))
        self._make_room()
        return ready, unknown

    def _make_room(self) -> None:
        """After a match, so that what was just loaded has been used."""
        surplus = max(0, len(self._known) - REMEMBERED_MAX)
        for oldest in list(islice(self._known, surplus)):
            del self._known[oldest]
