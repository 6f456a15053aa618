"""The scheduler: takes due occurrences from the clock, advances it, and makes runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from onthedot.clock import Clock
from onthedot.core.firing import (
    AHEAD,
    GRAIN,
    Plan,
    claim_end,
    planning,
    set_aside,
    silent_until,
)
from onthedot.core.instants import MILLISECOND, SECOND, Instant, format_instant
from onthedot.core.model import CALLBACKS, Entry, Lanes, LeasedRun, Rule
from onthedot.errors import StoreError, Taken
from onthedot.observe.events import log, warn
from onthedot.observe.tally import Tally
from onthedot.roles.loop import Loop
from onthedot.roles.membership import Membership
from onthedot.slices import others_first
from onthedot.store.claims import Lessee, Peeked
from onthedot.store.contract import Store

SCAN_S = 0.5
"""How often the clock is read from its oldest entry on. With claims one second ahead, everything is
in memory half a second before its instant, whether hints arrive or not."""

PEEK_MAX = 1_000
"""Of one claim. Larger ones are a little cheaper, and what is due meanwhile waits for them."""
GROUPS_MAX = 2
GROUP_ENTRIES = 1_000
"""For each so many entries of the last claim the shards are taken in one more group."""
ROUNDS_MAX = 8
"""Of a group in one step: then the time is read again."""
EARLY_US = 2 * MILLISECOND
"""A timer that comes early by a hair would read everything twice."""

PROMOTE_MAX = 1_000
RULES_MAX = 200_000


class RunSink(Protocol):
    """Where claimed runs go: the worker of the same node, if it has one."""

    @property
    def lanes(self) -> Lanes: ...
    def claiming(self, most: int) -> AbstractContextManager[int]: ...
    def accept(self, runs: Sequence[LeasedRun]) -> None: ...
    def queue_seen(self, *, free: bool) -> None: ...


class NoRunSink:
    """A node without a worker leaves every run unowned, for others."""

    lanes = CALLBACKS

    def claiming(self, most: int) -> AbstractContextManager[int]:
        return nullcontext(0)

    def accept(self, runs: Sequence[LeasedRun]) -> None:
        assert not runs

    def queue_seen(self, *, free: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class _Peek:
    """What a claim is made from, and when."""

    peeked: Peeked
    rules: Mapping[int, Rule]
    now: Instant
    until: Instant


class Scheduler:
    """`on_unowned` is told when runs come up that are anybody's."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        member: Membership,
        hands: RunSink,
        on_unowned: Callable[[Iterable[Instant]], None],
    ) -> None:
        self.loop = Loop("scheduler", self.step, clock)
        self.tally = Tally()
        self._on_unowned = on_unowned
        self._store = store
        self._clock = clock
        self._member = member
        self._hands = hands
        self._rules: dict[int, Rule] = {}
        self._taken = 0
        self._idle = False
        self.horizon: Instant = 0
        """Up to where anybody ever claimed, as far as this node knows."""
        self._silent_until: Instant | None = None
        self.claimed_until: Instant = 0
        """Nothing that this node looks after was left unclaimed up to here."""

    async def step(self) -> float:
        if not self._member.may_start():
            return SCAN_S
        now = self._clock.now()
        until = claim_end(now)
        self._notice_set_back(now)
        try:
            more = await self._claim_all(now, until)
        except Taken:
            return 0.0  # somebody was quicker, or a job was edited: read again
        if more:
            return 0.0
        self.claimed_until = until
        self.horizon = max(until, self.horizon)
        return self._until_next_claim(until)

    def forget(self) -> None:
        """The store may know other rules under the same numbers. A claim under way keeps those that
        it was planned by, and is refused.
        """
        self._rules = {}

    def _until_next_claim(self, claimed: Instant) -> float:
        """How long until there is more to claim; a clock that was set back must not stop us."""
        next_at = claimed + GRAIN - AHEAD + EARLY_US
        return min(SCAN_S, max(0.0, (next_at - self._clock.now()) / SECOND))

    def _notice_set_back(self, now: Instant) -> None:
        """Say it if the clock was set back: until it has caught up nothing is due, since all that
        is has been claimed already.
        """
        silent = silent_until(self.horizon, now)
        if silent is not None and self._silent_until is None:
            seconds = (silent - now) / SECOND
            warn("clock.went_back", seconds=f"{seconds:.1f}", until=format_instant(silent))
        elif silent is None and self._silent_until is not None:
            log("clock.caught_up")
        self._silent_until = silent

    @property
    def silent_until(self) -> Instant | None:
        """Until when nothing is fired, because the clock was set back."""
        return silent_until(self.horizon, self._clock.now())

    def problems(self) -> list[str]:
        """What keeps anything from being fired although all is well."""
        silent = self.silent_until
        if silent is None:
            return []
        seconds = (silent - self._clock.now()) / SECOND
        claimed = f"all that is due until {format_instant(silent)} was claimed already"
        return [f"the clock was set back: {claimed}, nothing more is fired for {seconds:.0f} s"]

    def expect(self, at: Instant) -> None:
        """A hint: a waiting run comes up at this instant."""
        if at <= claim_end(self._clock.now()):
            self.loop.nudge()

    async def _claim_all(self, now: Instant, until: Instant) -> bool:
        """Take the groups side by side: while the store is at one, we are at another. Each comes to
        its end, whatever becomes of the others. Whether there is more.
        """
        groups, self._idle, self._taken = self._groups(), self._taken == 0, 0
        claims = [self._take(shards, now, until) for shards in groups]
        answers = await asyncio.gather(*claims, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return any(answers)

    def _groups(self) -> list[frozenset[int]]:
        """All shards in one; in several groups when there is much to do: none waits for another.

        Entries of one shard that go back together share rows: the more of them, the cheaper.
        """
        shards = sorted(self._member.shards)
        parts = min(GROUPS_MAX, 1 + self._taken // GROUP_ENTRIES)
        return [frozenset(group) for part in range(parts) if (group := shards[part::parts])]

    async def _take(self, shards: frozenset[int], now: Instant, until: Instant) -> bool:
        """Whatever is due of these shards, one claim after the other. Whether there is more."""
        for _ in range(ROUNDS_MAX):
            peeked = await self._fire(shards, now, until)
            self._taken += len(peeked.entries)
            all_promoted = not peeked.waiting or await self._promote(shards, now, until)
            if all_promoted and not peeked.more:
                return False
        return True

    async def _fire(self, shards: frozenset[int], now: Instant, until: Instant) -> Peeked:
        # With nothing else to do, one question for both: the worker need not ask for itself.
        peeked = await self._store.clock.peek(shards, until=until, limit=PEEK_MAX, queue=self._idle)
        if peeked.free is not None:
            self._hands.queue_seen(free=peeked.free)
        if peeked.entries:
            rules = await self._learned(peeked.entries)
            await self._claim(peeked.entries, _Peek(peeked, rules, now, until))
        return peeked

    async def _claim(self, entries: Sequence[Entry], reading: _Peek) -> None:
        """Fire these entries; a group that the store cannot take is halved, down to the culprit."""
        peeked = reading.peeked
        plan = Plan(reading.until, list(peeked.cuts), peeked.source, taken=list(entries))
        for _ in planning(plan, reading.rules, now=reading.now):
            await others_first()
        await asyncio.sleep(0)  # whatever has fallen due meanwhile starts first
        try:
            await self._carry_out(plan, reading.now)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever the store cannot take)
            await self._narrow_down(entries, reading, error)

    async def _narrow_down(
        self, entries: Sequence[Entry], reading: _Peek, error: Exception
    ) -> None:
        if len(entries) > 1:
            half = len(entries) // 2
            await self._claim(entries[:half], reading)
            await self._claim(entries[half:], reading)
            return
        (culprit,) = entries
        peeked = reading.peeked
        why = f"{type(error).__name__}: {error}"
        plan = set_aside(culprit, why, reading.until, peeked.cuts, peeked.source)
        try:
            await self._carry_out(plan, reading.now)
        except StoreError:
            raise
        except Exception as last:  # noqa: BLE001  (the others must not wait for it for ever)
            warn("clock.cannot_set_aside", job=culprit.job, error=last)

    async def _carry_out(self, plan: Plan, now: Instant) -> None:
        for entry, why in plan.broken:
            warn("clock.set_aside", job=entry.job, version=entry.version, why=why)
        with self._hands.claiming(len(plan.runs)) as own:
            leased = await self._store.clock.fire(plan, lessee=self._lessee(own), now=now)
            self._hands.accept(leased)
        self._count(plan)
        if len(leased) < len(plan.runs):
            mine = {(run.job, run.run) for run in leased}
            self._on_unowned({run.at for run in plan.runs if (run.job, run.run) not in mine})

    def _count(self, plan: Plan) -> None:
        self.tally.claims += 1
        self.tally.fired += len(plan.runs) + len(plan.later)
        if plan.records:
            self.tally.account((record.status, record.count) for record in plan.records)

    async def _promote(self, shards: frozenset[int], now: Instant, until: Instant) -> bool:
        """Whether these were all."""
        with self._hands.claiming(PROMOTE_MAX) as own:
            promoted = await self._store.runs.promote(
                shards,
                until=until,
                lessee=self._lessee(own),
                limit=PROMOTE_MAX,
                now=now,
            )
            self._hands.accept(promoted.leased)
        if promoted.unowned:
            self._on_unowned(promoted.unowned)
        return promoted.moved < PROMOTE_MAX

    def _lessee(self, own: int) -> Lessee:
        return Lessee(self._member.number, own, self._hands.lanes)

    async def _learned(self, entries: Sequence[Entry]) -> Mapping[int, Rule]:
        """Rules never change, so each is fetched once; the oldest make room."""
        rules = self._rules
        unknown = {entry.rule for entry in entries} - rules.keys()
        if not unknown:
            return rules
        surplus = max(0, len(rules) + len(unknown) - RULES_MAX)
        for oldest in list(islice(rules, surplus)):
            del rules[oldest]
        unknown = {entry.rule for entry in entries} - rules.keys()
        rules.update(await self._store.clock.rules(sorted(unknown)))
        return rules
