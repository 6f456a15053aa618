"""A schedule tried out: its sentence, its normal form, its instants and their marks."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from onthedot.core.instants import parse_instant
from onthedot.core.schedules import Repeat
from onthedot.errors import Invalid, InvalidCron, InvalidSchedule, NeverFires, RebootUnsupported
from onthedot.wire import PreviewIn, preview_of, preview_out, read
from tests.unit.test_wire_definitions import after_patch, defined, shown

NOW = parse_instant("2027-03-27T12:00:00Z", field="NOW")


def preview(**said: Any) -> dict[str, Any]:
    asked = read(json.dumps(said).encode(), PreviewIn)
    answer: dict[str, Any] = json.loads(
        msgspec.json.encode(preview_out(preview_of(asked, now=NOW)))
    )
    return answer


def test_a_preview_tells_words_normal_form_and_marked_instants():
    assert preview(cronExpr="30  2 * * *", timezone="Europe/Berlin", count=2) == {
        "sentence": "At 02:30 every day (Europe/Berlin)",
        "normalised": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "instants": [
            {"at": "2027-03-28T01:00:00Z", "nominal": "2027-03-28T01:00:00Z", "marks": ["dstGap"]},
            {"at": "2027-03-29T00:30:00Z", "nominal": "2027-03-29T00:30:00Z", "marks": []},
        ],
    }


def test_both_passes_of_an_overlap_are_marked():
    asked = {"timezone": "Europe/Berlin", "after": "2027-10-31T00:00:00Z", "count": 4}
    found = preview(cronExpr="*/30 * * * *", **asked)["instants"]

    assert [each["marks"] for each in found] == [
        ["dstOverlapFirst"],
        ["dstOverlapSecond"],
        ["dstOverlapSecond"],
        [],
    ]


def test_a_time_before_the_gap_is_marked_too():
    found = preview(cronExpr="30 2 * * *", timezone="Europe/Berlin", dstGap="before", count=2)

    assert [each["marks"] for each in found["instants"]] == [["dstGap"], []]


@pytest.mark.parametrize(
    ("said", "normalised", "first"),
    [
        ({"every": 90}, "PT1M30S", "2027-03-27T12:01:30Z"),
        ({"every": 1.5}, "PT1.5S", "2027-03-27T12:00:01.500Z"),
        ({"schedule": "@daily"}, "0 0 * * *", "2027-03-28T00:00:00Z"),
        ({"schedule": "@every 1h"}, "PT1H", "2027-03-27T13:00:00Z"),
        ({"schedule": "P1DT12H"}, "P1DT12H", "2027-03-29T00:00:00Z"),
        ({"schedule": "P2W"}, "P2W", "2027-04-10T12:00:00Z"),
        ({"schedule": "R/2027-01-31T09:00:00Z/P1M"}, None, "2027-03-31T09:00:00Z"),
        ({"schedule": "2027-04-01T00:00:00Z"}, None, "2027-04-01T00:00:00Z"),
        ({"runAt": "2027-04-01T00:00:00Z"}, "2027-04-01T00:00:00Z", "2027-04-01T00:00:00Z"),
        ({"delay": "PT1H"}, "2027-03-27T13:00:00Z", "2027-03-27T13:00:00Z"),
        ({"cronExpr": "H H(0-7) * * *", "job": "nightly"}, None, "2027-03-28T07:53:00Z"),
    ],
    ids=str,
)
def test_every_kind_of_schedule_can_be_tried(said, normalised, first):
    found = preview(**said)

    given = said.get("schedule") or said.get("cronExpr")
    assert found["normalised"] == (normalised or given)
    assert found["instants"][0]["at"] == first


@pytest.mark.parametrize(
    ("said", "kind", "field", "position"),
    [
        ({"cronExpr": "0 75 * * *"}, InvalidCron, "cronExpr", 3),
        ({"schedule": "0 0 1,x * *"}, InvalidCron, "schedule", 7),
        ({"schedule": "P1X"}, InvalidSchedule, "schedule", 2),
        ({"cronExpr": "0 0 30 2 *"}, NeverFires, "cronExpr", None),
        ({"schedule": "R2/2020-01-01T00:00:00Z/PT1H"}, NeverFires, "schedule", None),
        ({"schedule": "@reboot"}, RebootUnsupported, "schedule", None),
        ({"cronExpr": "H * * * *"}, InvalidCron, "cronExpr", None),
        ({}, Invalid, "schedule", None),
        ({"every": 5, "cronExpr": "* * * * *"}, Invalid, "every", None),
        ({"every": 5, "count": 1001}, Invalid, "count", None),
        ({"every": 5, "after": "now"}, Invalid, "after", None),
    ],
    ids=str,
)
def test_what_cannot_be_shown_is_refused_with_its_own_error(said, kind, field, position):
    with pytest.raises(Invalid) as refused:
        preview(**said)

    assert isinstance(refused.value, kind)
    assert refused.value.field == field
    assert refused.value.position == position
    assert refused.value.hint


def test_a_job_shows_its_schedule_as_written_in_words_and_normalised():
    answer = shown(defined(schedule="@daily", timezone="Europe/Berlin"))

    assert answer["schedule"] == "@daily"
    assert answer["cronExpr"] is None
    assert answer["normalised"] == "0 0 * * *"
    assert answer["sentence"] == "At 00:00 every day (Europe/Berlin)"


def test_an_edit_that_repeats_the_text_keeps_the_instant_it_is_counted_from():
    definition = defined(schedule="P1M")
    moved = after_patch(definition, timezone="Europe/Berlin", dstGap="skip")

    assert after_patch(definition, schedule="P1M") == definition
    assert isinstance(definition.schedule, Repeat)
    assert isinstance(moved.schedule, Repeat)
    assert moved.schedule.start == definition.schedule.start
    assert (moved.schedule.timezone, moved.schedule.dst_gap) == ("Europe/Berlin", "skip")
    assert after_patch(definition, schedule=None).schedule is None
    assert after_patch(definition, every=5).schedule_text is None
