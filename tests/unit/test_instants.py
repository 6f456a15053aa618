"""Instants: what is read, what is refused, and how they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.instants import (
    DAY,
    HOUR,
    INSTANT_MAX,
    MILLISECOND,
    MINUTE,
    SECOND,
    format_instant,
    parse_instant,
)
from onthedot.errors import InvalidInstant


def refusal(text: str) -> InvalidInstant:
    with pytest.raises(InvalidInstant) as caught:
        parse_instant(text, field="runAt")
    return caught.value


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:01z", SECOND),
        ("1970-01-02T01:01:00+00:00", DAY + HOUR + MINUTE),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T00:00:00.5Z", 500 * MILLISECOND),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("2024-02-29T12:00:00Z", 1_709_208_000 * SECOND),
        ("2199-12-31T23:59:59.999999Z", INSTANT_MAX),
    ],
)
def test_rfc_3339_text_names_an_instant(text, instant):
    assert parse_instant(text, field="runAt") == instant


def test_digits_below_the_microsecond_are_cut_not_rounded():
    assert parse_instant("1970-01-01T00:00:00.0000019999Z", field="runAt") == 1


def test_a_time_without_a_zone_is_refused_with_the_advice_to_add_z():
    error = refusal("2027-01-31T09:30:00")

    assert error.field == "runAt"
    assert "'2027-01-31T09:30:00' has no time zone" in error.message
    assert "2027-01-31T09:30:00Z" in error.hint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "1700000000",
        "2027-01-31",
        "2027-01-31 09:30:00Z",
        "20270131T093000Z",
        "2027-W04-7T09:30:00Z",
        "2027-01-31T09:30Z",
        "2027-01-31T09:30:00.Z",
        "2027-01-31T09:30:00,5Z",
        "2027-01-31T09:30:00+0200",
        "2027-01-31T09:30:00Z ",
        "2027-01-31T09:30:00Z\n",
        "٢٠٢٧-01-31T09:30:00Z",
    ],
)
def test_anything_but_rfc_3339_is_refused_with_an_example(text):
    error = refusal(text)

    assert "is not an RFC 3339" in error.message
    assert "2027-01-31T09:30:00Z" in error.hint


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2027-02-29T00:00:00Z", "not a date of the calendar"),
        ("2027-13-01T00:00:00Z", "not a date of the calendar"),
        ("0000-01-01T00:00:00Z", "not a date of the calendar"),
        ("2027-01-01T24:00:00Z", "time of day"),
        ("2027-01-01T00:60:00Z", "time of day"),
        ("2016-12-31T23:59:60Z", "leap second"),
        ("2027-01-01T00:00:00+24:00", "offset"),
        ("2027-01-01T00:00:00+01:60", "offset"),
        ("1969-12-31T23:59:59Z", "before 1970"),
        ("1970-01-01T00:00:00+00:01", "before 1970"),
        ("2200-01-01T00:00:00Z", "after 2199"),
        ("2199-12-31T23:59:59-00:01", "after 2199"),
        ("2027-01-01T00:00:00." + "0" * 60 + "Z", "characters"),
    ],
)
def test_an_instant_that_cannot_be_is_refused_with_the_reason(text, why):
    assert why in refusal(text).message


def test_a_very_long_text_is_refused_without_being_repeated():
    assert len(refusal("9" * 1_000_000).message) < 200


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_500 * MILLISECOND, "1970-01-01T00:00:01.500Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (INSTANT_MAX, "2199-12-31T23:59:59.999999Z"),
    ],
)
def test_an_instant_is_written_with_as_many_digits_as_it_needs(instant, text):
    assert format_instant(instant) == text


@given(st.integers(0, INSTANT_MAX))
def test_an_instant_survives_being_written_and_read(instant):
    assert parse_instant(format_instant(instant), field="runAt") == instant


@given(st.text(max_size=80))
def test_any_text_is_either_read_or_refused(text):
    outcome = read(text)

    if isinstance(outcome, int):
        assert 0 <= outcome <= INSTANT_MAX
    else:
        assert outcome.field == "runAt"
        assert outcome.hint


def read(text: str) -> int | InvalidInstant:
    try:
        return parse_instant(text, field="runAt")
    except InvalidInstant as error:
        return error
