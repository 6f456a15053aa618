"""What a request says about cron: rules for clock changes, H, and @every."""

from __future__ import annotations

import pytest

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.schedules import Cron, Every
from tests.unit.test_wire_definitions import after_patch, defined, shown

DAILY = "30 2 * * *"


def test_the_rules_for_clock_changes_belong_to_the_schedule_and_are_answered():
    definition = defined(cronExpr=DAILY, dstGap="before", dstOverlap="both")

    assert definition.schedule == Cron(DAILY, dst_gap="before", dst_overlap="both")
    assert (shown(definition)["dstGap"], shown(definition)["dstOverlap"]) == ("before", "both")


def test_a_rule_that_is_not_given_is_answered_as_null():
    answer = shown(defined(cronExpr=DAILY))

    assert (answer["dstGap"], answer["dstOverlap"]) == (None, None)


def test_an_edit_keeps_the_rules_it_does_not_name():
    before = defined(cronExpr=DAILY, dstGap="skip", dstOverlap="second")

    moved = after_patch(before, cronExpr="0 3 * * *", timezone="Europe/Berlin")
    reset = after_patch(before, dstGap=None)

    assert moved.schedule == Cron("0 3 * * *", "Europe/Berlin", "skip", "second")
    assert reset.schedule == Cron(DAILY, "UTC", None, "second")


def test_an_edit_to_an_interval_leaves_the_rules_behind():
    before = defined(cronExpr=DAILY, dstGap="skip")

    assert after_patch(before, every=60).schedule == Every(MINUTE)


def test_h_is_resolved_by_key_or_name_and_shown_as_it_was_written():
    by_name = defined(name="nightly", cronExpr="H H(0-7) * * *")
    by_key = defined(name="anything", key="nightly", cronExpr="H H(0-7) * * *")

    assert by_name.schedule == Cron("H H(0-7) * * *", plain="53 7 * * *")
    assert by_key.schedule == by_name.schedule
    assert shown(by_name)["cronExpr"] == "H H(0-7) * * *"
    assert shown(by_name)["nextRunAt"] == "2026-03-01T07:53:00Z"


def test_h_stays_when_the_job_gets_another_name():
    before = defined(name="nightly", cronExpr="H * * * *")

    renamed = after_patch(before, name="hourly")
    repeated = after_patch(before, name="hourly", cronExpr="H * * * *", timezone="Asia/Tokyo")
    changed = after_patch(before, name="hourly", cronExpr="H 2 * * *")

    assert renamed.schedule == before.schedule
    assert repeated.schedule == Cron("H * * * *", "Asia/Tokyo", plain="53 * * * *")
    assert changed.schedule == Cron.parse("H 2 * * *", seed="default/hourly")


@pytest.mark.parametrize(
    ("text", "every_us"),
    [
        ("@every 90s", 90 * SECOND),
        ("@every 1h30m", 90 * MINUTE),
        (" @every  1.5h ", 90 * MINUTE),
        ("@every 1d", 24 * HOUR),
        ("@every 1s500ms", 3 * SECOND // 2),
    ],
)
@pytest.mark.parametrize("field", ["cronExpr", "schedule"])
def test_every_is_an_interval(field, text, every_us):
    if field == "schedule":
        text = text.strip()
    definition = defined(**{field: text})

    assert definition.schedule == Every(every_us)
    assert shown(definition)["cronExpr"] is None


@pytest.mark.parametrize("expression", ["*/10 * * * * *", "0 0 9 * * MON 2027-2030"])
def test_seconds_and_years_come_in_by_either_field(expression):
    assert defined(cronExpr=expression).schedule == Cron(expression)
    assert defined(schedule=expression).schedule == Cron(expression)
