"""Public ids: what we print is read back, and nothing else is."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onthedot.errors import NotFound
from onthedot.ids import (
    NUMBER_MAX,
    RunId,
    SystemChance,
    job_id,
    parse_job_id,
    parse_run_id,
    run_id,
    shown,
)

HOME = "5f3a9c01"
numbers = st.integers(0, NUMBER_MAX)
hexes = st.text("0123456789abcdefABCDEF-+_ ١", max_size=20)


def is_one_of_ours(text: str, prefix: str, count: int) -> bool:
    """Lower-case hexadecimal without leading zeros, 63 bits at most."""
    numbers = text.removeprefix(prefix).split("-")
    return (
        text.startswith(prefix)
        and len(numbers) == count
        and all(re.fullmatch("0|[1-9a-f][0-9a-f]{0,15}", number) for number in numbers)
        and all(int(number, 16) < 2**63 for number in numbers)
    )


@settings(deadline=None)
@given(job=numbers)
def test_a_job_id_is_read_back(job):
    assert parse_job_id(job_id(job)) == job


@settings(deadline=None)
@given(job=numbers, run=numbers)
def test_a_run_id_is_read_back(job, run):
    assert parse_run_id(run_id(HOME, job, run), HOME) == RunId(job, run)


@settings(deadline=None)
@given(text=st.one_of(st.text(), hexes.map("job-{}".format)))
@example("job-")
@example("job-01")
@example("job-1F")
@example("job-0x1")
@example("job-1_0")
@example("job--1")
@example("job-1 ")
@example("job-1\n")
@example("job-١")
@example("job-8000000000000000")
@example("Job-1")
@example("1")
@example("")
@example("job-" + "f" * 100_000)
def test_a_text_is_a_job_id_as_we_print_it_or_not_found(text):
    if is_one_of_ours(text, "job-", 1):
        assert job_id(parse_job_id(text)) == text
    else:
        with pytest.raises(NotFound) as refused:
            parse_job_id(text)
        assert refused.value.hint
        assert len(str(refused.value)) < 100


@settings(deadline=None)
@given(
    text=st.one_of(st.text(), hexes.map(f"{HOME}-{{}}".format), hexes.map(f"{HOME}-1-{{}}".format))
)
@example(f"{HOME}-1")
@example(f"{HOME}-1-")
@example(f"{HOME}--1")
@example(f"{HOME}-1-2-3")
@example(f"{HOME}-1-02")
@example(f"{HOME}-1-8000000000000000")
@example(f"{HOME.upper()}-1-2")
@example("another-1-2")
@example("-1-2")
def test_a_text_is_a_run_id_of_this_installation_as_we_print_it_or_not_found(text):
    if is_one_of_ours(text, f"{HOME}-", 2):
        assert run_id(HOME, *parse_run_id(text, HOME)) == text
    else:
        with pytest.raises(NotFound) as refused:
            parse_run_id(text, HOME)
        assert refused.value.hint
        assert len(str(refused.value)) < 100


def test_two_installations_never_have_the_same_run_id():
    with pytest.raises(NotFound):
        parse_run_id(run_id("aaaa", 1, 2), "bbbb")


@settings(deadline=None)
@given(one=st.tuples(numbers, numbers), other=st.tuples(numbers, numbers))
def test_different_runs_have_different_ids(one, other):
    assert (run_id(HOME, *one) == run_id(HOME, *other)) is (one == other)


def test_a_long_text_is_shown_in_part():
    assert shown("x" * 60) == "x" * 60
    assert shown("x" * 61) == "x" * 60 + "…"


def test_chance_gives_fractions_below_one_and_tokens_of_the_asked_size():
    chance = SystemChance()

    assert all(0 <= chance.jitter() < 1 for _ in range(100))
    assert re.fullmatch("[0-9a-f]{32}", chance.token(16))
    assert chance.token(16) != chance.token(16)
