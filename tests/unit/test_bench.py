"""What a bench counts with, before it counts anything."""

from __future__ import annotations

import pytest

from onthedot.core.instants import MINUTE, SECOND
from onthedot.core.schedules import Cron, Every
from onthedot_bench.driving import TurnedClock
from onthedot_bench.population import Dues, definitions
from onthedot_bench.schedules import measure


def test_occurrences_are_counted_as_the_schedule_yields_them():
    jobs: list[tuple[int, Cron | Every]] = [
        (0, Every(10 * SECOND)),
        (3, Every(7 * SECOND)),
        (50, Cron.parse("* * * * *")),
    ]
    dues, listed = Dues(), []
    for anchor, schedule in jobs:
        dues.add(anchor * SECOND, schedule)
        due = schedule.after(anchor * SECOND, anchor=anchor * SECOND)
        while due is not None and due <= 65 * SECOND:
            listed.append(due)
            due = schedule.after(due, anchor=anchor * SECOND)

    assert dues.until(65 * SECOND) == len(listed) == 6 + 8 + 1


def test_a_rate_is_that_of_a_day():
    dues = Dues()
    dues.add(0, Every(10 * SECOND))
    dues.add(0, Cron.parse("0 * * * *"))

    assert dues.rate() == pytest.approx(0.1 + 24 / 86_400)


def test_the_population_is_the_same_every_time():
    assert list(definitions(50)) == list(definitions(50))


def test_the_population_is_mostly_cron_and_a_tenth_is_busy():
    jobs = [each.schedule for each in definitions(10_000)]
    crons = [each for each in jobs if isinstance(each, Cron)]
    busy = [each for each in jobs if isinstance(each, Every) and each.every_us < MINUTE]

    assert len(crons) == pytest.approx(6_000, abs=300)
    assert len(busy) == pytest.approx(1_000, abs=150)
    assert len({each.timezone for each in crons}) == 40


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
