"""When a failed attempt is tried again: later and later, up to a limit, never all at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.instants import DAY, HOUR, SECOND
from onthedot.core.model import Backoff
from onthedot.core.retrying import attempts_left, backoff_us

backoffs = st.builds(
    Backoff,
    initial_us=st.integers(0, 30 * DAY),
    factor=st.floats(1, 10),
    max_us=st.integers(0, 30 * DAY),
)
attempts = st.one_of(st.integers(1, 101), st.integers(1, 5_000))
jitters = st.floats(0, 1, exclude_max=True)
ALMOST_ONE = 1 - 2**-53


@pytest.mark.parametrize(
    ("attempt", "delay_s"),
    [(1, 1), (2, 2), (3, 4), (4, 8), (11, 1024), (12, 2048), (13, 3600), (14, 3600), (101, 3600)],
)
def test_by_default_the_delay_doubles_from_one_second_up_to_one_hour(attempt, delay_s):
    shortest = backoff_us(Backoff(), attempt=attempt, jitter=0.0)
    longest = backoff_us(Backoff(), attempt=attempt, jitter=ALMOST_ONE)

    assert (shortest, longest) == (delay_s * SECOND // 2, delay_s * SECOND)


@settings(deadline=None)
@given(backoff=backoffs, attempt=attempts, jitter=jitters)
def test_jitter_moves_the_wait_over_the_upper_half_of_the_delay(backoff, attempt, jitter):
    wait = backoff_us(backoff, attempt=attempt, jitter=jitter)

    lowest = backoff_us(backoff, attempt=attempt, jitter=0.0)
    highest = backoff_us(backoff, attempt=attempt, jitter=ALMOST_ONE)
    assert type(wait) is int
    assert lowest <= wait <= highest
    assert abs(highest - 2 * lowest) <= 1
    assert wait <= backoff.max_us


@settings(deadline=None)
@given(backoff=backoffs, attempt=attempts, jitter=jitters)
def test_the_wait_never_shrinks_from_one_attempt_to_the_next(backoff, attempt, jitter):
    this = backoff_us(backoff, attempt=attempt, jitter=jitter)
    following = backoff_us(backoff, attempt=attempt + 1, jitter=jitter)

    assert following >= this


@settings(deadline=None)
@given(attempt=st.integers(1, 40), factor=st.sampled_from([1.0, 1.5, 2.0, 10.0]))
def test_the_delay_is_the_first_one_times_the_factor_once_per_attempt(attempt, factor):
    backoff = Backoff(initial_us=SECOND, factor=factor, max_us=30 * DAY)

    delay = 2 * backoff_us(backoff, attempt=attempt, jitter=0.0)

    assert delay == pytest.approx(min(SECOND * factor ** (attempt - 1), 30 * DAY), abs=1)


@pytest.mark.parametrize("factor", [1.001, 2.0, 10.0])
def test_a_million_attempts_overflow_nothing(factor):
    backoff = Backoff(factor=factor)

    assert backoff_us(backoff, attempt=1_000_000, jitter=0.0) == HOUR // 2


def test_a_first_delay_beyond_the_limit_is_cut_to_it():
    backoff = Backoff(initial_us=DAY, max_us=HOUR)

    assert backoff_us(backoff, attempt=1, jitter=0.0) == HOUR // 2


def test_a_delay_of_nothing_stays_nothing():
    backoff = Backoff(initial_us=0)

    assert backoff_us(backoff, attempt=7, jitter=ALMOST_ONE) == 0


@pytest.mark.parametrize(
    ("retries", "attempt", "left"),
    [
        (0, 1, False),
        (1, 1, True),
        (1, 2, False),
        (3, 1, True),
        (3, 3, True),
        (3, 4, False),
        (100, 100, True),
        (100, 101, False),
    ],
)
def test_retries_are_extra_attempts_after_the_first(retries, attempt, left):
    assert attempts_left(retries, attempt) is left
