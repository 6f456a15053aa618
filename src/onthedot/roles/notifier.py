"""Delivers the notices of failed runs: a worker's task, since workers call URLs anyway."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec

from onthedot.clock import Clock
from onthedot.core.instants import SECOND
from onthedot.core.notifying import Notice, next_try, signature
from onthedot.core.outcomes import ERROR_BYTES_MAX, storable
from onthedot.ids import Chance, job_id, run_id
from onthedot.observe.events import log, warn
from onthedot.observe.tally import Tally
from onthedot.roles.runners import Post
from onthedot.store.contract import Store
from onthedot.store.values import Delivery
from onthedot.wire.notices import FailureNotice, notice_out

POLL_S = 1.0
GROUP_MAX = 20
ANSWER_S = 10.0
"""So long a receiver may take."""

LEASE_US = 30 * SECOND
"""Nobody else tries a notice before this is over: thrice what a try can take."""


@dataclass(frozen=True, slots=True)
class NoticeDelivery:
    """How notices leave: `post` sends one, `secrets` sign it; none: it goes unsigned."""

    post: Post
    secrets: tuple[str, ...] = ()


class Notifier:
    def __init__(
        self, store: Store, clock: Clock, chance: Chance, postbox: NoticeDelivery, installation: str
    ) -> None:
        self.tally = Tally()
        self._store = store
        self._clock = clock
        self._chance = chance
        self._postbox = postbox
        self._installation = installation
        self._unsettled: list[Delivery] = []

    async def step(self) -> float:
        """Deliver one group. What could not be written down is written before the next one, so
        that an outage of the store does not make us send things twice.
        """
        await self._settle()
        now, asked = self._clock.now(), self._clock.monotonic()
        notices = await self._store.outbox.take(limit=GROUP_MAX, until=now + LEASE_US, now=now)
        if self._clock.monotonic() - asked > (LEASE_US / SECOND) - ANSWER_S:
            return 0.0  # we stood still meanwhile: they are somebody else's, or soon will be
        self._unsettled += await asyncio.gather(*(self._deliver(notice) for notice in notices))
        await self._settle()
        return 0.0 if len(notices) == GROUP_MAX else POLL_S

    async def _settle(self) -> None:
        if self._unsettled:
            await self._store.outbox.settle(self._unsettled, now=self._clock.now())
            self._unsettled = []

    async def _deliver(self, notice: Notice) -> Delivery:
        run = run_id(self._installation, notice.job, notice.run)
        said = notice_out(notice, run_id=run, job_id=job_id(notice.job))
        trouble = await self._post(notice.url, said)
        key = (notice.job, notice.run, notice.tries)
        if trouble is None:
            self.tally.notices["delivered"] += 1
            log("notice.delivered", run=said.run_id, tries=notice.tries)
            return Delivery(*key)
        next_at = next_try(notice, now=self._clock.now(), jitter=self._chance.jitter())
        told = {"run": said.run_id, "url": notice.url, "tries": notice.tries, "error": trouble}
        if next_at is None:
            self.tally.notices["given_up"] += 1
            warn("notice.given_up", **told)
        else:
            self.tally.notices["put_off"] += 1
            warn("notice.put_off", **told)
        return Delivery(*key, storable(trouble, ERROR_BYTES_MAX), next_at)

    async def _post(self, url: str, said: FailureNotice) -> str | None:
        """What went wrong, if anything did."""
        body = msgspec.json.encode(said)
        headers = {"Content-Type": "application/json", "Idempotency-Key": said.delivery_id}
        if self._postbox.secrets:
            mark = signature(self._postbox.secrets, body, at=self._clock.now())
            headers["Onthedot-Signature"] = mark
        try:
            async with asyncio.timeout(ANSWER_S):
                return (await self._postbox.post(url, body, headers)).error
        except TimeoutError:
            return f"timed out after {ANSWER_S:g} s"
        except Exception as error:  # noqa: BLE001  (one notice that cannot be sent must not hold up the others)
            return f"it cannot be sent: {type(error).__name__}: {error}"
