"""What due entries come to: late or missed, and how much at once. (Cuts: test_firing_cuts.)"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.firing import (
    AHEAD,
    YOUNG_MAX,
    Plan,
    plan_firings,
)
from onthedot.core.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND, Instant, parse_instant
from onthedot.core.model import (
    CatchUp,
    CatchUpLimits,
    Entry,
    NewRun,
    Record,
    Rule,
    occurrence,
    shard_of,
)
from onthedot.core.schedules import Cron, Every
from onthedot.core.states import Status
from tests.support.builders import put_back

NOW = parse_instant("2026-03-02T12:00:00Z", field="now")
JOB, VERSION, RULE = 33, 4, 7
POLICIES: tuple[CatchUp, ...] = ("latest", "all", "none")
EVERY_MINUTE: list[Cron | Every] = [Every(MINUTE), Cron.parse("* * * * *")]


def a_rule(
    schedule: Cron | Every = EVERY_MINUTE[0],
    catch_up: CatchUp = "latest",
    window: int = MINUTE,
) -> Rule:
    return Rule(schedule, "default|mail|", 0, 8, catch_up, window)


def an_entry(due: Instant) -> Entry:
    return Entry(shard_of(JOB), due, JOB, VERSION, RULE)


def fired(rule: Rule, due: Instant, *, now: Instant = NOW, ahead: int = AHEAD) -> Plan:
    return plan_firings([an_entry(due)], [], {RULE: rule}, now=now, until=now + ahead)


def dues(runs: list[NewRun]) -> list[Instant]:
    return [run.due for run in runs]


def missed(plan: Plan) -> list[tuple[Instant, Instant, int | None]]:
    assert all(record.status is Status.MISSED for record in plan.records)
    return [(record.first, record.last, record.count) for record in plan.records]


def next_due(plan: Plan) -> Instant:
    [entry] = put_back(plan)
    return entry.due


# --- on the dot ---------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("schedule", EVERY_MINUTE)
def test_what_is_due_becomes_a_run_and_the_next_one_goes_back_into_the_clock(schedule, policy):
    plan = fired(a_rule(schedule, policy), NOW)

    assert plan.runs == [NewRun(JOB, occurrence(NOW), VERSION, "default|mail|", 0, 8, NOW, NOW)]
    assert plan.taken == [an_entry(NOW)]
    assert put_back(plan) == [an_entry(NOW + MINUTE)]
    assert (plan.later, plan.records, plan.closed, plan.ended, plan.broken) == ([], [], [], [], [])


def test_an_occurrence_at_the_end_of_the_claim_is_taken_and_one_later_is_not():
    at_the_end = fired(a_rule(), NOW + AHEAD)
    beyond = fired(a_rule(), NOW + AHEAD + 1)

    assert dues(at_the_end.runs) == [NOW + AHEAD]
    assert beyond.runs == []
    assert put_back(beyond) == beyond.taken == [an_entry(NOW + AHEAD + 1)]


def test_a_run_that_is_claimed_ahead_still_waits_for_its_instant():
    [run] = fired(a_rule(), NOW + SECOND // 2).runs

    assert (run.due, run.at) == (NOW + SECOND // 2, NOW + SECOND // 2)


def test_every_occurrence_up_to_the_end_of_the_claim_is_fired():
    plan = fired(a_rule(Every(SECOND)), NOW - 2 * SECOND)

    assert dues(plan.runs) == [NOW - 2 * SECOND, NOW - SECOND, NOW, NOW + SECOND]
    assert next_due(plan) == NOW + 2 * SECOND


def test_an_interval_keeps_its_phase_whatever_the_hour():
    due = NOW - 7 * SECOND + 123_457

    plan = fired(a_rule(Every(90 * SECOND)), due)

    assert next_due(plan) == due + 90 * SECOND


def test_nothing_due_makes_an_empty_plan():
    plan = plan_firings([], [], {}, now=NOW, until=NOW + AHEAD)

    assert plan == Plan(NOW + AHEAD, [])


# --- younger than the window: late, never missed ------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("schedule", EVERY_MINUTE)
def test_as_old_as_the_window_is_late_and_runs(schedule, policy):
    plan = fired(a_rule(schedule, policy, window=5 * MINUTE), NOW - 5 * MINUTE)

    assert dues(plan.runs) == [NOW - k * MINUTE for k in (5, 4, 3, 2, 1, 0)]
    assert [run.at for run in plan.runs] == dues(plan.runs)
    assert plan.records == []


@pytest.mark.parametrize(
    ("policy", "run", "record"),
    [("latest", [], True), ("all", [NOW - 5 * MINUTE - 1], False), ("none", [], True)],
)
def test_a_microsecond_older_than_the_window_follows_the_policy(policy, run, record):
    due = NOW - 5 * MINUTE - 1

    plan = fired(a_rule(Every(MINUTE), policy, window=5 * MINUTE), due)

    younger = [due + k * MINUTE for k in range(1, 6)]
    assert sorted(dues(plan.runs)) == [*run, *younger]
    assert missed(plan) == ([(due, due, 1)] if record else [])


def test_a_window_of_zero_still_runs_what_is_due_right_now():
    plan = fired(a_rule(Every(MINUTE), "none", window=0), NOW)

    assert dues(plan.runs) == [NOW]
    assert plan.records == []


def test_a_window_longer_than_all_of_time_misses_nothing():
    plan = fired(a_rule(Every(DAY), "none", window=36_525 * DAY), NOW - 30 * DAY)

    assert len(plan.runs) == 31
    assert plan.records == []


@settings(max_examples=150, deadline=None)
@given(
    every_us=st.integers(SECOND, HOUR),
    window=st.integers(0, HOUR),
    late=st.integers(-2 * SECOND, 3 * HOUR),
    policy=st.sampled_from(POLICIES),
    ahead=st.integers(0, AHEAD),
)
def test_nothing_younger_than_the_window_is_ever_missed(every_us, window, late, policy, ahead):
    plan = fired(a_rule(Every(every_us), policy, window), NOW - late, ahead=ahead)

    assert all(NOW - record.last > window for record in plan.records)
    assert all(run.due <= NOW + ahead and run.at >= run.due for run in plan.runs)


def test_more_young_ones_than_one_claim_takes_stay_in_the_clock():
    rule = a_rule(Every(SECOND), "none", window=HOUR)
    first = NOW - 30 * MINUTE

    plan = fired(rule, first)
    then = fired(rule, next_due(plan))

    assert dues(plan.runs) == [first + k * SECOND for k in range(YOUNG_MAX)]
    assert next_due(plan) == first + YOUNG_MAX * SECOND
    assert plan.records == []
    assert dues(then.runs) == [NOW - 800 * SECOND + k * SECOND for k in range(802)]
    assert next_due(then) == NOW + 2 * SECOND


# --- catchUp: latest ----------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", EVERY_MINUTE)
def test_latest_runs_the_newest_old_one_when_no_younger_one_is_due(schedule):
    first = NOW - 9 * MINUTE

    plan = fired(a_rule(schedule, window=10 * SECOND), first, now=NOW + 20 * SECOND)

    assert [(run.due, run.at) for run in plan.runs] == [(NOW, NOW)]
    assert missed(plan) == [(first, NOW - MINUTE, 9)]
    assert next_due(plan) == NOW + MINUTE


@pytest.mark.parametrize("schedule", EVERY_MINUTE)
def test_latest_runs_no_old_one_when_a_younger_one_is_due(schedule):
    first = NOW - 9 * MINUTE

    plan = fired(a_rule(schedule, window=30 * SECOND), first, now=NOW + 20 * SECOND)

    assert dues(plan.runs) == [NOW]
    assert missed(plan) == [(first, NOW - MINUTE, 9)]


def test_latest_takes_one_that_is_due_this_very_instant_for_a_younger_one():
    plan = fired(a_rule(window=30 * SECOND), NOW - 9 * MINUTE)

    assert dues(plan.runs) == [NOW]
    assert missed(plan) == [(NOW - 9 * MINUTE, NOW - MINUTE, 9)]


def test_latest_takes_one_exactly_as_old_as_the_window_for_a_younger_one():
    plan = fired(a_rule(Every(HOUR), window=MINUTE), NOW - MINUTE - 3 * HOUR)

    assert dues(plan.runs) == [NOW - MINUTE]
    assert missed(plan) == [(NOW - MINUTE - 3 * HOUR, NOW - MINUTE - HOUR, 3)]


def test_latest_does_not_take_one_that_is_only_claimed_ahead_for_one_that_is_due():
    coming = NOW + SECOND // 2

    plan = fired(a_rule(window=10 * SECOND), coming - 3 * MINUTE)

    assert sorted(dues(plan.runs)) == [coming - MINUTE, coming]
    assert missed(plan) == [(coming - 3 * MINUTE, coming - 2 * MINUTE, 2)]


@pytest.mark.parametrize("schedule", [Every(HOUR), Cron.parse("0 * * * *")])
def test_latest_leaves_no_record_when_the_newest_old_one_is_the_only_one(schedule):
    plan = fired(a_rule(schedule), NOW, now=NOW + 30 * MINUTE)

    assert dues(plan.runs) == [NOW]
    assert plan.records == []
    assert next_due(plan) == NOW + HOUR


def test_latest_costs_one_run_and_one_record_however_long_the_outage():
    first = NOW - 3650 * DAY

    plan = fired(a_rule(Every(SECOND), window=SECOND // 2), first, now=NOW + 700_000, ahead=0)

    assert dues(plan.runs) == [NOW]
    assert missed(plan) == [(first, NOW - SECOND, 3650 * 86_400)]


# --- catchUp: none ------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", EVERY_MINUTE)
def test_none_runs_nothing_old_and_everything_young(schedule):
    first = NOW - 9 * MINUTE

    plan = fired(a_rule(schedule, "none", window=2 * MINUTE), first)

    assert dues(plan.runs) == [NOW - 2 * MINUTE, NOW - MINUTE, NOW]
    assert missed(plan) == [(first, NOW - 3 * MINUTE, 7)]


def test_none_may_leave_only_a_record():
    plan = fired(a_rule(Every(HOUR), "none"), NOW - 30 * MINUTE)

    assert (plan.runs, plan.later) == ([], [])
    assert missed(plan) == [(NOW - 30 * MINUTE, NOW - 30 * MINUTE, 1)]
    assert next_due(plan) == NOW + 30 * MINUTE


@pytest.mark.parametrize("policy", ["latest", "none"])
def test_the_reason_says_how_late_and_why_in_words(policy):
    plan = fired(a_rule(Every(HOUR), policy), NOW - 5 * HOUR, now=NOW + 30 * SECOND)

    [record] = plan.records
    assert isinstance(record, Record)
    assert (record.job, record.version, record.status) == (JOB, VERSION, Status.MISSED)
    assert "1 h 30 s late" in record.reason
    assert f"catchUp is {policy}" in record.reason


# --- catchUp: all -------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", EVERY_MINUTE)
def test_all_runs_the_old_ones_oldest_first_and_50_a_second(schedule):
    first = NOW - 9 * MINUTE

    plan = fired(a_rule(schedule, "all", window=30 * SECOND), first, now=NOW + 40 * SECOND)

    now = NOW + 40 * SECOND
    assert [(run.due, run.at) for run in plan.runs] == [
        (first + k * MINUTE, now + k * 20 * MILLISECOND) for k in range(10)
    ]
    assert plan.records == []
    assert next_due(plan) == NOW + MINUTE


def test_all_starts_the_young_ones_at_their_own_instants():
    plan = fired(a_rule(Every(MINUTE), "all", window=MINUTE), NOW - 3 * MINUTE)

    starts = {run.due: run.at for run in plan.runs}
    assert starts == {
        NOW - 3 * MINUTE: NOW,
        NOW - 2 * MINUTE: NOW + 20 * MILLISECOND,
        NOW - MINUTE: NOW - MINUTE,
        NOW: NOW,
    }


def test_all_leaves_what_starts_after_the_claim_to_wait():
    first = NOW - 100 * MINUTE

    plan = fired(a_rule(Every(MINUTE), "all", window=0), first)

    # 50 a second: the 51st is due for a start exactly at the end of the claim, the 52nd later.
    caught = [run for run in plan.runs if run.due != NOW]
    assert dues(caught) == [first + k * MINUTE for k in range(51)]
    assert caught[-1].at == NOW + AHEAD
    assert dues(plan.later) == [first + k * MINUTE for k in range(51, 100)]
    assert [run.at for run in plan.later] == [NOW + k * SECOND // 50 for k in range(51, 100)]


def test_all_never_starts_more_than_50_in_a_second():
    plan = fired(a_rule(Every(SECOND), "all", window=0), NOW - HOUR)

    starts = [run.at for run in (*plan.runs, *plan.later) if run.due < NOW]
    assert all(late - early >= SECOND for early, late in zip(starts, starts[50:], strict=False))
    assert len(starts) == 1_000


@pytest.mark.parametrize("schedule", EVERY_MINUTE)
@pytest.mark.parametrize(("old", "rest"), [(999, 0), (1_000, 0), (1_001, 1), (1_777, 777)])
def test_all_runs_the_newest_thousand_and_the_rest_is_one_record(schedule, old, rest):
    first = NOW - old * MINUTE

    plan = fired(a_rule(schedule, "all", window=0), first)

    assert CatchUpLimits().most == 1_000
    caught = sorted(dues([*plan.runs, *plan.later]))
    assert caught == [NOW - k * MINUTE for k in range(old - rest, -1, -1)]
    expected = [(first, first + (rest - 1) * MINUTE, rest)] if rest else []
    assert missed(plan) == expected
    assert next_due(plan) == NOW + MINUTE


def test_all_after_years_counts_intervals_and_gives_up_counting_cron():
    first = NOW - 365 * DAY
    by_interval = fired(a_rule(Every(MINUTE), "all", window=0), first)
    by_cron = fired(a_rule(Cron.parse("* * * * *"), "all", window=0), first)

    last = NOW - 1_001 * MINUTE
    assert missed(by_interval) == [(first, last, 365 * 1440 - 1_000)]
    assert missed(by_cron) == [(first, last, None)]
    assert dues(by_cron.later) == dues(by_interval.later)


@pytest.mark.parametrize("policy", ["latest", "none"])
def test_too_many_to_count_still_has_an_exact_first_and_last(policy):
    first = NOW - 365 * DAY

    plan = fired(a_rule(Cron.parse("* * * * *"), policy, window=MINUTE), first)

    assert missed(plan) == [(first, NOW - 2 * MINUTE, None)]
    assert dues(plan.runs) == [NOW - MINUTE, NOW]


# --- many at once -------------------------------------------------------------------------------


def test_entries_of_one_claim_are_decided_each_by_its_own_rule():
    rules = {1: a_rule(Every(HOUR), "none"), 2: a_rule(Every(MINUTE), "latest")}
    entries = [Entry(1, NOW - 30 * MINUTE, 17, 1, 1), Entry(2, NOW, 18, 3, 2)]

    plan = plan_firings(entries, [], rules, now=NOW, until=NOW + AHEAD)

    assert [(run.job, run.version, run.due) for run in plan.runs] == [(18, 3, NOW)]
    assert [(record.job, record.version) for record in plan.records] == [(17, 1)]
    assert plan.taken == entries
    assert put_back(plan) == [
        Entry(1, NOW + 30 * MINUTE, 17, 1, 1),
        Entry(2, NOW + MINUTE, 18, 3, 2),
    ]
