"""Durations: seconds or ISO 8601 in, microseconds inside, words for people out."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.durations import DURATION_MAX, format_duration, parse_duration
from onthedot.core.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from onthedot.errors import InvalidDuration


def refusal(value: object) -> InvalidDuration:
    with pytest.raises(InvalidDuration) as caught:
        parse_duration(value, field="timeout")
    return caught.value


@pytest.mark.parametrize(
    ("value", "micros"),
    [
        (0, 0),
        (90, 90 * SECOND),
        (0.5, 500 * MILLISECOND),
        (0.1, 100 * MILLISECOND),
        (1e-6, 1),
        ("PT15M", 15 * MINUTE),
        ("P1D", DAY),
        ("P2W", 14 * DAY),
        ("PT0.5S", 500 * MILLISECOND),
        ("PT0,5S", 500 * MILLISECOND),
        ("P1DT2H", DAY + 2 * HOUR),
        ("PT1.5H", 90 * MINUTE),
        ("P0.5D", 12 * HOUR),
        ("P1W2DT3H4M5.000006S", 9 * DAY + 3 * HOUR + 4 * MINUTE + 5 * SECOND + 6),
        ("PT36H", 36 * HOUR),
        ("PT0S", 0),
        ("P36525D", DURATION_MAX),
    ],
)
def test_seconds_and_iso_8601_text_are_read(value, micros):
    assert parse_duration(value, field="timeout") == micros


def test_a_fraction_of_text_is_exact_where_a_float_is_not():
    assert parse_duration("PT86400000.000001S", field="timeout") == 86_400_000 * SECOND + 1


@pytest.mark.parametrize("text", ["P1Y", "P1M", "P1Y2M", "P2M10D"])
def test_years_and_months_are_refused_as_calendar_units(text):
    error = refusal(text)

    assert "no fixed length" in error.message
    assert "calendar units" in error.hint


NOT_DURATIONS: list[object] = [
    *(True, False, None, [], {}, object(), math.nan, math.inf, -math.inf),
    *(-1, -0.5, -1e-9, "-PT1S", 10**400, -(10**5000), 1e300, DURATION_MAX // SECOND + 1),
    *("", "P", "PT", "P1DT", "1", "30s", "5m", "T5M", "pt5m", " PT5M", "PT5M ", "PT5"),
    *("P5", "P5H", "PT5D", "PT5W", "PT5M5H", "PT5M5M", "P1D1W", "PTM", "PT.5S", "PT5.S"),
    *("PT1.5M5S", "P0.5DT1H", "PT1..5S", "PT1.5.5S", "PT+5S", "PT-5S", "PT٥S", "PT1e3S"),
    *("P36526D", "PT" + "9" * 61 + "S", "P" + "1" * 100_000 + "D"),
]


# Numbered, because pytest cannot print an integer of 5,000 digits.
@pytest.mark.parametrize("value", NOT_DURATIONS, ids=map(str, range(len(NOT_DURATIONS))))
def test_what_is_not_a_duration_is_refused_with_the_field_and_the_next_step(value):
    error = refusal(value)

    assert error.field == "timeout"
    assert error.message.startswith("timeout ")
    assert len(error.message) < 200
    assert error.hint


def test_the_refused_value_is_in_the_message():
    assert refusal("30s").message == "timeout '30s' is not a duration"
    assert refusal(-5).message == "timeout -5 is negative"


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "0 s"),
        (40, "40 µs"),
        (1_500, "1.5 ms"),
        (250 * MILLISECOND, "250 ms"),
        (SECOND, "1 s"),
        (1_500 * MILLISECOND, "1.5 s"),
        (1_234_567, "1.234 s"),
        (2 * MINUTE, "2 min"),
        (90 * SECOND, "1 min 30 s"),
        (65 * MINUTE, "1 h 5 min"),
        (3 * DAY, "3 d"),
        (DAY + SECOND + 5, "1 d 1 s"),
        (MINUTE + 999, "1 min"),
        (-1_500 * MILLISECOND, "-1.5 s"),
    ],
)
def test_durations_are_written_for_people(micros, text):
    assert format_duration(micros) == text


def iso(micros: int) -> str:
    seconds, rest = divmod(micros, SECOND)
    days, seconds = divmod(seconds, 86_400)
    return f"P{days}DT{seconds // 3600}H{seconds % 3600 // 60}M{seconds % 60}.{rest:06}S"


@given(st.integers(0, DURATION_MAX))
def test_iso_text_of_any_duration_is_read_back_exactly(micros):
    assert parse_duration(iso(micros), field="timeout") == micros


@given(st.integers(0, DURATION_MAX // SECOND))
def test_a_whole_number_of_seconds_means_the_same_as_an_integer_and_as_a_float(seconds):
    expected = seconds * SECOND

    assert parse_duration(seconds, field="timeout") == expected
    assert parse_duration(float(seconds), field="timeout") == expected


@given(st.text(alphabet="PTWDHMSY0123456789.,-", max_size=70))
def test_any_text_is_either_read_or_refused(text):
    outcome = read(text)

    if isinstance(outcome, int):
        assert 0 <= outcome <= DURATION_MAX
    else:
        assert outcome.hint


def read(text: str) -> int | InvalidDuration:
    try:
        return parse_duration(text, field="timeout")
    except InvalidDuration as error:
        return error
