"""Over any sequence of claims each occurrence is accounted for exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.firing import AHEAD, plan_firings
from onthedot.core.firing import newest as newest_in_slices
from onthedot.core.instants import DAY, HOUR, INSTANT_MAX, MINUTE, SECOND, Instant, parse_instant
from onthedot.core.model import Entry, Rule, is_occurrence, occurrence
from onthedot.core.schedules import Cron, Every, Span, Timetable, span
from onthedot.core.states import Status
from tests.support.builders import put_back

START = parse_instant("2026-03-07T00:00:00Z", field="start")
CLAIMS_MAX = 50


def newest(schedule: Timetable, over: Span, limit: int) -> list[Instant]:
    slices = newest_in_slices(schedule, over, limit)
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return list(end.value)


def listed(schedule: Timetable, first: Instant, last: Instant) -> Iterator[Instant]:
    due: Instant | None = first
    while due is not None and due <= last:
        yield due
        due = schedule.after(due, anchor=first)


@dataclass
class Bookkeeper:
    """One job's entry, claimed again and again; counts what became of each occurrence."""

    rule: Rule
    entry: Entry
    fates: Counter[Instant] = field(default_factory=Counter)
    starts: list[Instant] = field(default_factory=list)

    def claim(self, now: Instant, ahead: int) -> None:
        until = now + ahead
        for _ in range(CLAIMS_MAX):
            if self.entry.due > until:
                return
            self._claim_once(now, until)
        raise AssertionError("the entry never left the claim behind")

    def _claim_once(self, now: Instant, until: Instant) -> None:
        plan = plan_firings([self.entry], [], {1: self.rule}, now=now, until=until)
        assert plan.taken == [self.entry]
        assert (plan.broken, plan.ended, plan.closed) == ([], [], [])
        for run in (*plan.runs, *plan.later):
            assert run.run == occurrence(run.due)
            assert is_occurrence(run.run)
            assert now >= run.due - AHEAD
            assert run.at >= run.due
            self.fates[run.due] += 1
        assert all(run.at <= until for run in plan.runs)
        assert all(run.at > until for run in plan.later)
        for record in plan.records:
            assert record.status is Status.MISSED
            assert now - record.last > self.rule.catch_up_window_us
            inside = list(listed(self.rule.schedule, record.first, record.last))
            assert (inside[-1], len(inside)) == (record.last, record.count)
            self.fates.update(inside)
        [self.entry] = put_back(plan)

    def check(self, first: Instant) -> None:
        expected = listed(self.rule.schedule, first, self.entry.due - 1)
        assert self.fates == Counter(expected)


policies = st.sampled_from(["latest", "all", "none"])
aheads = st.one_of(st.just(AHEAD), st.just(0), st.integers(0, AHEAD))


@st.composite
def outages(draw: st.DrawFn) -> list[tuple[int, int]]:
    """(how many intervals pass, in thousandths; how far ahead the claim looks), again and again."""
    gap = st.one_of(st.integers(0, 3_000), st.integers(0, 1_500_000))
    return draw(st.lists(st.tuples(gap, aheads), min_size=1, max_size=6))


@settings(max_examples=120, deadline=None)
@given(
    every_us=st.one_of(st.just(SECOND), st.integers(SECOND, MINUTE), st.integers(SECOND, 3 * DAY)),
    window=st.one_of(st.just(MINUTE), st.just(0), st.integers(0, DAY)),
    policy=policies,
    claims=outages(),
)
def test_each_occurrence_of_an_interval_is_accounted_for_exactly_once(
    every_us, window, policy, claims
):
    first = START + every_us
    keeper = Bookkeeper(
        Rule(Every(every_us), "default|q|", 0, 5, policy, window), Entry(1, first, 1, 1, 1)
    )

    now = START
    for gap, ahead in claims:
        now += gap * every_us // 1_000
        keeper.claim(now, ahead)

    keeper.check(first)
    assert keeper.entry.due > now


EXPRESSIONS = ["* * * * *", "*/7 * * * *", "30 1,2 * * *", "0 0 * * *", "* 3 * * SUN"]
ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe"]


@settings(max_examples=60, deadline=None)
@given(
    cron=st.builds(Cron.parse, st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES)),
    window=st.one_of(st.just(MINUTE), st.integers(0, DAY)),
    policy=policies,
    claims=st.lists(st.tuples(st.integers(0, 20 * HOUR), aheads), min_size=1, max_size=6),
)
def test_each_occurrence_of_a_cron_is_accounted_for_exactly_once(cron, window, policy, claims):
    first = cron.after(START)
    keeper = Bookkeeper(Rule(cron, "default|q|", 0, 5, policy, window), Entry(1, first, 1, 1, 1))

    now = START
    for gap, ahead in claims:
        now += gap
        keeper.claim(now, ahead)

    keeper.check(first)
    assert keeper.entry.due > now


@settings(max_examples=100, deadline=None)
@given(
    every_us=st.integers(SECOND, DAY),
    turns=st.integers(0, 400),
    rest=st.integers(0, SECOND - 1),
    limit=st.integers(1, 300),
)
def test_the_newest_of_an_interval_are_those_at_the_end_of_the_list(every_us, turns, rest, limit):
    every = Every(every_us)
    over = span(every, START, START + turns * every_us + rest, anchor=START)
    assert over is not None

    assert newest(every, over, limit) == list(listed(every, START, over.last))[-limit:]


CLUSTERED = [*EXPRESSIONS, "*/20 5 1 * *", "0 0 29 2 *", "* 12 31 12 *", "0,1 0 1 1,7 *"]


@settings(max_examples=100, deadline=None)
@given(
    cron=st.builds(Cron.parse, st.sampled_from(CLUSTERED), st.sampled_from(ZONES)),
    after=st.integers(0, 400 * DAY),
    steps=st.integers(0, 120),
    limit=st.integers(1, 150),
)
def test_the_newest_of_a_cron_are_those_at_the_end_of_the_list(cron, after, steps, limit):
    all_of_them = list(islice(listed(cron, cron.after(START + after), INSTANT_MAX), steps + 1))
    over = Span(len(all_of_them), all_of_them[0], all_of_them[-1])

    assert newest(cron, over, limit) == all_of_them[-limit:]


def test_the_newest_of_a_very_long_outage_are_found_without_listing_it():
    cron = Cron.parse("* * * * *", "America/New_York")
    over = Span(None, START, START + 100 * 365 * DAY)

    found = newest(cron, over, 1_000)

    assert found == [over.last - k * MINUTE for k in range(999, -1, -1)]
