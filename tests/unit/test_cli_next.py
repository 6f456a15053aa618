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
        "normalised": "30 9 * * *",
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
        (("whenever",), "not understood"),
        (("P5X",), "is not a duration"),
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


def test_a_rule_for_gaps_and_overlaps_can_be_tried():
    berlin = ("next", "30 2 * * *", "--timezone", "Europe/Berlin", "--count", "1", "--json")
    gap = (*berlin, "--after", "2027-03-27T12:00:00Z", "--dst-gap")
    overlap = (*berlin, "--after", "2027-10-30T12:00:00Z", "--dst-overlap")

    assert json.loads(onthedot(*gap, "before").stdout) == ["2027-03-28T00:59:00Z"]
    assert json.loads(onthedot(*gap, "skip").stdout) == ["2027-03-29T00:30:00Z"]
    assert json.loads(onthedot(*overlap, "first").stdout) == ["2027-10-31T00:30:00Z"]
    assert json.loads(onthedot(*overlap, "second").stdout) == ["2027-10-31T01:30:00Z"]


def test_the_days_on_which_the_clocks_change_are_marked():
    arguments = ("next", "30 2 * * *", "--timezone", "Europe/Berlin", "--count", "2")

    marked = onthedot(*arguments, "--after", "2027-03-27T12:00:00Z").stdout.splitlines()
    plain = onthedot(*arguments, "--after", "2027-06-27T12:00:00Z").stdout

    assert "its own time is left out when the clocks change" in marked[1]
    assert "the clocks change" not in marked[2]
    assert "NOTE" not in plain


def test_h_needs_a_job_and_is_that_of_the_job():
    arguments = ("next", "H H(0-7) * * *", "--after", "2027-01-01T00:00:00Z", "--count", "1")

    assert "derived from a job's key or name" in onthedot(*arguments).stderr
    found = onthedot(*arguments, "--job", "nightly", "--json")
    assert json.loads(found.stdout) == ["2027-01-01T07:53:00Z"]


def test_an_interval_counts_from_the_given_instant():
    result = onthedot(
        *("next", "@every 90s", "--after", "2027-01-01T00:00:00Z", "--count", "2"),
        *("--json", "--explain"),
    )

    assert json.loads(result.stdout) == {
        "sentence": "every 90 seconds",
        "normalised": "PT1M30S",
        "instants": ["2027-01-01T00:01:30Z", "2027-01-01T00:03:00Z"],
    }


def test_what_a_calendar_left_out_is_counted_in_words(tmp_path):
    (tmp_path / "days.json").write_text('{"exclude": ["2027-01-30", "2027-02-01/2027-02-02"]}')

    result = onthedot(
        *("next", "0 9 * * *", "--calendar", f"@{tmp_path}/days.json", "--count", "3"),
        *("--after", "2027-01-29T12:00:00Z"),
    )

    _, first, second, third = result.stdout.splitlines()
    assert first.endswith("1 before it has no run")
    assert second.endswith("2 before it have no run")
    assert third.startswith("Thu 2027-02-04 09:00")
    assert "before it" not in third
