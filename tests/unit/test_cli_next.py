"""`onthedot next`: instants of a schedule, without a server."""

from __future__ import annotations

import json

import pytest

from tests.unit.test_cli_job import onthedot


def test_json_is_an_array_of_instants_strictly_after():
    result = onthedot(
        "next", "*/15 * * * *", "--after", "2027-01-31T09:30:00Z", "--count", "3", "--json"
    )

    assert json.loads(result.stdout) == [
        "2027-01-31T09:45:00Z",
        "2027-01-31T10:00:00Z",
        "2027-01-31T10:15:00Z",
    ]
    assert result.exit_code == 0


def test_a_time_zone_moves_the_instants_over_a_change_of_the_clocks():
    result = onthedot(
        *("next", "30 2 * * *", "--timezone", "Europe/Berlin", "--count", "2", "--json"),
        *("--after", "2027-03-27T12:00:00Z"),
    )

    assert json.loads(result.stdout) == ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]


def test_explain_with_json_is_an_object():
    result = onthedot(
        *("next", "30 9 * * *", "--after", "2027-01-31T00:00:00Z", "--count", "1"),
        *("--explain", "--json"),
    )

    assert json.loads(result.stdout) == {
        "sentence": "At 09:30 every day (UTC)",
        "instants": ["2027-01-31T09:30:00Z"],
    }


def test_people_see_local_time_utc_and_the_distance():
    result = onthedot(
        *("next", "0 9 * * *", "--timezone", "Europe/Berlin", "--count", "1", "--explain"),
        *("--after", "2099-07-01T00:00:00Z"),
    )

    lines = result.stdout.splitlines()
    assert lines[0] == "At 09:00 every day (Europe/Berlin)"
    assert "LOCAL TIME (Europe/Berlin)" in lines[2]
    assert "Wed 2099-07-01 09:00:00 CEST" in lines[3]
    assert "2099-07-01T07:00:00Z" in lines[3]
    assert " in " in lines[3]


def test_five_instants_after_now_are_the_default():
    assert len(json.loads(onthedot("next", "* * * * *", "--json").stdout)) == 5


def test_a_schedule_that_is_over_gives_no_instants():
    arguments = ("next", "0 0 1 1 *", "--after", "2199-06-01T00:00:00Z")

    assert json.loads(onthedot(*arguments, "--json").stdout) == []
    assert "Never again" in onthedot(*arguments).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("75 * * * *",), "minute '75'"),
        (("* * * *",), "has 4 fields"),
        (("0 0 30 2 *",), "is never due"),
        (("",), "is empty"),
        (("every 5 minutes",), "not available yet"),
        (("PT5M",), "not available yet"),
        (("* * * * *", "--timezone", "Europe/Berln"), "'Europe/Berln' is not a known time zone"),
        (("* * * * *", "--after", "yesterday"), "--after 'yesterday'"),
        (("* * * * *", "--count", "0"), "0 is not in the range"),
        ((), "Missing argument 'SCHEDULE'"),
    ],
)
def test_what_cannot_be_answered_is_wrong_use(arguments, said):
    result = onthedot("next", *arguments, "--json")

    assert result.exit_code == 2
    assert said in result.stderr
    assert "\n\nhint: " in result.stderr
    assert result.stdout == ""
