"""The second reading of schedules is itself read by a person."""

from __future__ import annotations

import pytest

from tests.simulation.oracle import SECOND, instants, micros

BERLIN = "Europe/Berlin"


def due(schedule: tuple[str, ...], first: str, last: str) -> list[str]:
    found = instants(schedule, micros("2026-01-01T00:00:00Z"), micros(first), micros(last))
    return [str(at // SECOND % 86_400 // 60) for at in found]


def minutes(*clock: str) -> list[str]:
    return [str(int(each[:2]) * 60 + int(each[3:])) for each in clock]


def test_an_interval_counts_from_its_anchor_and_leaves_it_out():
    anchor = micros("2026-01-01T00:00:00Z")

    found = instants(("every", 7 * SECOND), anchor, anchor, anchor + 21 * SECOND)

    assert found == [anchor + 7 * SECOND, anchor + 14 * SECOND, anchor + 21 * SECOND]


def test_an_interval_can_be_read_from_the_middle():
    anchor = micros("2026-01-01T00:00:00Z")

    found = instants(("every", 5 * SECOND), anchor, anchor + 12 * SECOND, anchor + 20 * SECOND)

    assert found == [anchor + 15 * SECOND, anchor + 20 * SECOND]


@pytest.mark.parametrize(
    ("expression", "first", "last", "expected"),
    [
        # The gap of 29 March 2026: 02:00 to 03:00 in Berlin is not there; 01:00 UTC is 03:00.
        ("30 2 * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", minutes("01:00")),
        ("*/30 2 * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", []),
        ("0 3 * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", minutes("01:00")),
        # The overlap of 25 October 2026: 02:00 to 03:00 comes twice, from 00:00 and from 01:00 UTC.
        ("30 2 * * *", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z", minutes("00:30")),
        (
            "*/30 2 * * *",
            "2026-10-25T00:00:00Z",
            "2026-10-25T02:00:00Z",
            minutes("00:00", "00:30", "01:00", "01:30"),
        ),
    ],
)
def test_fixed_times_come_once_and_others_follow_the_hands(expression, first, last, expected):
    assert due(("cron", expression, BERLIN), first, last) == expected
