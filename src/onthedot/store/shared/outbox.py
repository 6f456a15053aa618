"""Notices of failed runs: taken, delivered or put off."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.core.instants import Instant
from onthedot.core.notifying import Notice
from onthedot.store.rows import notice_of, notice_view
from onthedot.store.shared.steps import Session, Steps, rows
from onthedot.store.values import Delivery, NoticeView


class SharedOutbox:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def take(self, *, limit: int, until: Instant, now: Instant) -> list[Notice]:
        bounds = {"limit": limit, "until": until, "now": now}
        found = await self._session.write(lambda: rows("outbox.take", **bounds))
        return [notice_of(each) for each in found]

    async def settle(self, deliveries: Sequence[Delivery], *, now: Instant) -> int:
        return await self._session.write(lambda: _settle(deliveries, now))

    async def get(self, job: int, run: int) -> NoticeView | None:
        found = await self._session.rows("outbox.get", job=job, run=run)
        return notice_view(found[0]) if found else None


def _settle(deliveries: Sequence[Delivery], now: Instant) -> Steps[int]:
    settled = 0
    # In one order, so that two nodes that settle the same ones cannot wait for each other.
    for delivery in sorted(deliveries, key=lambda each: each[:2]):
        statement = "outbox.delivered" if delivery.trouble is None else "outbox.put_off"
        found = yield from rows(statement, **delivery._asdict(), now=now)
        settled += len(found)
    return settled
