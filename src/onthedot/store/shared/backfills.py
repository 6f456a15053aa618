"""Backfills as they are shown and stopped. How runs are made of them differs by store."""

from __future__ import annotations

from onthedot.core.instants import Instant
from onthedot.store.refusals import no_such_backfill
from onthedot.store.shared.steps import Session, Steps, row, rows
from onthedot.store.values import BackfillView

FAR_ABOVE = 1 << 62


class SharedBackfills:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def known(self, job: int, *, after: Instant, until: Instant, limit: int) -> list[Instant]:
        bounds = {"job": job, "after": after, "until": until, "limit": limit}
        return [due for (due,) in await self._session.rows("backfills.known", **bounds)]

    async def stop(self, job: int, number: int, *, now: Instant) -> None:
        await self._session.write(lambda: _stop(job, number, now))

    async def of_job(self, job: int, *, before: int | None, limit: int) -> list[BackfillView]:
        below = FAR_ABOVE if before is None else before
        found = await self._session.rows("backfills.of_job", job=job, before=below, limit=limit)
        return [BackfillView.of(each) for each in found]


def _stop(job: int, number: int, now: Instant) -> Steps[None]:
    if (yield from row("backfills.lock", job=job, id=number)) is None:
        raise no_such_backfill(number)
    yield from rows("backfills.forget_unmade", id=number)
    yield from rows("backfills.end", id=number, now=now)
