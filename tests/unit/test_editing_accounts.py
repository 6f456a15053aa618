"""Whatever is edited, paused and claimed, in whatever order: nothing is lost or comes twice."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from onthedot.core.editing import Change, CurrentJob, create, delete, edit
from onthedot.core.firing import AHEAD, Plan, plan_firings
from onthedot.core.instants import MILLISECOND, SECOND, Instant, parse_instant
from onthedot.core.model import (
    Cut,
    Definition,
    Entry,
    Job,
    NewRun,
    Once,
    Record,
    Rule,
    Schedule,
    occurrence,
    rule_of,
)
from onthedot.core.schedules import Cron, Every, FixedDelay
from tests.support.builders import put_back

START = parse_instant("2026-03-02T12:00:00.300Z", field="start")
STEPS = [0, 300, 700, 1_000, 7_000, 59_000, 150_000]
CLAIMS_MAX = 10_000

grids = st.sampled_from(
    [
        Every(SECOND),
        Every(7 * SECOND),
        Every(60 * SECOND),
        Cron.parse("* * * * *"),
        Cron.parse("*/2 0-23 * * *", "Europe/Berlin"),
        None,
    ]
)
skews = st.sampled_from([0, 0, 400 * MILLISECOND])


class Story(RuleBasedStateMachine):
    """One job, the clock, the waiting runs and the horizon, as a store would keep them.

    All instants of grids are whole hundreds of milliseconds and one-off instants are not, so that
    an instant says by itself which schedule it came from.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = self.horizon = START
        self.entries: dict[int, Entry] = {}
        self.firing_rules: dict[int, Rule] = {}
        self.cuts: dict[int, Cut] = {}
        self.waiting: dict[int, NewRun] = {}
        self.jobs: list[Job] = []
        self.bounds: list[Instant] = []
        self.fates: dict[Instant, tuple[str, int]] = {}
        self.claimed_ahead: set[Instant] = set()
        self.one_offs = 0

    # What happens

    @initialize(
        schedule=grids,
        policy=st.sampled_from(["latest", "all", "none"]),
        window=st.sampled_from([0, 10 * SECOND, 60 * SECOND]),
        paused=st.booleans(),
    )
    def begin(self, schedule, policy, window, paused):
        definition = Definition(
            name="report",
            handler_url="http://127.0.0.1:9/",
            schedule=schedule,
            catch_up=policy,
            catch_up_window_us=window,
            paused=paused,
        )
        self.bounds.append(self.now)
        self.place(create(1, definition, now=self.now))

    @rule(ms=st.sampled_from(STEPS))
    def time_passes(self, ms):
        self.now += ms * MILLISECOND

    @rule(skew=skews)
    def a_scheduler_claims(self, skew):
        now = self.now + skew
        self.apply(self.plan(now))
        self.horizon = max(self.horizon, now + AHEAD)

    @rule(skew=skews)
    def waiting_runs_are_claimed(self, skew):
        now = self.now + skew
        for number, run in list(self.waiting.items()):
            if run.at > now + AHEAD:
                continue
            del self.waiting[number]
            late = run.expires is not None and run.expires < now
            self.fate(run.due, "missed" if late else "run", run.version)
            if run.at > self.now:
                self.claimed_ahead.add(run.due)

    @rule(other=st.booleans())
    def somebody_else_raises_the_horizon(self, other):
        self.horizon = max(self.horizon, self.now + (AHEAD if other else 0))

    @rule(ahead=st.sampled_from([-5_000, 0, 600, 2_000, 90_000]), paused=st.booleans())
    def the_job_gets_one_instant(self, ahead, paused):
        self.one_offs += 1
        at = self.now + ahead * MILLISECOND + self.one_offs
        self.change(schedule=Once(at), paused=paused)

    @rule(schedule=grids, paused=st.booleans())
    def the_job_is_moved(self, schedule, paused):
        self.change(schedule=schedule, paused=paused)

    @rule()
    def the_job_is_renamed(self):
        self.change(name=self.jobs[-1].definition.name + "'")

    @rule()
    def the_job_is_paused_or_resumed(self):
        self.change(paused=not self.jobs[-1].definition.paused)

    def teardown(self) -> None:
        if self.jobs:
            self.end()
            self.check()

    # What the store does

    def current(self) -> CurrentJob:
        job = self.jobs[-1]
        schedule = job.definition.schedule
        waiting = isinstance(schedule, Once) and occurrence(schedule.at) in self.waiting
        return CurrentJob(job=job, horizon=self.horizon, waiting=waiting, now=self.now)

    def change(self, **changes: object) -> None:
        definition = self.jobs[-1].definition._replace(**changes)  # type: ignore[arg-type]
        self.place(edit(self.current(), definition))

    def place(self, change: Change) -> None:
        if self.jobs:
            self.bounds.append(change.cut)
            version = self.jobs[-1].version
            if version in self.entries:
                self.cuts[version] = Cut(1, version, change.cut, change.job is None)
        if change.record is not None:
            self.spread(change.record)
        if change.drop is not None:
            del self.waiting[change.drop]
        if change.run is not None:
            assert change.run.run not in self.waiting
            self.waiting[change.run.run] = change.run
        if change.job is None:
            return
        job = change.job
        self.jobs.append(job)
        firing = rule_of(job.definition)
        if change.entry is not None:
            assert firing is not None
            assert change.entry > change.cut
            self.firing_rules[job.version] = firing
            self.entries[job.version] = Entry(1, change.entry, 1, job.version, job.version)

    def plan(self, now: Instant) -> Plan:
        due = sorted(entry for entry in self.entries.values() if entry.due <= now + AHEAD)
        cuts = [self.cuts[entry.version] for entry in due if entry.version in self.cuts]
        return plan_firings(due, cuts, self.firing_rules, now=now, until=now + AHEAD)

    def apply(self, plan: Plan) -> None:
        assert (plan.broken, plan.ended) == ([], [])
        for entry in plan.taken:
            del self.entries[entry.version]
        for entry in put_back(plan):
            self.entries[entry.version] = entry
        for version in plan.closed:
            del self.cuts[version.version]
        for run in (*plan.runs, *plan.later):
            self.fate(run.due, "run", run.version)
        for record in plan.records:
            self.spread(record)

    def end(self) -> None:
        """The job is deleted and the clock runs dry."""
        self.place(delete(self.current()))
        for run in self.waiting.values():
            self.fate(run.due, "cancelled", run.version)
        self.now = max(self.now, self.horizon) + SECOND
        for _ in range(CLAIMS_MAX):
            plan = self.plan(self.now)
            if not plan.taken:
                break
            self.apply(plan)
        # What is left lies beyond its cut, and would only be dropped.
        assert all(entry.due > self.cuts[version].cut for version, entry in self.entries.items())

    # What must be true

    def fate(self, due: Instant, what: str, version: int) -> None:
        assert due not in self.fates, (due, self.fates[due], what, version)
        self.fates[due] = (what, version)

    def spread(self, record: Record) -> None:
        job = self.jobs[record.version - 1]
        inside = instants(job, record.first - 1, record.last)
        assert record.count == len(inside)
        assert (inside[0], inside[-1]) == (record.first, record.last)
        for due in inside:
            self.fate(due, str(record.status), record.version)

    def check(self) -> None:
        seen: set[Instant] = set()
        before: Schedule = None
        for place, job in enumerate(self.jobs):
            start, end = self.bounds[place], self.bounds[place + 1]
            schedule = job.definition.schedule
            if isinstance(schedule, Once):
                if schedule.at <= end and (schedule.at > start or schedule != before):
                    self.check_one_off(job, schedule.at)
                seen.add(schedule.at)
            else:
                dues = instants(job, start, end)
                last = place == len(self.jobs) - 1
                for due in dues:
                    self.check_recurring(job, due, deleted=last)
                seen.update(dues)
            before = schedule
        assert self.fates.keys() <= seen

    def check_one_off(self, job: Job, at: Instant) -> None:
        what, _ = self.fates[at]
        held_back = job.definition.paused and at not in self.claimed_ahead
        assert what in ({"skipped"} if held_back else {"run", "missed", "cancelled"})

    def check_recurring(self, job: Job, due: Instant, *, deleted: bool) -> None:
        what, version = self.fates[due]
        if job.definition.paused:
            # One record for the whole pause: it may bear the number of a later version.
            assert what == "skipped"
            assert version >= job.version
        else:
            assert version == job.version
            assert what in {"run", "missed"} | ({"skipped"} if deleted else set())


def instants(job: Job, after: Instant, last: Instant) -> list[Instant]:
    """Listed one by one, from the definition and nothing else."""
    schedule = job.definition.schedule
    if isinstance(schedule, Once):
        return [schedule.at] if after < schedule.at <= last else []
    assert not isinstance(schedule, FixedDelay)
    found = []
    due = None if schedule is None else schedule.after(after, anchor=job.anchor)
    while schedule is not None and due is not None and due <= last:
        found.append(due)
        due = schedule.after(due, anchor=job.anchor)
    return found


def test_no_instant_belongs_to_two_versions_and_none_is_lost_whatever_is_edited_when():
    run_state_machine_as_test(
        Story, settings=settings(max_examples=120, stateful_step_count=30, deadline=None)
    )
