"""This node among the others: its number, its heartbeat, and what the heartbeat allows it to do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from onthedot.clock import Clock, DatabaseClock
from onthedot.core.instants import SECOND, Instant
from onthedot.core.recovery import (
    BEAT_S,
    START_LIMIT_S,
    Offset,
    judge_offset,
    may_judge,
    may_start,
    shards_of,
)
from onthedot.core.views import Load
from onthedot.errors import StoreUnavailable
from onthedot.observe.events import warn
from onthedot.store.contract import Store

T = TypeVar("T")

SILENCE_S = 2 * BEAT_S
"""Heartbeats confirmed further apart than this: the store did not answer in between."""

BEAT_ANSWER_S = 4.0
"""So long a heartbeat waits for its answer before it is sent again, on another connection. A store
that is merely slow gets more: twice what it took, and twice as long after each silence."""

HANDOVER_S = BEAT_S + 1.0
"""So long a node that leaves waits for the others: by then each should have sent a heartbeat."""

HANDOVER_POLL_S = 0.1


class Membership:
    """Made after joining; `joined_sent` is when the request to join was sent.

    `load` says how many attempts are under way and how many claimed runs wait, for the others
    to see. `on_moved` is called when what was read from the store may not hold any more.
    """

    def __init__(self, store: Store, clock: Clock, *, number: int, joined_sent: float) -> None:
        self.number = number
        self.load: Callable[[], tuple[int, int]] = lambda: (0, 0)
        self.on_moved: Callable[[], None] = lambda: None
        self.shards = shards_of(number, [number])
        self._store = store
        self._clock = clock
        self._confirmed_sent = joined_sent
        self._answering_since: float | None = joined_sent
        self._offset = Offset.FINE
        self._draining = False
        self._patience_s = BEAT_ANSWER_S

    async def step(self) -> float:
        """Send one heartbeat. It counts from when it was sent: the answer may have taken long."""
        sent = self._clock.monotonic()
        try:
            beat = await self._in_time(
                self._store.nodes.beat(self.number, now=self._clock.now(), load=self._load())
            )
        except BaseException:
            self._answering_since = None
            raise
        if beat.moved:
            # At once: from this answer on the store accepts what is done from memory again.
            self.on_moved()
        arrived = self._clock.monotonic()
        if self._answering_since is None or arrived - self._confirmed_sent > SILENCE_S:
            # It failed, or hung for longer than any beat should take: an outage like any other.
            self._answering_since = arrived
        self._confirmed_sent = sent
        await self._set_clock()
        if self._claiming():
            self.shards = shards_of(self.number, beat.schedulers)
        elif self.off_the_clock:
            self.shards = frozenset()
        # Else it leaves, and keeps what it has until the others have taken it over.
        return BEAT_S

    async def _in_time(self, call: Awaitable[T]) -> T:
        """The answer, if it comes soon enough for another try within the lease."""
        asked, patience_s = self._clock.monotonic(), self._patience_s
        self._patience_s = min(2 * patience_s, START_LIMIT_S)
        try:
            async with asyncio.timeout(patience_s):
                answer = await call
        except TimeoutError as error:
            raise StoreUnavailable(
                f"no answer to a heartbeat within {patience_s:g} s",
                hint="Check the way to the database; the server goes on by itself.",
            ) from error
        took_s = self._clock.monotonic() - asked
        self._patience_s = min(max(2 * took_s, BEAT_ANSWER_S), START_LIMIT_S)
        return answer

    async def stop_claiming(self) -> None:
        """Leave the shards to the others, from their next heartbeat on; ours is sent at once."""
        self._draining = True
        await self.step()

    async def handed_over(self) -> None:
        """Wait until every other scheduler knows that we leave: it has sent a heartbeat since. Two
        that look after one shard are harmless, and nobody for three seconds is late.
        """
        deadline = self._clock.monotonic() + HANDOVER_S
        unaware = await self._other_schedulers()
        while unaware and self._clock.monotonic() < deadline:
            await asyncio.sleep(HANDOVER_POLL_S)
            unaware &= await self._other_schedulers()

    async def _other_schedulers(self) -> set[tuple[int, Instant]]:
        """Those that live, each with its last heartbeat."""
        return {
            (node.number, node.beat_at)
            for node in await self._store.nodes.all()
            if not node.dead and node.number != self.number and "scheduler" in node.facts.roles
        }

    def problems(self) -> list[str]:
        """What keeps this node from working although all its loops go round."""
        if not self.off_the_clock or not isinstance(self._clock, DatabaseClock):
            return []
        seconds = abs(self._clock.offset_us()) / SECOND
        return [f"this machine's clock is {seconds:.1f} s off the database's: nothing is fired"]

    def _claiming(self) -> bool:
        return not self._draining and not self.off_the_clock

    def _load(self) -> Load:
        running, held = self.load()
        offset_us = self._clock.offset_us() if isinstance(self._clock, DatabaseClock) else 0
        return Load(running, held, offset_us, self._claiming())

    async def _set_clock(self) -> None:
        """Where the database has a clock of its own, learn its time again with every heartbeat."""
        if not isinstance(self._clock, DatabaseClock):
            return
        stamp = await self._in_time(self._store.nodes.time())
        assert stamp is not None, "a store with a clock of its own tells it"
        self._clock.observe(stamp)
        verdict = judge_offset(self._clock.offset_us())
        if verdict is not self._offset:
            warn("clock.offset", node=self.number, offset_ms=self._clock.offset_us() // 1_000)
        self._offset = verdict

    @property
    def off_the_clock(self) -> bool:
        """This machine's clock is too far off: others are to do the work."""
        return self._offset is Offset.REFUSED

    def may_start(self) -> bool:
        """Not without a fresh heartbeat, and not on a machine whose clock is far off."""
        return self.is_fresh() and not self.off_the_clock

    def is_fresh(self) -> bool:
        """Whether its leases hold beyond doubt."""
        return may_start(confirmed_sent=self._confirmed_sent, now=self._clock.monotonic())

    def may_judge(self) -> bool:
        """A node whose own heartbeat is old has been away itself and knows nothing about others."""
        now = self._clock.monotonic()
        return self.may_start() and may_judge(answering_since=self._answering_since, now=now)
