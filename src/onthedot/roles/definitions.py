"""Job definitions by version, remembered: a version never changes, so a hit is always right."""

from __future__ import annotations

from collections.abc import Iterable

from onthedot.core.firing import VersionRef
from onthedot.core.model import Definition
from onthedot.store.contract import Store

REMEMBERED_MAX = 50_000


class Definitions:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[VersionRef, Definition] = {}

    async def load(self, refs: Iterable[VersionRef]) -> None:
        """Fetch those that are not remembered yet, in one call."""
        missing = [ref for ref in dict.fromkeys(refs) if ref not in self._known]
        if not missing:
            return
        found = await self._store.jobs.definitions(missing)
        for oldest in list(self._known)[: len(self._known) + len(found) - REMEMBERED_MAX]:
            del self._known[oldest]
        self._known.update(found)

    def get(self, ref: VersionRef) -> Definition | None:
        return self._known.get(ref)
