"""What costs much to fire, and a clock that was set back: decided in bounded steps, and said."""

from __future__ import annotations

import pytest

from onthedot.core.effort import DECISION_MAX, spent
from onthedot.core.firing import AHEAD, Plan, claim_end, plan_firings, planning, silent_until
from onthedot.core.instants import DAY, MINUTE, SECOND, parse_instant
from onthedot.core.model import CatchUpLimits, Entry, Rule, shard_of
from onthedot.core.schedules import Allowed, Calendar, Cron, Repeat, Roll, Step, latest, nth, span
from onthedot.core.schedules.allowed import STEPS_MAX
from onthedot.errors import TooCostly

NOW = parse_instant("2026-03-02T12:00:00Z", field="now")
JOB, VERSION, RULE = 33, 4, 7


@pytest.mark.parametrize("back", [0, SECOND, 2 * SECOND])
def test_a_clock_that_is_corrected_by_a_little_was_not_set_back(back: int):
    assert silent_until(claim_end(NOW), NOW - back) is None


def test_a_clock_that_was_set_back_keeps_silent_until_it_reaches_what_was_claimed():
    horizon = claim_end(NOW)

    assert silent_until(horizon, NOW - 70 * SECOND) == horizon
    assert silent_until(horizon, NOW - 3 * SECOND) == horizon


def test_an_occurrence_whose_next_one_cannot_be_found_runs_and_the_rest_is_set_aside():
    rules = Calendar.read([], ["09:00-17:00", "2026-03-02"])
    schedule = Allowed(Cron.parse("0 20 * * *"), rules)
    due = parse_instant("2026-03-02T20:00:00Z", field="due")
    rule = Rule(schedule, "default|default|", 0, 5, "latest", MINUTE)
    entry = Entry(shard_of(JOB), due, JOB, VERSION, RULE)

    plan = plan_firings([entry], [], {RULE: rule}, now=due, until=due + AHEAD)

    assert [run.due for run in plan.runs] == [due]
    [(aside, why)] = plan.broken
    assert aside.due == due + 1
    assert "TooCostly" in why
    assert plan.nexts == [None]
    assert plan.ended == [(JOB, VERSION)]


def test_many_that_are_caught_up_are_planned_in_slices_and_come_to_the_same():
    catching = CatchUpLimits(most=5_000)
    rule = Rule(Cron.parse("* * * * *"), "default|default|", 0, 5, "all", MINUTE, None, catching)
    due = NOW - 30 * DAY
    entry = Entry(shard_of(JOB), due, JOB, VERSION, RULE)
    plan = Plan(NOW + AHEAD, [], None, taken=[entry])

    slices = sum(1 for _ in planning(plan, {RULE: rule}, now=NOW))

    whole = plan_firings([entry], [], {RULE: rule}, now=NOW, until=NOW + AHEAD)
    assert slices > 10
    assert len(plan.runs) + len(plan.later) >= 5_000
    assert (plan.runs, plan.later, plan.records) == (whole.runs, whole.later, whole.records)


@pytest.mark.parametrize("roll", ["skip", "next", "previous"])
def test_the_last_of_too_many_runs_under_a_calendar_is_refused_by_the_steps_it_takes(roll: Roll):
    schedule = Allowed(Cron.parse("0 9 * * *"), Calendar.read(["sat,sun"], []), roll)
    begun = spent()

    with pytest.raises(TooCostly, match="maxRuns is 10000"):
        nth(schedule, NOW, 10_000, anchor=NOW)

    assert spent() - begun <= DECISION_MAX + 2 * STEPS_MAX
    assert nth(schedule, NOW, 500, anchor=NOW) is not None


@pytest.mark.parametrize("roll", ["skip", "next", "previous"])
def test_what_an_outage_of_years_missed_is_told_in_bounded_steps(roll: Roll):
    closed = Calendar.read(["sat,sun", "12-20/01-10"], [])
    schedule = Allowed(Cron.parse("0 * * * *"), closed, roll)
    first = schedule.after(NOW)
    assert first is not None
    begun = spent()

    missed = span(schedule, first, first + 20 * 365 * DAY, anchor=first)

    assert missed is not None
    assert missed.count is None  # too many to count
    assert missed.last == latest(schedule, missed.last, first=first, anchor=first)
    assert spent() - begun <= DECISION_MAX + 4 * STEPS_MAX


def test_the_ten_thousandth_of_a_plain_schedule_is_found_without_a_walk():
    cron, begun = Cron.parse("*/20 2 * * *", "Europe/Berlin"), spent()

    found = nth(cron, NOW, 10_000, anchor=NOW)

    assert spent() == begun
    due = NOW
    for _ in range(10_000):
        due = cron.after(due) or due
    assert found == due


def test_the_last_of_a_repetition_is_the_last_there_is_where_they_are_fewer():
    repeat = Repeat(NOW, Step(days=1), times=10)

    assert nth(repeat, NOW, 500, anchor=NOW) == NOW + 9 * DAY


@pytest.mark.parametrize("roll", ["next", "previous"])
def test_a_few_runs_after_a_long_closure_are_not_too_many(roll: Roll):
    schedule = Allowed(Cron.parse("0 * * * *"), Calendar.read(["03-02/05-02"], []), roll)

    assert nth(schedule, NOW, 3, anchor=NOW) is not None
