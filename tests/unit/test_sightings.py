"""Whether a database is older than what was seen of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onthedot.core.sightings import (
    EPOCH_ZERO,
    DatabaseChange,
    Pulse,
    Sighting,
    compare,
    epoch_at,
    went_back,
)

SEEN = Sighting(
    server=1,
    timeline=1,
    position=1_000,
    epoch=5,
    numbers={"job": 10, "node": 2},
    pulses={1: Pulse(100, 200), 2: Pulse(110, 210)},
)


def test_a_database_that_went_on_did_not_go_back():
    now = replace(
        SEEN,
        position=1_001,
        numbers={"job": 11, "node": 2},
        pulses={1: Pulse(100, 201), 2: Pulse(110, 210), 3: Pulse(120, 220)},
    )

    assert went_back(SEEN, SEEN) is None
    assert went_back(SEEN, now) is None
    assert compare(SEEN, now) is DatabaseChange.SAME


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"epoch": 4}, "its epoch is 4 and was 5"),
        ({"pulses": {1: Pulse(100, 199), 2: Pulse(110, 210)}}, "a heartbeat of node 1 is"),
        ({"pulses": {1: Pulse(100, 200), 2: Pulse(111, 300)}}, "node 2 is another one"),
        ({"pulses": {1: Pulse(100, 200)}}, "it does not know node 2"),
        ({"numbers": {"job": 9, "node": 2}}, "the last number in job is 9 and was 10"),
        ({"position": 999}, "its log ends 1 bytes earlier"),
    ],
)
def test_each_fact_alone_shows_that_a_database_went_back(change, why):
    found = went_back(SEEN, replace(SEEN, **change))

    assert found is not None
    assert found.startswith(why)


def test_a_node_that_may_have_been_forgotten_shows_nothing():
    now = replace(SEEN, pulses={1: Pulse(100, 200)}, pruned_before=211)

    assert went_back(SEEN, now) is None


def test_after_a_failover_positions_in_the_log_cannot_be_compared():
    now = replace(SEEN, server=2, timeline=2, position=10)

    assert went_back(SEEN, now) is None
    assert compare(SEEN, now) is DatabaseChange.FAILED_OVER


@pytest.mark.parametrize("change", [{"server": 2}, {"epoch": 6}])
def test_another_server_or_a_newer_epoch_is_a_move(change):
    assert compare(SEEN, replace(SEEN, **change)) is DatabaseChange.MOVED


def test_the_highest_numbers_are_remembered():
    later = replace(SEEN, numbers={"job": 8, "node": 9})

    assert later.since(SEEN).numbers == {"job": 10, "node": 9}


def test_an_epoch_is_taken_from_the_time():
    assert epoch_at(EPOCH_ZERO) == 0
    assert epoch_at(EPOCH_ZERO + 61_000_000) == 1
    assert epoch_at(0) == 0  # a machine without a clock
    assert epoch_at(EPOCH_ZERO + 30 * 366 * 86_400_000_000) < 1 << 24
