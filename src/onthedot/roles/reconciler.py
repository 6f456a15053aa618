"""Reconciles the runs that a node holds with the store: requests to cancel them, their visibility,
and whether they are still ours.
"""

from __future__ import annotations

from onthedot.clock import Clock
from onthedot.core.instants import SECOND
from onthedot.core.model import RunRef
from onthedot.core.recovery import LEASE_US, lost_claims
from onthedot.observe.events import warn
from onthedot.roles.attempt import Attempts
from onthedot.roles.held_runs import HeldRuns, ref
from onthedot.roles.membership import Membership
from onthedot.store.contract import Store

SIGNALS_S = 0.25
RECONCILE_S = LEASE_US / SECOND
DOUBT_S = 0.5
"""Until what memory does not know is looked at again. It need not be long: the second look waits
until every claim that the first one met has been answered. Waiting until none is under way would
have no end on a node that claims without pause."""


class Reconciler:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        member: Membership,
        holding: HeldRuns,
        attempts: Attempts,
    ) -> None:
        self._store = store
        self._clock = clock
        self._member = member
        self._holding = holding
        self._attempts = attempts
        self._doubted: frozenset[RunRef] = frozenset()
        self._met: frozenset[int] = frozenset()

    async def listen(self) -> float:
        """Read cancel requests while anything is held, and let people see attempts that last."""
        if self._holding.claims or self._holding.holds_any:
            signals = await self._store.runs.signals(self._member.number)
            self._attempts.cancel_requests = {(job, run): reason for job, run, reason in signals}
            for key, reason in self._attempts.cancel_requests.items():
                self._attempts.cancel_attempt(key, reason)
        unshown = self._holding.unshown(self._clock.now())
        if unshown:
            starts = {ref(each.run): each.started for each in unshown}
            await self._store.runs.started(self._member.number, starts)
            for each in unshown:
                each.shown = True
        return SIGNALS_S

    async def reconcile(self) -> float:
        """Compare what the store says we hold with memory: a claim whose answer was lost is given
        back.

        The second look is at memory alone. What it does not know has been lost or has ended, and
        then it is no longer there to be given back. On a busy node there is always something to
        doubt, and reading all that it holds twice a second is dear.
        """
        if self._met & self._holding.claims:
            return DOUBT_S  # its answer may bring what memory does not know yet
        owned = self._doubted or await self._store.runs.owned(self._member.number)
        lost, self._doubted = lost_claims(owned, self._holding.held(), self._doubted)
        self._met = self._holding.claims if self._doubted else frozenset()
        if lost:
            number, now = self._member.number, self._clock.now()
            if given_back := await self._store.runs.release(number, lost, now=now):
                warn("run.claim_lost", node=number, count=given_back)
        return DOUBT_S if self._doubted else RECONCILE_S
