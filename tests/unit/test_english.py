"""Schedules in plain English: what is understood, what it comes to, and what is offered instead."""

from __future__ import annotations

from random import Random

import pytest

from onthedot.core.instants import SECOND, parse_instant
from onthedot.core.schedules import (
    Cron,
    Every,
    Once,
    Repeat,
    Terms,
    coming,
    explain,
    normal_form,
    read_schedule,
)
from onthedot.core.schedules.english_near import FORMS
from onthedot.core.schedules.terms import LENGTH_MAX
from onthedot.errors import InvalidSchedule, NeverFires
from tests.support import cron_chance

NOW = parse_instant("2026-11-16T01:00:00Z", field="NOW")  # a Monday
TERMS = Terms(NOW)


def normal(text: str, timezone: str = "UTC") -> str:
    return normal_form(read_schedule(text, Terms(NOW, timezone)))


UNDERSTOOD = [
    # the day of the week
    ("every weekday at 9am", "0 9 * * MON-FRI"),
    ("every monday and thursday at 18:30", "30 18 * * MON,THU"),
    ("Every Tuesday, Thursday and Saturday at 7:15 PM", "15 19 * * TUE,THU,SAT"),
    ("on mondays at 8:00", "0 8 * * MON"),
    ("every monday to friday at 8:00", "0 8 * * MON-FRI"),
    ("every weekend at midnight", "0 0 * * SAT,SUN"),
    ("weekly on sunday at 4am", "0 4 * * SUN"),
    # the day of the month
    ("on the last day of the month at 23:00", "0 23 L * *"),
    ("on the last weekday of every month at 18:00", "0 18 LW * *"),
    ("on the weekday nearest to the 15th of every month at 9:00", "0 9 15W * *"),
    ("every month on the 15th at 8am", "0 8 15 * *"),
    ("on the 1st and 15th at 6:00", "0 6 1,15 * *"),
    ("on the first monday of january, july at noon", "0 12 * 1,7 MON#1"),
    ("on the last friday of the month at 16:30", "30 16 * * FRI#L"),
    ("at 0:00 on the 13th, if it is a friday", "0 0 13 * +FRI"),
    ("every year on july 4th at noon", "0 12 4 7 *"),
    ("on 24 december at 18:00", "0 18 24 12 *"),
    ("every day at 9:00 in march in 2027", "0 0 9 * 3 * 2027"),
    # the time of day
    ("every day at 9:00 and 17:30", "0 9 * * * | 30 17 * * *"),
    ("every day at 9:00 and at 17:30", "0 9 * * * | 30 17 * * *"),
    (
        "every weekday at 7:00 and every 30 minutes between 9:00 and 10:30",
        "0 7 * * MON-FRI | 0,30 9,10 * * MON-FRI",
    ),
    ("every day at 9:00, 12:00 and 18:00", "0 9,12,18 * * *"),
    ("daily at 0:00 and 12:00", "0 0,12 * * *"),
    ("every day at 9:00:30", "30 0 9 * * *"),
    ("every 2 hours between 8:00 and 20:00", "0 8-20/2 * * *"),
    ("every 15 minutes between 9:00 and 16:59", "*/15 9-16 * * *"),
    (
        "every 15 minutes between 9:00 and 17:00 on weekdays",
        "*/15 9-16 * * MON-FRI | 0 17 * * MON-FRI",
    ),
    ("every 30 minutes between 9:00 and 10:30", "0,30 9,10 * * *"),
    ("every 12 hours on monday", "0 0,12 * * MON"),
    ("every 30 minutes on weekends", "*/30 * * * SAT,SUN"),
    ("every hour on monday", "0 * * * MON"),
    ("at minute 15 of every hour on weekdays", "15 * * * MON-FRI"),
    # intervals
    ("every 15 minutes", "PT15M"),
    ("every hour", "PT1H"),
    ("every two hours", "PT2H"),
    ("every 3 days", "P3D"),
    ("every 2 months", "P2M"),
    ("every day and 1 hour", "P1DT1H"),
    ("every 3 days at 9:30", "R/2026-11-16T09:30:00Z/P3D"),
    ("every other week on wednesday at 9:00", "R/2026-11-18T09:00:00Z/P2W"),
    ("every 3 months on the 31st at 9:00", "R/2026-12-31T09:00:00Z/P3M"),
    ("every month, from 2027-01-31 09:00, 5 times", "R5/2027-01-31T09:00:00Z/P1M"),
    # all there is, or nearly
    ("every second between 8:00 and 20:00", "* * 8-19 * * * | * 0 20 * * *"),
    ("every second between 8:00 and 20:30", "* * 8-19 * * * | * 0-30 20 * * *"),
    ("on weekdays and weekends at 9:00", "0 9 * * *"),
    # one instant
    ("tomorrow at 10:00", "2026-11-17T10:00:00Z"),
    ("today at 5pm", "2026-11-16T17:00:00Z"),
    ("next monday at 9am", "2026-11-23T09:00:00Z"),
    ("in 10 minutes", "2026-11-16T01:10:00Z"),
    ("in an hour and 30 minutes", "2026-11-16T02:30:00Z"),
    ("on 2027-03-01 at 10:00", "2027-03-01T10:00:00Z"),
]


@pytest.mark.parametrize(("text", "form"), UNDERSTOOD, ids=str)
def test_a_sentence_comes_to_one_normal_form(text, form):
    assert normal(text) == form


@pytest.mark.parametrize("text", [text for text, _ in UNDERSTOOD])
def test_what_explains_a_sentence_can_be_read_and_says_the_same(text):
    read = read_schedule(text, TERMS)

    again = read_schedule(explain(read), TERMS)

    if isinstance(read, Repeat):
        assert again == read
    else:
        assert normal_form(again) == normal_form(read)
    assert explain(again) == explain(read)


def test_a_zone_at_the_end_tells_the_clock_from_elapsed_time():
    assert read_schedule("every 15 minutes", TERMS) == Every(900 * SECOND)
    assert read_schedule("Every 15 minutes (UTC)", TERMS) == Cron("*/15 * * * *")


def test_tomorrow_is_tomorrow_in_the_zone_of_the_job():
    late = Terms(parse_instant("2026-11-16T12:00:00Z", field="now"), "Pacific/Auckland")

    assert normal_form(read_schedule("tomorrow at 0:30", late)) == "2026-11-17T11:30:00Z"


def test_a_time_of_tomorrow_that_the_clocks_leave_out_is_right_after_the_gap():
    terms = Terms(parse_instant("2027-03-27T12:00:00Z", field="now"), "Europe/Berlin")

    assert read_schedule("tomorrow at 02:30", terms) == Once(
        parse_instant("2027-03-28T01:00:00Z", field="at")
    )


@pytest.mark.parametrize(
    ("text", "position", "offered"),
    [
        ("every mondya at 9:00", 7, "every monday at 9:00"),
        ("evry weekday at 9am", 1, "every weekday at 9am"),
        ("every weekday at 9", 18, "every weekday at 9:00"),
        ("every day", 10, "every day at 9:00"),
        ("every month", 12, "every month on the 1st at 9:00"),
        ("every week at 9:00", 19, "every week at 9:00 on monday"),
        ("at 9am", 7, "at 9am every day"),
        ("tomorrow", 9, "tomorrow at 9:00"),
        ("every 5 minuets", 9, "every 5 minutes"),
        ("every weekday at 25:00", 18, None),
        ("every weekday at 13pm", 18, "every weekday at 9am"),
        ("on the 32nd at 9:00", 8, None),
        ("every 7 minutes on monday", 26, None),
        ("every monday on the 13th at 9:00", 14, None),
        ("every day at 9:00 every 15 minutes", 19, None),
        ("every 15 minutes between 20:00 and 8:00", 40, None),
        ("every day at 9:00 and", 22, None),
        ("at 09:00 every day (Europe/Berlin)", 21, None),
        ("yesterday at 9:00", 1, None),
        ("daily hourly", 7, None),
        ("every day at 9:00 and every", 28, None),
        ("today at 0:30", 14, None),
        ("whenever", 1, None),
    ],
)
def test_what_is_not_understood_is_refused_with_the_nearest_that_is(text, position, offered):
    with pytest.raises(InvalidSchedule) as refused:
        read_schedule(text, TERMS)

    assert refused.value.field == "schedule"
    assert refused.value.hint.startswith("Did you mean '")
    suggestion = refused.value.hint.removeprefix("Did you mean '").removesuffix("'?")
    assert offered in (None, suggestion)
    read_schedule(suggestion, TERMS)
    assert refused.value.position == position


@pytest.mark.parametrize("form", FORMS)
def test_every_form_that_is_offered_is_understood(form):
    assert coming(read_schedule(form, TERMS), NOW, 1, anchor=NOW)


def any_expression(chance: Random) -> str:
    """With five, six or seven fields, or two times of day joined."""
    text = cron_chance.expression(chance)
    second = cron_chance.field(chance, 0, 59)
    years = chance.choice(["2027", "2027-2030", "*/2", "1971-2199/3", "2030,2040-2044"])
    time = f"{cron_chance.field(chance, 0, 59)} {cron_chance.field(chance, 0, 23)}"
    joined = f"{text} | {time} {text.split(' ', 2)[2]}"
    return chance.choice([text, f"{second} {text}", f"{second} {text} {years}", joined])


def test_the_sentence_of_any_cron_is_read_back_to_the_same_instants():
    chance = Random(7)
    for _ in range(400):
        start = cron_chance.instant(chance) * SECOND
        zone = chance.choice(cron_chance.ZONES)
        # With rules of its own, since whether a time counts as fixed is not in the sentence.
        terms = Terms(start, zone, "after", "first")
        text = any_expression(chance)
        try:
            cron = Cron.parse(text, zone, dst_gap="after", dst_overlap="first")
        except NeverFires:
            continue
        if len(explain(cron)) > LENGTH_MAX:
            continue

        read = read_schedule(explain(cron), terms)

        assert coming(read, start, 5, anchor=0) == coming(cron, start, 5, anchor=0), text


def test_what_is_read_is_due_later_and_later():
    for text, _ in UNDERSTOOD:
        read = read_schedule(text, Terms(NOW, "Europe/Berlin"))
        dues = [each.at for each in coming(read, NOW, 20, anchor=NOW)]
        assert dues, text
        assert all(one < other for one, other in zip([NOW, *dues], dues, strict=False)), text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("5m", "every 5 minutes"),
        ("every 5m", "every 5 minutes"),
        ("10min", "every 10 minutes"),
        ("1h", "every hour"),
        ("90 s", "every 90 seconds"),
        ("every2days", "every 2 days"),
    ],
)
def test_an_interval_as_others_write_it_is_understood_well_enough_to_suggest(text, meant):
    with pytest.raises(InvalidSchedule) as refused:
        read_schedule(text, TERMS)

    assert refused.value.hint == f"Did you mean '{meant}'?"
