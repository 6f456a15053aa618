"""An auditor: what the ledger must say about jobs that are edited, paused and claimed at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

from onthedot.core import editing
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.firing import Plan
from onthedot.core.instants import MILLISECOND, SECOND, Instant
from onthedot.core.model import Definition, Job, Once, is_occurrence
from onthedot.core.schedules import Cron, Every, FixedDelay
from onthedot.core.states import Status
from onthedot.core.views import RunView
from onthedot.errors import Taken
from onthedot.store.contract import Store
from tests.support.builders import PAGES_MAX, a_job, claim, fire, ledger_of, plan
from tests.support.clock import ManualClock

SCHEDULES: tuple[Cron | Every, ...] = (
    Every(SECOND),
    Every(7 * SECOND),
    Every(60 * SECOND),
    Cron.parse("* * * * *"),
    Cron.parse("*/2 0-23 * * *", "Europe/Berlin"),
)
SET_BACK = 0.05  # how likely somebody corrects the clock before a step
STEPS_US = (0, 1, 300 * MILLISECOND, SECOND, 7 * SECOND, 59 * SECOND, 150 * SECOND)


@dataclass
class Account:
    """The versions of a job and where each was cut: version `n` is due in (cuts[n-1], cuts[n]]."""

    versions: list[Job]
    cuts: list[Instant]

    def expected(self) -> Iterator[tuple[Instant, int, bool]]:
        """(due, version, paused) of every occurrence that there ever was."""
        for job, (start, end) in zip(self.versions, pairwise(self.cuts), strict=True):
            version = self.accounting(job).version
            for due in instants(job, start, end):
                yield due, version, job.definition.paused

    def accounting(self, job: Job) -> Job:
        """The version whose record has this one's occurrences: a pause's last one has them all."""
        if job.definition.paused:
            for later in self.versions[job.version :]:
                moved = later.definition.schedule != job.definition.schedule
                if moved or not later.definition.paused:
                    break
                job = later
        return job


@dataclass
class Story:
    """Some jobs and a scheduler in which anything may happen, by the numbers of one seed."""

    store: Store
    clock: ManualClock
    node: int
    chance: Random
    accounts: dict[int, Account] = field(default_factory=dict)
    kept: list[Plan] = field(default_factory=list)

    async def begin(self, jobs: int) -> None:
        for _ in range(jobs):
            job = await a_job(
                self.store,
                self.clock,
                schedule=self.chance.choice(SCHEDULES),
                catch_up=self.chance.choice(("latest", "all", "none")),
            )
            self.accounts[job.id] = Account([job], [job.created_at])

    async def step(self) -> None:
        if self.chance.random() < SET_BACK:
            self.clock.set_back(20 * SECOND)
        self.clock.advance(self.chance.choice(STEPS_US))
        happenings = [self.claim, self.keep_a_plan, self.fire_a_kept_plan]
        happenings += [self.rename, self.pause_or_resume, self.move]
        await self.chance.choices(happenings, weights=(8, 3, 4, 2, 4, 2))[0]()

    async def end(self) -> None:
        """Delete every job, then let the clock run dry."""
        for number in self.accounts:
            await self.change(number, None)
        last = max(account.cuts[-1] for account in self.accounts.values())
        self.clock.advance(max(0, last - self.clock.now()))
        for _ in range(PAGES_MAX):
            planned = await plan(self.store, self.clock)
            if not planned.taken:
                return
            await fire(self.store, self.clock, self.node, planned)
        raise AssertionError("the clock never ran dry")

    async def claim(self) -> None:
        await claim(self.store, self.clock, self.node, own=self.chance.randrange(3))

    async def keep_a_plan(self) -> None:
        """A scheduler that reads, decides, and then stalls."""
        self.kept.append(await plan(self.store, self.clock))

    async def fire_a_kept_plan(self) -> None:
        if not self.kept:
            return
        stale = self.kept.pop(self.chance.randrange(len(self.kept)))
        try:
            await fire(self.store, self.clock, self.node, stale, own=1)
        except Taken:
            assert stale.taken, "nothing was taken, so nothing can have been taken by another"

    async def rename(self) -> None:
        await self.change(self.any(), lambda old: old._replace(name=old.name + "'"))

    async def pause_or_resume(self) -> None:
        await self.change(self.any(), lambda old: old._replace(paused=not old.paused))

    async def move(self) -> None:
        schedule = self.chance.choice(SCHEDULES)
        await self.change(self.any(), lambda old: old._replace(schedule=schedule))

    def any(self) -> int:
        return self.chance.choice(list(self.accounts))

    async def change(self, number: int, become: Callable[[Definition], Definition] | None) -> None:
        decided: list[Change] = []

        def decide(current: CurrentJob) -> Change:
            if become is None:
                decided.append(editing.delete(current))
            else:
                decided.append(editing.edit(current, become(current.job.definition)))
            return decided[-1]

        job = await self.store.jobs.change(number, decide, now=self.clock.now())
        account = self.accounts[number]
        account.cuts.append(decided[-1].cut)
        if job is not None:
            account.versions.append(job)


async def found(store: Store, clock: ManualClock, number: int, account: Account) -> list[RunView]:
    """The ledger of a job, with every range spread out into its single occurrences."""
    single: list[RunView] = []
    for view in await ledger_of(store, clock, number, page=97):
        assert is_occurrence(view.run), view
        if view.until is None:
            single.append(view)
            continue
        job = account.versions[view.version - 1]
        dues = [view.due, *instants(job, view.due, view.until)]
        assert (dues[-1], len(dues)) == (view.until, view.count), view
        assert view.status in (Status.SKIPPED, Status.MISSED), view
        single += [replace(view, due=due) for due in dues]
    return single


def instants(job: Job, after: Instant, last: Instant) -> Iterator[Instant]:
    schedule = job.definition.schedule
    assert schedule is not None
    assert not isinstance(schedule, Once | FixedDelay)
    due = schedule.after(after, anchor=job.anchor)
    while due is not None and due <= last:
        yield due
        due = schedule.after(due, anchor=job.anchor)
