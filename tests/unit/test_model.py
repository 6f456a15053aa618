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
    calls_function,
    created_run,
    is_occurrence,
    lane_of,
    occurrence,
    queue_of,
    rule_of,
    shard_of,
    traits_of,
)
from onthedot.core.schedules import Cron, Every, FixedDelay
from onthedot.core.traits import AT_MOST_ONCE, FIXED_DELAY, is_at_most_once, is_chained

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

    assert rule_of(definition) == Rule(schedule, "default|mail|", 0, 8, "all", 7)


def test_jobs_that_fire_alike_share_a_rule():
    one = A_DEFINITION._replace(schedule=Every(MINUTE))
    other = one._replace(name="other", handler_url="http://127.0.0.1:9/2", payload="[]", retries=0)

    assert rule_of(one) == rule_of(other)
    assert hash(rule_of(one)) == hash(rule_of(other))


def test_a_lane_is_namespace_queue_and_the_function_if_there_is_one():
    function = A_DEFINITION._replace(handler_url="", handler="shop.bill", namespace="acme")

    assert lane_of(A_DEFINITION) == "default|default|"
    assert lane_of(function) == "acme|default|shop.bill"
    assert (queue_of(lane_of(A_DEFINITION)), queue_of(lane_of(function))) == ("default", "default")
    assert [calls_function(lane_of(each)) for each in (A_DEFINITION, function)] == [False, True]


@pytest.mark.parametrize("handler", ["", "f"])
@pytest.mark.parametrize(
    ("changes", "traits"),
    [
        ({}, 0),
        ({"guarantee": "exactly_once"}, 0),
        ({"guarantee": "at_most_once"}, AT_MOST_ONCE),
        ({"schedule": FixedDelay(MINUTE)}, FIXED_DELAY),
        (
            {"schedule": FixedDelay(MINUTE), "guarantee": "at_most_once"},
            FIXED_DELAY | AT_MOST_ONCE,
        ),
    ],
)
def test_each_policy_is_one_bit_and_no_part_of_the_lane(handler, changes, traits):
    plain = A_DEFINITION._replace(handler=handler)
    job = plain._replace(**changes)

    assert traits_of(job) == traits
    assert lane_of(job) == lane_of(plain)
    assert is_at_most_once(traits) == (job.guarantee == "at_most_once")
    assert is_chained(traits) == isinstance(job.schedule, FixedDelay)


@pytest.mark.parametrize(
    ("lanes", "taken"),
    [
        (Lanes(), {"n|a|", "n|b|"}),
        (Lanes(("a",)), {"n|a|"}),
        (Lanes((), frozenset({"f"})), {"n|a|", "n|b|", "n|a|f", "n|b|f"}),
        (Lanes(("b",), frozenset({"f", "g"})), {"n|b|", "n|b|f", "n|b|g"}),
        (Lanes(("c",), frozenset({"f"})), set()),
        (Lanes(("n",), frozenset({"a"})), set()),
    ],
)
def test_a_worker_takes_the_lanes_of_its_queues_and_functions(lanes, taken):
    some = ("n|a|", "n|b|", "n|a|f", "n|b|f", "n|b|g")

    assert {lane for lane in some if lanes.take(lane)} == taken
