"""Writes outcomes in groups: all that came in while the last group was being written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from onthedot.clock import Clock
from onthedot.core.instants import Instant
from onthedot.core.model import Outcome
from onthedot.core.outcomes import unrecordable
from onthedot.core.states import Status
from onthedot.errors import StoreError
from onthedot.observe.events import warn
from onthedot.observe.tally import Tally
from onthedot.roles.held_runs import Held, HeldRuns
from onthedot.roles.log_writer import LogWriter
from onthedot.roles.membership import Membership
from onthedot.store.contract import Store

GROUP_MAX = 2_000
IDLE_S = 1.0


class Finisher:
    """`on_failed` is called when runs have failed for good: there may be notices to deliver."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        member: Membership,
        holding: HeldRuns,
        on_retry: Callable[[Instant], None],
    ) -> None:
        self.log_writer: LogWriter | None = None
        self.tally = Tally()
        self.on_failed: Callable[[], None] = lambda: None
        self.stale = 0
        self.repeated = 0
        self._store = store
        self._clock = clock
        self._member = member
        self._holding = holding
        self._on_retry = on_retry
        self._outcomes: list[Outcome] = []
        self._given_up: set[Held] = set()

    def add(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)

    @property
    def pending(self) -> int:
        return len(self._outcomes)

    async def step(self) -> float:
        """Write one group. After an error of the store the outcomes stay, and the loop comes
        again.
        """
        group = self._outcomes[:GROUP_MAX]
        if not group:
            return IDLE_S
        if self.log_writer is not None and self.log_writer.pending:
            await self.log_writer.flush()
        await self._finish(group)
        del self._outcomes[: len(group)]
        self._holding.forget(_refs(group) - self._given_up)
        self._holding.give_up(self._given_up)
        self._given_up.clear()
        return 0.0 if self._outcomes else IDLE_S

    def refused(self) -> None:
        """This node is dead: nothing that it has still to say will be written. That counts like
        any other word that came too late.
        """
        group = self._outcomes
        self._outcomes = []
        self._holding.forget(_refs(group))
        self._count_stale(len(group))

    async def _finish(self, group: Sequence[Outcome]) -> None:
        """Write a group; one that the store cannot take is halved until the culprit is alone."""
        try:
            done = await self._store.runs.finish(self._member.number, group, now=self._clock.now())
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever the store cannot take)
            await self._narrow_down(group, error)
            return
        self._count_stale(done.stale)
        self.repeated += done.repeated
        self.tally.repeated += done.repeated
        came_to = Counter(map(_came_to, group))
        self.tally.ended.update(came_to)
        if lost := came_to[Status.LOST]:
            self.tally.lost += lost
            warn("run.lost", count=lost, why="outcome unknown")
        if lost or came_to[Status.FAILED]:
            self.on_failed()
        if done.retry_at is not None:
            self._on_retry(done.retry_at)

    def _count_stale(self, count: int) -> None:
        self.stale += count
        self.tally.stale += count
        if count:
            warn("run.stale", node=self._member.number, count=count)

    async def _narrow_down(self, group: Sequence[Outcome], error: Exception) -> None:
        if len(group) > 1:
            half = len(group) // 2
            await self._finish(group[:half])
            await self._finish(group[half:])
            return
        (culprit,) = group
        if culprit.reason == "unrecordable":
            # Not even that can be written. Its neighbours must not wait for it for ever; the run
            # stays leased, and reconciliation gives it back unless it may start only once.
            warn("run.given_up", job=culprit.job, run=culprit.run, error=error)
            self._given_up |= _refs(group)
            return
        warn("run.unrecordable", job=culprit.job, run=culprit.run, error=error)
        await self._finish([unrecordable(culprit, f"{type(error).__name__}: {error}")])


def _refs(group: Sequence[Outcome]) -> set[Held]:
    return {(outcome.job, outcome.run, outcome.fence) for outcome in group}


def _came_to(outcome: Outcome) -> str:
    return "retried" if outcome.retry_at is not None else outcome.status
