"""What a bench counts with, before it counts anything."""

from __future__ import annotations

from onthedot.bench.population import definitions, due_until
from onthedot.bench.schedules import measure
from onthedot.bench.throughput import TurnedClock
from onthedot.core.schedules import Every


def test_occurrences_are_counted_as_the_schedule_yields_them():
    jobs = [(0, 10), (3, 7), (50, 10)]
    listed = []
    for anchor, every in jobs:
        due = Every(every * 1_000_000).after(anchor * 1_000_000, anchor=anchor * 1_000_000)
        while due is not None and due <= 55_000_000:
            listed.append(due)
            due = Every(every * 1_000_000).after(due, anchor=anchor * 1_000_000)

    counted = due_until([(a * 1_000_000, e * 1_000_000) for a, e in jobs], 55_000_000)

    assert counted == len(listed) == 12


def test_the_population_is_the_same_every_time():
    assert list(definitions(50)) == list(definitions(50))


def test_an_instant_came_with_the_turn_that_reached_it():
    clock = TurnedClock()
    start = clock.now()
    clock.turn(100)
    clock.turn(100)

    assert clock.came(start + 1) == clock.came(start + 100) == clock.turns[1][1]
    assert clock.came(start + 101) == clock.turns[2][1]


def test_schedules_are_timed_in_microseconds():
    found = measure(200)

    assert {timing.timezone for timing in found} == {"UTC", "America/New_York"}
    assert all(0 < timing.next_us < 1_000 for timing in found)
    # About 1 µs and 20 to 160 µs here; the limits only catch a change of kind.
    common = [timing for timing in found if timing.common]
    assert sum(timing.next_us for timing in common) / len(common) < 20
    assert max(timing.parse_us for timing in found) < 2_000
