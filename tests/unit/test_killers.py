"""Who is a killer: the one definition, for the worker and for who checks it."""

from __future__ import annotations

import pytest

from onthedot.core.killers import (
    ASKED_S,
    KILLS_MAX,
    RETIRING_S,
    TRUSTED_AFTER,
    Killers,
    killed_at,
)


@pytest.fixture
def killers() -> Killers:
    return Killers()


def test_one_crash_alone_sets_a_function_apart_until_it_has_ended_once(killers):
    assert killers.crashed("f")
    assert (killers.apart, killers.stuck) == ({"f"}, set())
    assert not killers.crashed("f"), "that is no news"

    assert killers.ended("f")

    assert not killers.apart
    assert not killers


def test_repeated_kills_set_a_function_apart(killers):
    news = [killers.killed("f") for _ in range(KILLS_MAX + 1)]

    assert news == [False] * (KILLS_MAX - 1) + [True, False]
    assert killers.apart == killers.stuck == {"f"}


def test_a_function_that_does_not_end_every_other_time_stays_apart(killers):
    for _ in range(20):
        killers.killed("f")
        killers.ended("f")

    assert killers.apart == {"f"}


def test_kills_are_forgotten_after_enough_calls_in_a_row_that_end(killers):
    for _ in range(KILLS_MAX - 1):
        killers.killed("f")
    ends = [killers.ended("f") for _ in range(TRUSTED_AFTER)]

    assert not any(ends), "it was never apart"
    assert not killers
    assert not killers.killed("f")


def test_a_crash_among_kills_does_not_make_it_trusted_sooner(killers):
    for _ in range(KILLS_MAX):
        killers.killed("f")
    killers.crashed("f")

    ends = [killers.ended("f") for _ in range(TRUSTED_AFTER)]

    assert ends == [False] * (TRUSTED_AFTER - 1) + [True]
    assert not killers.stuck


def test_others_are_not_concerned(killers):
    killers.crashed("f")
    killers.killed("g")

    assert not killers.ended("h")
    assert killers.apart == {"f"}


def test_a_runner_in_which_all_end_by_themselves_is_not_killed():
    assert killed_at([], others=True, retired_at=0.0) is None


def test_a_runner_with_nobody_else_in_it_is_killed_after_the_last_one_had_its_time():
    at = killed_at([1.0, 3.0], others=False, retired_at=1.7)

    assert at is not None
    assert at == pytest.approx(3.0 + ASKED_S, abs=0.2)


def test_others_have_their_time_up_to_a_bound():
    assert killed_at([1.0], others=True, retired_at=2.0) == 2.0 + RETIRING_S


def test_who_is_asked_late_does_not_move_the_bound_far():
    asked = [1.0, 2.0 + RETIRING_S - 0.1, 2.0 + RETIRING_S + 3.0]

    assert killed_at(asked, others=True, retired_at=2.0) == 2.0 + RETIRING_S + ASKED_S
