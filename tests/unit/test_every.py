"""Intervals: anchor + k * every, by elapsed time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.instants import DAY, HOUR, INSTANT_MAX, MINUTE, SECOND
from onthedot.core.schedules import Cron, Every, explain, from_spec, to_spec
from onthedot.errors import InvalidDuration

intervals = st.integers(SECOND, 400 * DAY)
instants = st.integers(0, INSTANT_MAX)


def test_the_first_occurrence_is_one_interval_after_the_anchor():
    assert Every(MINUTE).after(1_000, anchor=1_000) == 1_000 + MINUTE


def test_before_the_anchor_the_first_occurrence_is_still_one_interval_after_it():
    assert Every(MINUTE).after(0, anchor=HOUR) == HOUR + MINUTE


def test_an_occurrence_is_not_after_itself():
    every = Every(MINUTE)

    assert every.after(MINUTE - 1, anchor=0) == MINUTE
    assert every.after(MINUTE, anchor=0) == 2 * MINUTE


def test_nothing_is_due_after_2199():
    assert Every(DAY).after(INSTANT_MAX - DAY + 1, anchor=0) is None
    assert Every(SECOND).after(INSTANT_MAX - SECOND, anchor=INSTANT_MAX - SECOND) == INSTANT_MAX


@pytest.mark.parametrize("every_us", [SECOND - 1, 1, 0, -SECOND])
def test_an_interval_below_one_second_is_refused(every_us):
    with pytest.raises(InvalidDuration, match="is shorter than 1 s") as caught:
        Every(every_us)

    assert caught.value.field == "every"
    assert caught.value.hint


@given(every_us=intervals, anchor=instants, instant=instants)
def test_the_next_occurrence_is_the_first_one_of_the_grid_after_the_instant(
    every_us, anchor, instant
):
    due = Every(every_us).after(instant, anchor=anchor)

    if due is None:
        assert max(instant, anchor) + every_us > INSTANT_MAX
    else:
        assert due > max(instant, anchor)
        assert (due - anchor) % every_us == 0
        assert due - every_us <= max(instant, anchor)


@pytest.mark.parametrize(
    ("every_us", "sentence"),
    [
        (SECOND, "every second"),
        (15 * MINUTE, "every 15 minutes"),
        (HOUR, "every hour"),
        (90 * MINUTE, "every 90 minutes"),
        (36 * HOUR, "every 36 hours"),
        (2 * DAY, "every 2 days"),
        (1_500_000, "every 1.5 s"),
    ],
)
def test_an_interval_is_explained_in_words(every_us, sentence):
    assert explain(Every(every_us)) == sentence


@pytest.mark.parametrize(
    ("schedule", "spec"),
    [
        (Every(90 * SECOND), {"every": 90 * SECOND}),
        (
            Cron.parse(" 0  9 * * MON", "Europe/Berlin"),
            {"cron": "0 9 * * MON", "timezone": "Europe/Berlin"},
        ),
    ],
)
def test_a_schedule_survives_being_stored(schedule, spec):
    assert to_spec(schedule) == spec
    assert from_spec(spec) == schedule
