"""Calendars, case by case: what each rule covers, and what becomes of instants that it forbids."""

from __future__ import annotations

import pytest

from onthedot.core.effort import spent
from onthedot.core.instants import HOUR, Instant, format_instant, parse_instant
from onthedot.core.model import NamedCalendar, rule_of
from onthedot.core.schedules import (
    Allowed,
    Calendar,
    Cron,
    Every,
    FixedDelay,
    Roll,
    Schedule,
    Within,
    coming,
    latest,
    span,
)
from onthedot.core.schedules.allowed import STEPS_MAX, instants_a_day
from onthedot.core.schedules.calendar import RULES_MAX
from onthedot.core.schedules.reading import read_schedule
from onthedot.core.schedules.terms import Terms
from onthedot.core.zoning import zone_in
from onthedot.errors import Invalid, InvalidCalendar, TooCostly
from onthedot.store.codec import definition_from, definition_text, rule_from, rule_text
from onthedot.store.zones import zone_of_rule
from onthedot.wire import PreviewIn
from onthedot.wire.windows import windowed
from tests.support.builders import a_definition

FAR = "2199-01-01T00:00:00Z"
BUSINESS = {"require": ["mon-fri"], "exclude": ["12-25", "01-01", "2027-03-29"]}


def at(text: str) -> Instant:
    return parse_instant(text, field="text")


def a_calendar(**rules: list[str]) -> Calendar:
    return Calendar.read(rules.get("exclude", []), rules.get("require", []))


# expression, zone, roll, calendar, after, what comes of it: (due, the instant it stands for)
CASES: dict[str, tuple[str, str, Roll, dict[str, list[str]], str, list[tuple[str, str]]]] = {
    "a holiday on a Monday is left out": (
        *("0 9 * * MON", "UTC", "skip", BUSINESS, "2027-03-20T00:00:00Z"),
        [("2027-03-22T09:00:00Z", "2027-03-22"), ("2027-04-05T09:00:00Z", "2027-04-05")],
    ),
    "a holiday on a Monday moves to Tuesday": (
        *("0 9 * * MON", "UTC", "next", BUSINESS, "2027-03-23T00:00:00Z"),
        [("2027-03-30T09:00:00Z", "2027-03-29"), ("2027-04-05T09:00:00Z", "2027-04-05")],
    ),
    "a holiday on a Monday moves back over the weekend": (
        *("0 9 * * MON", "UTC", "previous", BUSINESS, "2027-03-23T00:00:00Z"),
        [("2027-03-26T09:00:00Z", "2027-03-29"), ("2027-04-05T09:00:00Z", "2027-04-05")],
    ),
    "the end of a month moves back to the last business day": (
        *("0 18 L * *", "UTC", "previous", BUSINESS, "2027-01-01T00:00:00Z"),
        [("2027-01-29T18:00:00Z", "2027-01-31"), ("2027-02-26T18:00:00Z", "2027-02-28")],
    ),
    "two that are moved to one day are one run, named after the nearer one": (
        *("0 9 * * SAT,SUN", "UTC", "next", BUSINESS, "2027-01-08T00:00:00Z"),
        [("2027-01-11T09:00:00Z", "2027-01-10"), ("2027-01-18T09:00:00Z", "2027-01-17")],
    ),
    "what is moved onto an instant of its own is one run": (
        *("0 9 * * SUN,MON", "UTC", "next", BUSINESS, "2027-01-08T00:00:00Z"),
        [("2027-01-11T09:00:00Z", "2027-01-11"), ("2027-01-18T09:00:00Z", "2027-01-18")],
    ),
    "a blackout that covers a gap of the clocks": (
        *("30 2 * * *", "Europe/Berlin", "skip"),
        {"exclude": ["2027-03-28T01:00/2027-03-28T03:00"]},
        "2027-03-27T12:00:00Z",
        # 02:30 does not exist: it is made up for at 03:00, when the blackout is over.
        [("2027-03-28T01:00:00Z", "2027-03-28"), ("2027-03-29T00:30:00Z", "2027-03-29")],
    ),
    "a blackout until after the gap": (
        *("30 2 * * *", "Europe/Berlin", "next"),
        {"exclude": ["2027-03-28T01:00/2027-03-28T03:30"]},
        "2027-03-27T12:00:00Z",
        # 03:00 moves to 03:00; 02:30 of the next day comes before it.
        [("2027-03-29T00:30:00Z", "2027-03-29"), ("2027-03-29T01:00:00Z", "2027-03-28")],
    ),
    "moved onto a day without that time, it is due right after the gap": (
        *("30 2 * * SAT", "Europe/Berlin", "next", {"exclude": ["2027-03-27"]}),
        "2027-03-21T00:00:00Z",
        [("2027-03-28T01:00:00Z", "2027-03-27"), ("2027-04-03T00:30:00Z", "2027-04-03")],
    ),
    "both passes of an overlap are judged by what the clock shows": (
        *("*/30 * * * *", "Europe/Berlin", "skip"),
        {"require": ["2027-10-31T02:00/2027-10-31T02:30"]},
        "2027-10-30T00:00:00Z",
        [("2027-10-31T00:00:00Z", "2027-10-31"), ("2027-10-31T01:00:00Z", "2027-10-31")],
    ),
    "a day is one of the job's zone": (
        *("0 20 * * *", "America/New_York", "skip", {"exclude": ["2027-07-04"]}),
        "2027-07-03T00:00:00Z",
        # 20:00 on the 3rd is the 4th in UTC already.
        [("2027-07-04T00:00:00Z", "2027-07-04"), ("2027-07-06T00:00:00Z", "2027-07-06")],
    ),
    "hours past midnight belong to the day on which they begin": (
        *("0 1 * * *", "UTC", "skip", {"require": ["fri 22:00-06:00"]}, "2027-01-07T00:00:00Z"),
        [("2027-01-09T01:00:00Z", "2027-01-09"), ("2027-01-16T01:00:00Z", "2027-01-16")],
    ),
    "a span of every year goes on over the turn of the year": (
        *("0 9 20 * *", "UTC", "next", {"exclude": ["12-20/01-06"]}, "2027-11-30T00:00:00Z"),
        [("2028-01-07T09:00:00Z", "2027-12-20"), ("2028-01-20T09:00:00Z", "2028-01-20")],
    ),
    "a leap day of every year is in leap years only": (
        *("0 9 * * *", "UTC", "skip", {"require": ["02-29"]}, "2027-01-01T00:00:00Z"),
        [("2028-02-29T09:00:00Z", "2028-02-29"), ("2032-02-29T09:00:00Z", "2032-02-29")],
    ),
    "what has no allowed day within two months is left out": (
        *("0 9 1 * *", "UTC", "next", {"require": ["2027-07-01"]}, "2027-01-01T09:00:00Z"),
        [("2027-07-01T09:00:00Z", "2027-07-01")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_instant_under_a_calendar(case: str) -> None:
    expression, zone, roll, rules, after, expected = CASES[case]
    schedule = Allowed(Cron.parse(expression, zone), a_calendar(**rules), roll, zone)

    found = coming(schedule, at(after), len(expected), anchor=0)

    assert [(format_instant(c.at), format_instant(c.nominal)[:10]) for c in found] == expected


@pytest.mark.parametrize("roll", ["skip", "next", "previous"])
def test_a_time_of_day_that_no_day_allows_is_given_up_after_a_bounded_number_of_steps(
    roll: Roll,
) -> None:
    schedule = Allowed(Cron.parse("0 20 * * *"), a_calendar(require=["09:00-17:00"]), roll)
    begun = spent()

    with pytest.raises(TooCostly, match="in a row the calendar allows none"):
        schedule.after(at("2027-01-01T00:00:00Z"))

    assert 0 < spent() - begun <= STEPS_MAX


def test_a_second_under_a_blackout_of_centuries_is_found_without_looking_at_each() -> None:
    schedule = Allowed(Every(1_000_000), a_calendar(exclude=["1970-01-01/2198-12-31"]))
    anchor = at("2027-01-01T00:00:00Z")

    assert schedule.after(anchor, anchor=anchor) == at("2199-01-01T00:00:00Z")


def test_a_preview_says_what_was_moved_and_how_many_have_no_run_of_their_own() -> None:
    schedule = Allowed(Cron.parse("0 9 * * *"), a_calendar(**BUSINESS), "next")

    thursday, monday = coming(schedule, at("2026-12-24T00:00:00Z"), 2, anchor=0)

    assert (thursday.marks, thursday.skipped) == ((), 0)
    assert (monday.at, monday.marks, monday.skipped) == (at("2026-12-28T09:00:00Z"), (), 3)
    weekly = Allowed(Cron.parse("0 9 25 12 *"), a_calendar(**BUSINESS), "next")
    (moved,) = coming(weekly, at("2026-12-24T00:00:00Z"), 1, anchor=0)
    assert (moved.marks, moved.nominal) == (("calendar",), at("2026-12-25T09:00:00Z"))
    secondly = Allowed(Every(1_000_000), a_calendar(exclude=["2027-01-02"]))
    day = coming(secondly, at("2027-01-01T23:59:59Z"), 1, anchor=at("2027-01-01T00:00:00Z"))
    assert day[0].skipped == 24 * 3600


def test_ranges_are_counted_and_ended_by_what_is_allowed() -> None:
    schedule = Allowed(Cron.parse("0 9 * * *"), a_calendar(**BUSINESS))
    first, until = at("2027-01-01T00:00:00Z"), at("2027-01-31T23:00:00Z")
    begin = schedule.after(first)
    assert begin is not None

    assert latest(schedule, until, first=begin, anchor=0) == at("2027-01-29T09:00:00Z")
    counted = span(schedule, begin, until, anchor=0)
    assert counted is not None
    assert counted.count == 20


RULES = {
    "2027-12-24": "2027-12-24",
    " 12-25 ": "12-25",
    "2027-12-24/2028-01-02": "2027-12-24/2028-01-02",
    "12-24/01-02": "12-24/01-02",
    "MON-Fri": "mon-fri",
    "sun, sat": "sat,sun",
    "sat-mon": "mon,sat,sun",
    "mon-sun": "mon-sun",
    "mon,wed  09:00-17:00": "mon,wed 09:00-17:00",
    "22:00-06:00": "22:00-06:00",
    "00:00-24:00": "00:00-24:00",
    "2027-12-20t18:00/2028-01-02T08:00": "2027-12-20T18:00/2028-01-02T08:00",
}


@pytest.mark.parametrize("text", RULES)
def test_a_rule_is_kept_in_one_form_that_is_read_back(text: str) -> None:
    read = a_calendar(exclude=[text]).exclude

    assert read == (RULES[text],)
    assert a_calendar(exclude=list(read)).exclude == read


REFUSED = {
    "2027-02-29": "does not exist",
    "2200-01-01": "1970 to 2199",
    "02-30": "no year has",
    "13-01": "no year has",
    "2027-12-24/2027-12-23": "ends before it begins",
    "2027-12-24/12-26": "both of its ends",
    "2027-12-24/": "both of its ends",
    "2027-12-20T18:00/2027-12-20T18:00": "does not end after",
    "2027-12-20T18:60/2027-12-21T18:00": "no clock shows",
    "09:00-24:01": "no clock shows",
    "09:00-09:00": "no time between",
    "24:00-06:00": "no time between",
    "mon-funday": "not understood",
    "monday": "not understood",
    "christmas": "not understood",
    "": "not understood",
    "mon," + "tue," * 20: "at most 64",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_rule_that_is_not_understood_is_refused_by_its_place(text: str) -> None:
    with pytest.raises(InvalidCalendar, match=REFUSED[text]) as refused:
        a_calendar(exclude=["12-25", text])

    assert refused.value.field == "exclude[1]"
    assert refused.value.hint


def test_a_calendar_without_rules_or_with_too_many_is_refused() -> None:
    with pytest.raises(InvalidCalendar, match="allows everything"):
        a_calendar()
    with pytest.raises(InvalidCalendar, match="1001 rules"):
        a_calendar(exclude=["12-25"] * (RULES_MAX + 1))
    moments = [f"2027-01-01T{k // 60:02}:{k % 60:02}/2028-01-01T00:00" for k in range(900)]
    with pytest.raises(InvalidCalendar, match="characters together"):
        a_calendar(exclude=moments)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("0 9 * * *", 1),
        ("0,30 9-17 * * MON", 18),
        ("*/5 * * * * *", 12 * 60 * 24),
        ("PT6H", 4),
        ("P1M", 1),
        ("every day at 9:00 and 17:30", 2),
    ],
)
def test_how_many_instants_a_day_may_have(text: str, most: int) -> None:
    found = read_schedule(text, Terms(at("2027-01-01T00:00:00Z") + HOUR))

    assert isinstance(found, Schedule)
    assert instants_a_day(found) == most


def test_a_fixed_delay_follows_no_calendar() -> None:
    fixed = a_definition(schedule=FixedDelay(60_000_000))
    named = NamedCalendar("business", 1, a_calendar(**BUSINESS))

    with pytest.raises(Invalid, match="fixed delay has none") as refused:
        windowed(fixed, PreviewIn(calendar="business"), named)

    assert refused.value.field == "calendar"


def test_a_definition_and_its_rule_are_read_back_with_their_calendar() -> None:
    named = NamedCalendar("business", 3, a_calendar(**BUSINESS))
    definition = a_definition(
        schedule=Cron.parse("0 9 * * *"), calendar=named, calendar_roll="next", end_at=at(FAR)
    )

    rule = rule_of(definition)

    assert definition_from(definition_text(definition), definition.payload) == definition
    assert rule is not None
    assert rule_from(rule_text(rule)) == rule
    assert rule.schedule == Within(
        Allowed(Cron.parse("0 9 * * *"), named.calendar, "next"), end=at(FAR)
    )


def test_an_interval_under_a_calendar_is_due_by_the_zone_of_its_job() -> None:
    named = NamedCalendar("business", 1, a_calendar(**BUSINESS))
    definition = a_definition(schedule=Every(HOUR), timezone="Europe/Berlin", calendar=named)
    rule = rule_of(definition)

    assert rule is not None
    assert zone_of_rule(rule_text(rule)) == zone_in(definition) == "Europe/Berlin"
