"""Who may start, who may judge, who looks after what."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.instants import SECOND
from onthedot.core.model import SHARDS, RunRef
from onthedot.core.recovery import (
    BEAT_S,
    HOLD_MAX,
    LEASE_US,
    START_LIMIT_S,
    Heard,
    listen,
    lost_claims,
    may_judge,
    may_start,
    room_to_hold,
    shards_of,
    silent_before,
)


def test_the_figures_are_those_of_the_design():
    assert (LEASE_US, BEAT_S, START_LIMIT_S, HOLD_MAX) == (15 * SECOND, 3.0, 12.0, 100_000)


def test_a_node_stops_starting_before_anybody_may_declare_it_dead():
    assert START_LIMIT_S + BEAT_S <= LEASE_US / SECOND


@pytest.mark.parametrize(
    ("age", "allowed"), [(0.0, True), (3.0, True), (11.999, True), (12.001, False), (900.0, False)]
)
def test_a_node_starts_nothing_12_seconds_after_it_sent_its_last_heartbeat(age, allowed):
    assert may_start(confirmed_sent=100.0, now=100.0 + age) is allowed


@pytest.mark.parametrize(
    ("since", "allowed"), [(None, False), (100.0, False), (85.001, False), (85.0, True), (0, True)]
)
def test_nobody_is_judged_until_the_store_has_answered_for_a_whole_lease(since, allowed):
    assert may_judge(answering_since=since, now=100.0) is allowed


def test_a_node_is_silent_when_its_beat_has_not_changed_for_a_lease():
    heard = listen({}, {1: 500, 2: 900}, now=0.0)
    heard = listen(heard, {1: 500, 2: 950}, now=14.9)
    early = silent_before(heard, me=2, now=14.9)
    heard = listen(heard, {1: 500, 2: 980}, now=15.0)

    assert early == 0
    assert silent_before(heard, me=2, now=15.0) == 501


def test_a_beat_begins_the_silence_anew():
    heard = listen({}, {1: 500}, now=0.0)
    heard = listen(heard, {1: 501, 2: 900}, now=14.0)

    assert silent_before(heard, me=2, now=28.9) == 0


@pytest.mark.parametrize("mine", [500, 499, 100])
def test_a_node_never_declares_itself_or_one_that_beats_dead(mine):
    heard = listen({}, {1: 500, 2: mine, 3: mine}, now=0.0)
    heard = {**heard, 3: Heard(mine, 99.0)}

    assert silent_before(heard, me=2, now=100.0) <= mine


# --- shards -------------------------------------------------------------------------------------

nodes = st.sets(st.integers(1, 10**6), min_size=1, max_size=40)


@settings(deadline=None)
@given(members=nodes)
def test_every_shard_has_exactly_one_scheduler_whatever_their_number(members):
    dealt = {node: shards_of(node, sorted(members)) for node in members}

    assert sorted(shard for shards in dealt.values() for shard in shards) == list(range(SHARDS))
    assert all(not (a & b) for a, b in combinations(dealt.values(), 2))


@settings(deadline=None)
@given(members=nodes)
def test_no_scheduler_has_two_shards_more_than_another(members):
    sizes = [len(shards_of(node, sorted(members))) for node in members]

    assert max(sizes) - min(sizes) <= 1


@settings(deadline=None)
@given(members=nodes, order=st.randoms(use_true_random=False))
def test_the_order_in_which_members_are_seen_does_not_matter(members, order):
    shuffled = [*members, *members]
    order.shuffle(shuffled)

    assert all(shards_of(n, shuffled) == shards_of(n, sorted(members)) for n in members)


def test_a_node_that_is_not_listed_yet_counts_itself():
    assert shards_of(9, []) == frozenset(range(SHARDS))
    assert shards_of(9, [4]) == frozenset(range(1, SHARDS, 2))


# --- holding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("busy", "finished", "unstarted", "room"),
    [
        (0, 0, 0, 100),
        (40, 0, 0, 60),
        (100, 0, 0, 0),  # long attempts in every slot: somebody else may be free
        (100, 50, 0, 100),  # twice what it finished in the last second
        (60, 50, 30, 110),
        (0, 1_000, 500, 1_600),
        (0, 0, 100, 0),
        (0, 0, 5_000, 0),  # never below nothing
        (0, 49_950, 0, 100_000),
        (0, 50_000, 0, 100_000),
    ],
)
def test_a_node_may_hold_what_it_has_slots_for_and_gets_done_in_two_seconds(
    busy, finished, unstarted, room
):
    held = room_to_hold(slots=100, busy=busy, finished_last_second=finished, unstarted=unstarted)

    assert held == room


# --- claims whose answer was lost ---------------------------------------------------------------

A, B = RunRef(1, 1024, 1), RunRef(2, 2048, 7)
NOBODY: frozenset[RunRef] = frozenset()


def test_a_run_that_memory_does_not_know_is_given_back_at_the_second_sighting():
    first, doubted = lost_claims([A, B], {B}, NOBODY)
    second, doubted_then = lost_claims([A, B], {B}, doubted)

    assert (first, doubted) == ([], frozenset({A}))
    assert (second, doubted_then) == ([A], NOBODY)


def test_a_run_that_came_to_memory_meanwhile_is_kept():
    _, doubted = lost_claims([A], set(), NOBODY)

    assert lost_claims([A], {A}, doubted) == ([], NOBODY)


def test_a_doubt_is_forgotten_when_the_run_left_the_node():
    _, doubted = lost_claims([A], set(), NOBODY)
    _, none = lost_claims([], set(), doubted)

    assert lost_claims([A], set(), none) == ([], frozenset({A}))


def test_a_run_known_under_another_fence_is_another_claim():
    newer = A._replace(fence=3)
    _, doubted = lost_claims([newer], {A}, NOBODY)

    assert doubted == frozenset({newer})
    assert lost_claims([newer], {A}, frozenset({A})) == ([], frozenset({newer}))
    assert lost_claims([newer], {A}, doubted) == ([newer], NOBODY)


@settings(deadline=None)
@given(st.lists(st.sets(st.sampled_from([A, B, A._replace(fence=2)])), max_size=6))
def test_nothing_is_given_back_that_was_not_unknown_twice_in_a_row(sightings):
    doubted, before = NOBODY, set[RunRef]()
    for owned in sightings:
        given_back, doubted = lost_claims(sorted(owned), set(), doubted)
        assert set(given_back) <= before & owned
        before = owned
