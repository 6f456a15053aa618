"""Ranges of occurrences: counted and ended exactly, without listing them."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.instants import DAY, HOUR, INSTANT_MAX, MINUTE, SECOND, parse_instant
from onthedot.core.schedules import COUNT_MAX, Cron, Every, Schedule, Span, latest, span


def at(text: str) -> int:
    return parse_instant(text, field="at")


def listed(schedule: Schedule, first: int, end: int, *, anchor: int = 0) -> list[int]:
    due: int | None = first
    occurrences = []
    while due is not None and due <= end:
        occurrences.append(due)
        due = schedule.after(due, anchor=anchor)
    return occurrences


def test_a_range_that_ends_before_it_begins_is_none():
    assert span(Every(MINUTE), 2 * MINUTE, 2 * MINUTE - 1, anchor=0) is None
    assert span(Cron.parse("* * * * *"), MINUTE, 0, anchor=0) is None


@pytest.mark.parametrize("schedule", [Every(MINUTE), Cron.parse("* * * * *")])
def test_a_range_of_one_occurrence_has_the_same_first_and_last(schedule):
    assert span(schedule, MINUTE, 2 * MINUTE - 1, anchor=0) == Span(1, MINUTE, MINUTE)


@pytest.mark.parametrize("schedule", [Every(MINUTE), Cron.parse("* * * * *")])
def test_both_ends_of_a_range_are_counted(schedule):
    assert span(schedule, MINUTE, 10 * MINUTE, anchor=0) == Span(10, MINUTE, 10 * MINUTE)


def test_intervals_are_counted_however_many_there_are():
    counted = span(Every(SECOND), SECOND, INSTANT_MAX, anchor=0)

    assert counted is not None
    assert counted.count == INSTANT_MAX // SECOND
    assert counted.last == INSTANT_MAX - INSTANT_MAX % SECOND


def test_cron_is_counted_up_to_the_limit_exactly():
    cron = Cron.parse("* * * * *", "Europe/Berlin")
    first = at("2026-01-01T00:00:00Z")
    last = first + (COUNT_MAX - 1) * MINUTE

    assert span(cron, first, last, anchor=0) == Span(COUNT_MAX, first, last)


def test_beyond_the_limit_the_count_is_unknown_and_the_last_one_still_exact():
    cron = Cron.parse("* * * * *", "Europe/Berlin")
    first = at("2026-01-01T00:00:00Z")
    last = first + COUNT_MAX * MINUTE

    assert span(cron, first, last + MINUTE - 1, anchor=0) == Span(None, first, last)


def test_leap_days_of_two_centuries_are_counted():
    first = at("1972-02-29T00:00:00Z")

    counted = span(Cron.parse("0 0 29 2 *"), first, INSTANT_MAX, anchor=0)

    # Every four years up to 2196, but for 2100.
    assert counted == Span(56, first, at("2196-02-29T00:00:00Z"))


def test_a_cron_range_over_all_of_time_takes_a_bounded_time():
    cron = Cron.parse("* * * * *", "America/New_York")
    started = time.process_time()

    counted = span(cron, MINUTE, INSTANT_MAX, anchor=0)

    assert counted == Span(None, MINUTE, INSTANT_MAX + 1 - MINUTE)
    assert time.process_time() - started < 1


EXPRESSIONS = [
    "* * * * *",
    "*/7 * * * *",
    "0-59 1 * * *",
    "0-59 2 * * *",
    "* 1-2 * * *",
    "30 1,2 * * *",
    "0 0 * * *",
    "15 2 * * SUN",
    "0 */5 * * *",
    "0 12 L * *",
]
ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Pacific/Apia"]
CHANGES = ["2026-03-08", "2026-11-01", "2026-04-04", "2026-10-03", "2026-03-29", "2011-12-30"]


@settings(max_examples=200, deadline=None)
@given(
    expression=st.sampled_from(EXPRESSIONS),
    zone=st.sampled_from(ZONES),
    change=st.sampled_from(CHANGES),
    before=st.integers(0, 72),
    length=st.integers(0, 96 * HOUR),
)
def test_a_cron_range_agrees_with_listing_it_around_clock_changes(
    expression, zone, change, before, length
):
    cron = Cron.parse(expression, zone)
    first = cron.after(at(f"{change}T12:00:00Z") - before * HOUR)
    assert first is not None

    occurrences = listed(cron, first, first + length)

    assert span(cron, first, first + length, anchor=0) == Span(
        len(occurrences), first, occurrences[-1]
    )


@settings(deadline=None)
@given(
    every_us=st.integers(SECOND, DAY),
    anchor=st.integers(0, DAY),
    turns=st.integers(1, 1000),
    more=st.integers(0, 200),
    rest=st.integers(0, DAY),
)
def test_an_interval_range_agrees_with_listing_it(every_us, anchor, turns, more, rest):
    every = Every(every_us)
    first = anchor + turns * every_us
    end = first + more * every_us + min(rest, every_us - 1)

    occurrences = listed(every, first, end, anchor=anchor)

    assert span(every, first, end, anchor=anchor) == Span(len(occurrences), first, occurrences[-1])
    assert len(occurrences) == more + 1


@settings(deadline=None)
@given(
    expression=st.sampled_from([*EXPRESSIONS, "0 0 29 2 *", "* * 1 1 *", "0 0 1 1 MON"]),
    zone=st.sampled_from(ZONES),
    start=st.integers(0, INSTANT_MAX - 50 * 366 * DAY),
    length=st.integers(0, INSTANT_MAX),
)
def test_the_latest_occurrence_is_one_and_the_next_is_beyond(expression, zone, start, length):
    cron = Cron.parse(expression, zone)
    first = cron.after(start)
    assert first is not None
    at_most = min(first + length, INSTANT_MAX)

    last = latest(cron, at_most, first=first, anchor=0)

    following = cron.after(last)
    assert first <= last <= at_most
    assert cron.after(last - 1) == last
    assert following is None or following > at_most
