"""Identity, shards and rules."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.instants import HOUR, INSTANT_MAX, MINUTE, SECOND
from onthedot.core.model import (
    NUMBER_MAX,
    SHARDS,
    Backoff,
    Definition,
    Job,
    Lanes,
    Once,
    Rule,
    created_run,
    is_at_most_once,
    is_occurrence,
    lane_of,
    occurrence,
    rule_of,
    shard_of,
)
from onthedot.core.schedules import Cron, Every

instants = st.integers(0, INSTANT_MAX)
numbers = st.integers(1, NUMBER_MAX)
A_DEFINITION = Definition(name="report", handler_url="http://127.0.0.1:9/")


@settings(deadline=None)
@given(due=instants)
def test_an_occurrence_is_its_instant_and_nothing_else(due):
    run = occurrence(due)

    assert is_occurrence(run)
    assert run >> 10 == due
    assert 0 <= run < 2**63


@settings(deadline=None)
@given(at=instants, n=numbers)
def test_no_other_run_can_be_taken_for_an_occurrence(at, n):
    run = created_run(at, n)

    assert not is_occurrence(run)
    assert (run >> 10, run & 1023) == (at, n)
    assert 0 <= run < 2**63


@settings(deadline=None)
@given(
    a=st.tuples(instants, st.integers(0, NUMBER_MAX)),
    b=st.tuples(instants, st.integers(0, NUMBER_MAX)),
)
def test_numbers_are_unique_and_in_order_of_time(a, b):
    run_a, run_b = (created_run(at, n) if n else occurrence(at) for at, n in (a, b))

    assert (run_a < run_b, run_a == run_b) == (a < b, a == b)


@pytest.mark.parametrize("n", [0, -1, NUMBER_MAX + 1])
def test_a_tie_breaker_out_of_range_is_our_mistake(n):
    with pytest.raises(AssertionError):
        created_run(1, n)


def test_jobs_are_dealt_evenly_to_sixteen_shards():
    dealt = Counter(shard_of(job) for job in range(1, 1601))

    assert SHARDS == 16
    assert dealt == Counter(dict.fromkeys(range(16), 100))


def test_a_job_knows_its_shard():
    job = Job(
        id=33, version=1, definition=A_DEFINITION, anchor=0, since=0, created_at=0, updated_at=0
    )

    assert job.shard == shard_of(33)


def test_the_defaults_are_those_of_the_contract():
    assert (A_DEFINITION.timeout_us, A_DEFINITION.retries) == (60 * SECOND, 3)
    assert A_DEFINITION.backoff == Backoff(initial_us=SECOND, factor=2.0, max_us=HOUR)
    assert (A_DEFINITION.catch_up, A_DEFINITION.catch_up_window_us) == ("latest", MINUTE)
    assert (A_DEFINITION.priority, A_DEFINITION.guarantee) == (5, "at_least_once")
    assert (A_DEFINITION.overlap, A_DEFINITION.timezone) == ("allow", "UTC")
    assert (A_DEFINITION.namespace, A_DEFINITION.payload) == ("default", "{}")
    assert A_DEFINITION.schedule is None
    assert A_DEFINITION.paused is False


@pytest.mark.parametrize("schedule", [None, Once(5)])
def test_a_job_without_a_clock_entry_has_no_rule(schedule):
    assert rule_of(A_DEFINITION._replace(schedule=schedule)) is None


@pytest.mark.parametrize("schedule", [Every(MINUTE), Cron.parse("0 9 * * *", "Europe/Berlin")])
def test_a_rule_is_all_that_firing_needs(schedule):
    definition = A_DEFINITION._replace(
        schedule=schedule,
        queue="mail",
        priority=8,
        catch_up="all",
        catch_up_window_us=7,
    )

    assert rule_of(definition) == Rule(schedule, "mail", 8, "all", 7)


def test_jobs_that_fire_alike_share_a_rule():
    one = A_DEFINITION._replace(schedule=Every(MINUTE))
    other = one._replace(name="other", handler_url="http://127.0.0.1:9/2", payload="[]", retries=0)

    assert rule_of(one) == rule_of(other)
    assert hash(rule_of(one)) == hash(rule_of(other))


def test_a_lane_is_the_queue_and_the_function_if_there_is_one():
    assert lane_of(A_DEFINITION) == "default"
    assert (
        lane_of(A_DEFINITION._replace(handler_url="", handler="shop.bill")) == "default|shop.bill"
    )


def test_a_lane_says_whether_its_runs_may_start_only_once():
    once = A_DEFINITION._replace(guarantee="at_most_once")

    lanes = [lane_of(once), lane_of(once._replace(handler_url="", handler="f"))]

    assert lanes == ["default||!", "default|f|!"]
    assert [is_at_most_once(lane) for lane in (*lanes, "default", "default|f")] == [
        *(True, True, False, False)
    ]


@pytest.mark.parametrize(
    ("lanes", "taken"),
    [
        (Lanes(), {"a", "b", "o||!"}),
        (Lanes(("a",)), {"a"}),
        (Lanes((), frozenset({"f"})), {"a", "b", "a|f", "b|f", "o||!", "o|f|!"}),
        (Lanes(("o",), frozenset({"f"})), {"o||!", "o|f|!"}),
        (Lanes(("b",), frozenset({"f", "g"})), {"b", "b|f", "b|g"}),
        (Lanes(("c",), frozenset({"f"})), set()),
    ],
)
def test_a_worker_takes_the_lanes_of_its_queues_and_functions(lanes, taken):
    some = ("a", "b", "a|f", "b|f", "b|g", "o||!", "o|f|!", "o|g|!")

    assert {lane for lane in some if lanes.take(lane)} == taken
