"""Dead letters: reading them and letting them go. How they are run again differs by store."""

from __future__ import annotations

from contextlib import suppress

from onthedot.core.states import Status
from onthedot.errors import NotFound, OnthedotError
from onthedot.ids import run_id
from onthedot.store.contract import LedgerVerbs
from onthedot.store.refusals import no_dead_letter
from onthedot.store.rows import dead_letter_of
from onthedot.store.shared.steps import Session, rows
from onthedot.store.values import DeadLetter, DeadLetterCursor

_LAST = DeadLetterCursor((1 << 63) - 1, 0, 0)
_NEWEST = (1 << 63) - 1


class SharedDeadLetters:
    def __init__(self, session: Session, ledger: LedgerVerbs) -> None:
        self._session = session
        self._ledger = ledger

    async def page(self, *, before: DeadLetterCursor | None, limit: int) -> list[DeadLetter]:
        place = (before or _LAST)._asdict()
        found = await self._session.rows("dead_letters.page", **place, limit=limit)
        return [dead_letter_of(each) for each in found]

    async def of_job(self, job: int, *, before: int | None, limit: int) -> list[DeadLetter]:
        below = _NEWEST if before is None else before
        found = await self._session.rows("dead_letters.of_job", job=job, before=below, limit=limit)
        return [dead_letter_of(each) for each in found]

    async def get(self, job: int, run: int) -> DeadLetter:
        found = await self._session.rows("dead_letters.get", job=job, run=run)
        if not found:
            raise await self._refusal(job, run)
        return dead_letter_of(found[0])

    async def dismiss(self, job: int, run: int) -> None:
        gone = await self._session.write(lambda: rows("dead_letters.take", job=job, run=run))
        if not gone:
            raise await self._refusal(job, run)

    async def dismiss_all(self, job: int, *, limit: int) -> int:
        bounds = {"job": job, "limit": limit}
        return len(await self._session.write(lambda: rows("dead_letters.dismiss_all", **bounds)))

    async def _refusal(self, job: int, run: int) -> OnthedotError:
        """Why there is no dead letter of this run. Asked for when it was not found: one that is
        redriven at that moment has its successor by now.
        """
        successor = await self._session.rows("dead_letters.successor", job=job, run=run)
        if successor:
            [(installation,)] = await self._session.rows("upkeep.installation")
            return no_dead_letter(None, run_id(installation, job, successor[0][0]))
        status: Status | None = None
        with suppress(NotFound):
            # Whether it has ended does not depend on the instant.
            status = (await self._ledger.run(job, run, now=0)).status
        return no_dead_letter(status, None)
