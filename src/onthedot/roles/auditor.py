"""The auditor: goes through the books of all jobs, round after round, and says what does not
balance.
"""

from __future__ import annotations

from collections import Counter

from onthedot.clock import Clock
from onthedot.core.instants import Instant, format_instant
from onthedot.ids import job_id
from onthedot.observe.events import log, warn
from onthedot.observe.tally import Tally
from onthedot.store.contract import Store
from onthedot.usecases.audit_walk import START, WalkPart, WalkPosition, audit_all

PART = 10_000
PART_S = 30.0
"""A hundred jobs in half a minute: next to nothing, whatever the number of jobs. A thousand take
five minutes, a million three days and a half; `onthedot audit --all` does it at once."""

ROUND_S = 600.0
"""Between the end of a round and the next one."""

NAMED_MAX = 10
"""So many jobs of a part are named in events; all are counted."""


class Auditor:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.tally = Tally()
        self._store = store
        self._clock = clock
        self._place: WalkPosition = START
        self._until: Instant = 0
        self._found: Counter[str] = Counter()

    async def step(self) -> float:
        if self._place == START:
            self._until, self._found = self._clock.now(), Counter()
        part = await audit_all(self._store, self._place, until=self._until, most=PART)
        self._tell(part)
        self._found.update(part.balance.faults)
        self.tally.audited += part.balance.due
        # A fault is shown as soon as it is found, and until a round finds it no more.
        for kind, count in self._found.items():
            self.tally.unbalanced[kind] = max(count, self.tally.unbalanced[kind])
        if part.place is not None:
            self._place = part.place
            return PART_S
        self.tally.unbalanced = Counter(self._found)
        self.tally.rounds += 1
        log("audit.round", faults=sum(self._found.values()))
        self._place = START
        return ROUND_S

    def _tell(self, part: WalkPart) -> None:
        for job, balance in list(part.faulty.items())[:NAMED_MAX]:
            first = balance.listed[0]
            warn(
                "audit.fault",
                job=job_id(job),
                fault=first.kind,
                due=format_instant(first.first),
                count=sum(balance.faults.values()),
            )
