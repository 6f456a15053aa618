"""How to execute each job version, remembered: a version never changes, so every hit is right."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from onthedot.core.firing import VersionRef
from onthedot.core.model import Handling
from onthedot.store.contract import Store

REMEMBERED_MAX = 50_000
"""More than a node may hold runs, so that what is held is never forgotten for what comes."""


class Handlings:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[VersionRef, Handling | None] = {}

    async def load(self, refs: Iterable[VersionRef]) -> None:
        """Fetch those that are not remembered, in one call; the longest unused make room."""
        wanted = dict.fromkeys(refs)
        missing = [ref for ref in wanted if ref not in self._known]
        found = await self._store.jobs.handlings(missing) if missing else {}
        for ref in wanted:
            self._known[ref] = self._known.pop(ref) if ref in self._known else found.get(ref)
        surplus = max(0, len(self._known) - REMEMBERED_MAX)
        for oldest in list(islice(self._known, surplus)):
            del self._known[oldest]

    def is_loaded(self, ref: VersionRef) -> bool:
        return ref in self._known

    def get(self, ref: VersionRef) -> Handling | None:
        """How to execute it; None if the store does not know, since even the version was
        forgotten.
        """
        return self._known[ref]
