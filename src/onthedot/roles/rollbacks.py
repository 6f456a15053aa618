"""What a node does about a database that went back in time, beside joining again: it says so, and
brings the jobs that its app declares in again.
"""

from __future__ import annotations

from onthedot.clock import Clock
from onthedot.errors import CannotStart, StoreWentBack
from onthedot.observe.events import log, warn
from onthedot.observe.tally import Tally
from onthedot.roles.runners.factory import Functions
from onthedot.store.contract import Store
from onthedot.usecases.declaring import declare

UNHEALTHY_S = 60.0
"""So long after it was noticed /health says so: every probe sees it, and the node comes back by
itself. The counter and the event stay."""


class RollbackResponse:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        installation: str,
        tally: Tally,
        functions: Functions | None = None,
    ) -> None:
        self._tally = tally
        self._store = store
        self._clock = clock
        self._installation = installation
        self._functions = functions
        self._why = ""
        self._noticed: float | None = None
        self._open = False

    def noticed(self, error: StoreWentBack) -> None:
        warn("store.went_back", why=error.message, hint=error.hint)
        self._tally.went_back += 1
        self._why, self._noticed, self._open = error.message, self._clock.monotonic(), True

    async def mend(self) -> None:
        """After joining again."""
        if not self._open:
            return
        found = await self._store.upkeep.installation()
        if found != self._installation:
            raise CannotStart(
                f"the database was replaced by that of another installation: it is {found}, and"
                f" was {self._installation}",
                hint="Check which backup was restored. Start the server again to go on with it.",
                field="database",
            )
        if self._functions is not None:
            functions = self._functions
            await declare(self._store, functions.jobs, app=functions.app, clock=self._clock)
        self._open = False
        log("store.goes_on")

    def problems(self) -> tuple[str, ...]:
        if self._noticed is None or self._clock.monotonic() - self._noticed > UNHEALTHY_S:
            return ()
        return (f"{self._why}: what was written since then is lost, and may happen again",)
