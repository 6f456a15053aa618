"""The clock of a database elsewhere is known only from below: late perhaps, never early."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.clock import BOUNDS_KEPT, DRIFT, DatabaseClock, SystemClock
from onthedot.core.instants import SECOND, Instant
from tests.support.clock import START, ManualClock

delays = st.integers(min_value=0, max_value=20 * SECOND)


class World:
    """A database whose clock is `ahead_us` of ours, and answers that take their time."""

    def __init__(self, ahead_us: int) -> None:
        self.own = ManualClock()
        self.clock = DatabaseClock(self.own)
        self._ahead_us = ahead_us

    def true(self) -> Instant:
        return self.own.now() + self._ahead_us

    def ask(self, *, there_us: int = 0, back_us: int = 0) -> None:
        self.own.advance(there_us)
        stamp = self.true()
        self.own.advance(back_us)
        self.clock.observe(stamp)


@given(
    ahead_us=st.integers(min_value=-10 * SECOND, max_value=10 * SECOND),
    answers=st.lists(st.tuples(delays, delays, delays), min_size=1, max_size=3 * BOUNDS_KEPT),
)
def test_the_clock_is_never_ahead_of_the_database_whatever_the_delays(ahead_us, answers):
    world = World(ahead_us)

    for there_us, back_us, pause_us in answers:
        world.ask(there_us=there_us, back_us=back_us)
        assert world.clock.now() <= world.true()
        world.own.advance(pause_us)
        assert world.clock.now() <= world.true()


@given(answers=st.lists(st.tuples(delays, delays), min_size=1, max_size=3 * BOUNDS_KEPT))
def test_the_clock_is_behind_by_no_more_than_the_quickest_recent_answer_took(answers):
    world = World(SECOND)

    for there_us, back_us in answers:
        world.ask(there_us=there_us, back_us=back_us)

    recent = answers[-BOUNDS_KEPT:]
    quickest = min(back_us for _, back_us in recent)
    behind = world.true() - world.clock.now()
    assert 0 <= behind <= quickest + drift_us(sum(map(sum, recent)))


@given(answers=st.lists(st.tuples(delays, delays), min_size=2, max_size=BOUNDS_KEPT))
def test_the_clock_never_goes_back_for_a_later_answer_that_was_slower(answers):
    world = World(-SECOND)
    world.ask(back_us=0)

    for there_us, back_us in answers[:-1]:
        before = world.clock.now()
        world.ask(there_us=there_us, back_us=back_us)
        passed = there_us + back_us
        assert world.clock.now() >= before + passed - drift_us(passed) - 1


def test_a_quicker_answer_moves_the_clock_forward():
    world = World(0)
    world.ask(back_us=300_000)
    slow = world.clock.now()

    world.ask(back_us=0)

    assert world.clock.now() == slow + 300_000


def test_the_clock_follows_a_database_that_was_set_back_once_old_answers_are_forgotten():
    world = World(2 * SECOND)
    world.ask()
    world._ahead_us = 0

    for _ in range(BOUNDS_KEPT):
        world.ask()

    assert world.clock.now() == world.true()


@given(
    arrived=st.floats(min_value=0, max_value=10_000_000, allow_nan=False),
    passed=st.floats(min_value=0, max_value=60, allow_nan=False),
)
def test_fractions_of_a_microsecond_do_not_make_the_clock_run_ahead(arrived, passed):
    own = Stopwatch(arrived)
    clock = DatabaseClock(own)
    clock.observe(START)

    own.at = arrived + passed

    assert clock.now() <= START + math.floor((own.at - arrived) * SECOND) + 1


@pytest.mark.parametrize("rate", [1 - 100e-6, 1 - 20e-6, 1 + 20e-6, 1 + 100e-6])
def test_a_stopwatch_that_runs_fast_does_not_make_the_clock_run_ahead(rate):
    # Found by simulation: after a minute of answers that took longer than the first, runs
    # started up to 6 ms before their instant.
    own = Stopwatch(0.0)
    clock = DatabaseClock(own)

    for second in range(0, 120, 3):
        own.at = second * rate
        clock.observe(START + second * SECOND - (20_000 if second else 0))
        own.at = (second + 3) * rate
        assert clock.now() <= START + (second + 3) * SECOND + 1


def drift_us(passed_us: int) -> int:
    return math.ceil(passed_us * DRIFT)


class Stopwatch:
    def __init__(self, at: float) -> None:
        self.at = at

    def now(self) -> Instant:
        return START

    def monotonic(self) -> float:
        return self.at


@pytest.mark.parametrize("ahead_us", [-7 * SECOND, 0, 250_000])
def test_the_offset_says_how_far_the_database_is_ahead_of_this_machine(ahead_us):
    world = World(ahead_us)
    world.ask()

    world.own.advance(10 * SECOND)

    assert world.clock.offset_us() == ahead_us - drift_us(10 * SECOND)


def test_the_stopwatch_is_that_of_this_machine():
    world = World(SECOND)

    world.own.advance(3 * SECOND)

    assert world.clock.monotonic() == world.own.monotonic() == 3


def test_the_clock_of_this_machine_goes_on():
    clock = SystemClock()

    earlier = clock.monotonic(), clock.now()

    assert clock.monotonic() >= earlier[0]
    assert clock.now() > START
