"""One incarnation of a node: it joins, its roles run together, and it drains or dies.

    scheduler ──claimed runs──▶ worker ──attempts──▶ finisher
    membership (heartbeat)      reconciler (cancel requests, visibility)          janitor

A node that was declared dead ends this incarnation; the next one has a new number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from onthedot.clock import Clock
from onthedot.core.firing import AHEAD
from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import CALLBACKS, ExecutionSpec, Lanes, LeasedRun, Outcome
from onthedot.core.views import NodeFacts
from onthedot.errors import NodeDead, StoreError
from onthedot.ids import Chance
from onthedot.observe.events import log, warn
from onthedot.observe.tally import Tally
from onthedot.observe.tzdata import tzdata_release
from onthedot.roles.attempt import Attempts, AttemptServices
from onthedot.roles.auditor import ROUND_S, Auditor
from onthedot.roles.backfiller import Backfiller
from onthedot.roles.calendar_sync import CalendarSync
from onthedot.roles.finisher import Finisher
from onthedot.roles.held_runs import HeldRuns, ref
from onthedot.roles.janitor import PRUNE_S, Janitor
from onthedot.roles.log_writer import LogWriter
from onthedot.roles.loop import Loop
from onthedot.roles.membership import Membership
from onthedot.roles.notifier import NoticeDelivery, Notifier
from onthedot.roles.reconciler import RECONCILE_S, Reconciler
from onthedot.roles.runners import Runner
from onthedot.roles.scheduler import NoRunSink, RunSink, Scheduler
from onthedot.roles.supervisor import Supervisor
from onthedot.roles.tzdata_sync import LOOK_S, TzdataSync
from onthedot.roles.worker import Worker
from onthedot.store.contract import Store

Tell = Callable[[str, Iterable[Instant]], None]
"""Hints for other nodes: 'queue' when runs are anybody's, 'clock' when the clock or the waiting
runs have changed, 'nodes' when a node came or went; at these instants, or at once if none are
given."""

FLUSH_S = 5.0
"""So long a node that leaves tries to write its last outcomes. What it cannot write is rescued."""

FLUSH_PAUSE_S = 0.1

DRAIN_S = 20.0
"""So long a drain may take beyond the grace of its runs, whoever does not answer meanwhile."""

NOTICES_S = 5.0
"""So long it waits for the notices that it is just sending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeServices:
    """What every incarnation of a node is built from. `alone`: no other node can be alive, so
    that nobody needs to be told anything. Without a `postbox` others deliver the notices.
    """

    store: Store
    clock: Clock
    chance: Chance
    runner: Runner
    facts: NodeFacts
    installation: str
    lanes: Lanes = CALLBACKS
    retention_us: int
    alone: bool = False
    tell: Tell = lambda what, ats: None
    postbox: NoticeDelivery | None = None
    tally: Tally = field(default_factory=Tally)


async def join(kit: NodeServices, *, starting: bool = True) -> Incarnation:
    """Announce a new incarnation. One that is alone declares every earlier one dead at once.

    `starting`: it is the first of its process.
    """
    sent = kit.clock.monotonic()
    number = await kit.store.nodes.join(kit.facts, now=kit.clock.now())
    if kit.alone:
        others = [node.number for node in await kit.store.nodes.all() if node.number != number]
        now = kit.clock.now()
        for node in await kit.store.nodes.declare_dead(silent_before=0, gone=others, now=now):
            log("node.died", node=node, declared_by=number)
    log("node.joined", node=number, roles=",".join(kit.facts.roles))
    kit.tell("nodes", ())
    member = Membership(kit.store, kit.clock, number=number, joined_sent=sent)
    tzdata_sync = TzdataSync(kit.store, kit.clock, tzdata_release(), starting=starting)
    await tzdata_sync.look()
    return Incarnation(kit, member, tzdata_sync)


class Incarnation:
    def __init__(self, kit: NodeServices, member: Membership, tzdata_sync: TzdataSync) -> None:
        self.member = member
        self._kit = kit
        store, clock, roles = kit.store, kit.clock, kit.facts.roles
        self._holding = HeldRuns(clock, slots=kit.facts.slots)
        log_writer = LogWriter(store, clock, member)
        bench = AttemptServices(
            *(clock, kit.chance, kit.runner, kit.installation, self._done, kit.tally),
            *(log_writer.add, self._is_ours),
        )
        self._attempts = Attempts(bench, self._holding)
        self.worker = Worker(store, clock, member, self._holding, self._attempts, kit.lanes)
        self.worker.on_release = lambda ats: kit.tell("queue", ats)
        member.load = lambda: (self._holding.busy, self._holding.waiting)
        sink: RunSink = self.worker if "worker" in roles else NoRunSink()
        self.scheduler = Scheduler(store, clock, member, sink, self._unowned)
        self._finisher = Finisher(store, clock, member, self._holding, self._expect)
        self._finishing = Loop("finisher", self._finisher.step, clock)
        writing = Loop("log_writer", log_writer.step, clock)
        log_writer.on_news = writing.nudge
        self._finisher.log_writer, self.worker.write_down = log_writer, log_writer.flush
        reconciler = Reconciler(store, clock, member, self._holding, self._attempts)
        reconciling = Loop("reconciliation", reconciler.reconcile, clock, sleep_s_max=RECONCILE_S)
        self.heartbeat = Loop("heartbeat", member.step, clock)
        member.on_moved = self._forget
        self._look_after_failures(reconciling)
        self._notifying = self._notices(kit)
        janitor = Janitor(store, clock, member, kit.retention_us, self._unowned)
        janitor.on_change = self._share_anew
        auditor = Auditor(store, clock)
        tzdata_sync.on_moves = self._clock_changed
        self._tzdata_sync = tzdata_sync
        loops = {
            "": [self.heartbeat, Loop("zones", tzdata_sync.step, clock, sleep_s_max=LOOK_S)],
            "scheduler": [self.scheduler.loop],
            "worker": [
                self.worker.starting,
                self.worker.loop,
                self._finishing,
                writing,
                Loop("signals", reconciler.listen, clock),
                reconciling,
                *self._notifying,
            ],
            "janitor": [
                Loop("janitor", janitor.watch, clock),
                Loop("pruning", janitor.prune, clock, sleep_s_max=PRUNE_S),
                Loop("backfill", Backfiller(store, clock, self._unowned).step, clock),
                Loop("calendars", CalendarSync(store, clock, self._clock_changed).step, clock),
                Loop("audit", auditor.step, clock, sleep_s_max=ROUND_S),
            ],
        }
        self._claiming = loops["scheduler"] if "scheduler" in roles else []
        self._working = loops["worker"] if "worker" in roles else []
        mine = [loop for role in loops if role in ("", *roles) for loop in loops[role]]
        self.supervisor = Supervisor(mine, clock, self._problems)
        for counting in (self.worker, self.scheduler, self._finisher, janitor, auditor):
            counting.tally = kit.tally
        for loop in mine:
            loop.on_count = kit.tally.loop_failed

    def _look_after_failures(self, reconciliation: Loop) -> None:
        """What failed may have been done all the same, with the answer lost on the way. Or it was
        refused since the database is another one, until a heartbeat has looked at that.
        """

        def on_failure() -> None:
            reconciliation.nudge()
            self.heartbeat.nudge()

        self.scheduler.loop.on_failure = self.worker.loop.on_failure = on_failure
        self._finishing.on_failure = self.heartbeat.nudge

    def _notices(self, kit: NodeServices) -> list[Loop]:
        """The loop that delivers notices, where there is a way to send them."""
        if kit.postbox is None:
            return []
        values = (kit.store, kit.clock, kit.chance, kit.postbox, kit.installation)
        notifier = Notifier(*values)
        notifier.tally = kit.tally
        loop = Loop("notices", notifier.step, kit.clock)
        self._finisher.on_failed = loop.nudge
        return [loop]

    def next_at(self) -> Instant | None:
        """When the next of the runs that it knows of is due: claimed, or in the queue."""
        return min(filter(None, (self._holding.next_at(), self.worker.next_look())), default=None)

    def look(self) -> None:
        """Somebody has set the clock: see what is due."""
        self.scheduler.loop.nudge()
        self.worker.look()
        self.worker.starting.nudge()

    @property
    def outcomes(self) -> int:
        """Outcomes that the store does not have yet."""
        return self._finisher.pending

    @property
    def unfinished(self) -> int:
        """Runs that have been started and that the store does not know the end of."""
        return len(self._holding.under_way) + self.outcomes

    @property
    def unstarted(self) -> int:
        """Runs whose instant has come and that wait for a slot."""
        return self._holding.due

    async def run(self, stop: asyncio.Event, *, grace_us: int) -> None:
        """Work until `stop`, then drain. Raises NodeDead when the others have given this
        node up.
        """
        if not self._kit.alone:
            self._attempts.leave_to_others = self.worker.leave_to_others
        try:
            await self.supervisor.run(stop)
            await self._drained(grace_us / SECOND)
        except NodeDead:
            warn("node.found_itself_dead", node=self.member.number)
            await self._halt()
            self._finisher.refused()
            raise
        finally:
            await self._halt()

    async def _drained(self, grace_s: float) -> None:
        """A store that never answers must not keep a process that was told to go."""
        try:
            async with asyncio.timeout(grace_s + DRAIN_S):
                await self.supervisor.during(self._drain(grace_s))
        except TimeoutError:
            warn("node.drain_given_up", node=self.member.number, after_s=grace_s + DRAIN_S)

    async def _halt(self) -> None:
        """End every loop and every attempt now; those that have ended already stay so."""
        await self.supervisor.cancel()
        await self._attempts.stop()

    def _problems(self) -> list[str]:
        faults = self._attempts.faults.problems()
        return [*self.member.problems(), *self.scheduler.problems(), *faults]

    def _unowned(self, ats: Iterable[Instant] = ()) -> None:
        """There are runs for anybody, or will be at these instants."""
        when = tuple(ats)
        self.worker.look(when)
        self._kit.tell("queue", when)

    def _clock_changed(self) -> None:
        self.scheduler.loop.nudge()
        self._kit.tell("clock", ())

    def _forget(self) -> None:
        self.scheduler.forget()
        self.worker.forget()
        log("store.moved", node=self.member.number)

    def _share_anew(self) -> None:
        """Nodes have come or gone. A heartbeat shares the shards again; those of the dead would
        wait for the next one otherwise.
        """
        self.heartbeat.nudge()
        self._kit.tell("nodes", ())

    def _expect(self, at: Instant) -> None:
        """A retry waits for this instant: the scheduler of its shard may be another node's."""
        self.scheduler.expect(at)
        if at <= self._kit.clock.now() + AHEAD:
            self._kit.tell("clock", ())

    async def _is_ours(self, run: LeasedRun, execution: ExecutionSpec) -> bool | None:
        """Nobody takes our runs while our heartbeat is fresh; but the transaction of one that runs
        exactly once may have ended it, unheard.
        """
        if not self.member.is_fresh():
            return None
        if execution.guarantee != "exactly_once":
            return True
        try:
            return ref(run) in await self._kit.store.runs.owned(self.member.number)
        except StoreError:
            return None

    def _done(self, outcome: Outcome) -> None:
        self._finisher.add(outcome)
        self._finishing.nudge()
        self.worker.nudge()

    async def _drain(self, grace_s: float) -> None:
        """Hand the shards over, claim nothing more, let attempts end, write what they came to,
        leave. The heartbeat goes on.
        """
        log("node.draining", node=self.member.number, grace_s=grace_s)
        if self._claiming:
            await self._leave_shards()
            await self.supervisor.stop(*self._claiming)
        if self._working:
            # After its step: a lease under way would otherwise come into nobody's hands.
            await self.supervisor.stop(self.worker.starting, self.worker.loop)
            for loop in self._notifying:
                loop.stop()
            await self.worker.drain(grace_s)
            await self.supervisor.stop(self._finishing)
            await self._flush()
            # What is being sent is sent again by others, if nobody writes down that it was.
            await self.supervisor.ended(*self._notifying, within_s=min(grace_s, NOTICES_S))
        await self._leave()

    async def _leave_shards(self) -> None:
        try:
            await self.member.stop_claiming()
            self._kit.tell("nodes", ())
            await self.member.handed_over()
        except NodeDead:
            raise
        except StoreError as error:  # the next heartbeat says it
            warn("node.still_counted", node=self.member.number, error=error)

    async def _flush(self) -> None:
        clock = self._kit.clock
        deadline = clock.monotonic() + FLUSH_S
        while self._finisher.pending and clock.monotonic() < deadline:
            try:
                await self._finisher.step()
            except NodeDead:
                raise
            except StoreError as error:
                warn("node.flush_failed", outcomes=self._finisher.pending, error=error)
                await asyncio.sleep(FLUSH_PAUSE_S)

    async def _leave(self) -> None:
        try:
            await self._tzdata_sync.look()  # the next to start may have other tzdata
            await self._kit.store.nodes.leave(self.member.number, now=self._kit.clock.now())
        except StoreError as error:
            warn("node.leave_failed", node=self.member.number, error=error)
        log("node.left", node=self.member.number)
