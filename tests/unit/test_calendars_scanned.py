"""Calendars that jump, held against ones that look at every day, over any rules and rolls."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import takewhile

from hypothesis import example, given, settings
from hypothesis import strategies as st

from onthedot.core.instants import DAY, SECOND, parse_instant
from onthedot.core.schedules import Allowed, Calendar, Cron, Roll, coming, dues, latest, nth
from onthedot.core.schedules.calendar_days import CalendarDays, has, united, without
from onthedot.core.schedules.wall import DAY_S
from onthedot.errors import TooCostly
from tests.support.calendar_scan import ScannedDays, ScannedSchedule

START = parse_instant("2026-12-20T00:00:00Z", field="start")
DAYS = 120
DATES = st.integers(-200, 500).map(lambda shift: date(2026, 12, 20) + timedelta(days=shift))
HOURS = st.sampled_from(["09:00-17:00", "22:00-06:00", "00:00-02:30", "02:00-03:00", "00:00-23:59"])
WEEK = st.sampled_from(["mon-fri", "sat,sun", "mon", "tue,thu", "fri-mon", "sun"])
LENGTHS = st.sampled_from([0, 1, 3, 20, 61, 62, 63, 90, 335])


@st.composite
def rules(draw: st.DrawFn) -> list[str]:
    """One rule, or a closure made of one date after the other, as people list them."""
    day, length = draw(DATES), draw(LENGTHS)
    later = day + timedelta(days=length)
    match draw(st.integers(0, 8)):
        case 0:
            return [f"{day}"]
        case 1:
            return [f"{day}/{later}"]
        case 2:
            return [f"{day + timedelta(days=k)}" for k in range(length + 1)]
        case 3:
            return [f"{day:%m-%d}/{later:%m-%d}"]
        case 4:
            return [f"{day}T18:00/{later + timedelta(days=1)}T02:30"]
        case 5:
            return [draw(HOURS)]
        case 6:
            return [f"{draw(WEEK)} {draw(HOURS)}"]
        case 7:
            return [f"{day:%m-%d}"]
    return [draw(WEEK)]


SIDE = st.lists(rules(), max_size=4).map(lambda found: [rule for each in found for rule in each])
SIDES = st.tuples(SIDE, st.one_of(st.just([]), SIDE)).filter(any)
CRONS = st.sampled_from(
    [
        *("0 9 * * *", "30 2 * * *", "0 0 * * *", "0 18 L * *", "0 9 * * MON", "30 1,2,3 * * *"),
        *("0 */6 * * *", "0 * * * *", "0 12 1,15 * *", "15 23 * * SUN"),
    ]
)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
ROLLS: st.SearchStrategy[Roll] = st.sampled_from(["skip", "next", "previous"])


@settings(max_examples=60, deadline=None)
@given(SIDES, st.lists(st.integers(0, 500 * DAY_S), min_size=1, max_size=8))
def test_days_answer_as_a_look_at_every_rule_does(sides, shifts):
    days, scanned = CalendarDays(*sides), ScannedDays(*sides)
    for shift in shifts:
        wall = START // SECOND - 100 * DAY_S + shift

        assert days.allows(wall) == scanned.allows(wall)
        assert days.nearest(wall, 1) == scanned.nearest(wall, 1)
        assert days.nearest(wall, -1) == scanned.nearest(wall, -1)


@settings(max_examples=40, deadline=None)
@given(SIDES, st.integers(0, 300 * DAY_S))
def test_what_opens_next_is_the_first_minute_that_every_rule_allows(sides, shift):
    wall = START // SECOND + shift
    end = wall + 40 * DAY_S

    found = CalendarDays(*sides).opens(wall)

    expected = ScannedDays(*sides).opens(wall, end)
    assert found == expected if expected is not None else found is None or found >= end


@settings(max_examples=150, deadline=None)
@given(SIDES, CRONS, ROLLS, ZONES, st.integers(0, 400 * DAY))
def test_what_comes_is_what_a_look_at_every_instant_finds(sides, expression, roll, zone, shift):
    allowed = Allowed(Cron.parse(expression, zone), Calendar(*map(tuple, sides)), roll, zone)
    scanned, after = ScannedSchedule(allowed), START + shift
    until = after + DAYS * DAY
    expected = scanned.dues(after, until)[:40]

    found = coming(allowed, after, len(expected), anchor=0)

    assert [each.at for each in found] == expected
    for before, each in zip([after, *expected], found, strict=False):
        named, *others = scanned.gathered(each.at)
        passed = scanned.left_out(before, each.at)
        assert (each.nominal, each.skipped) == (named, passed + len(others))
        assert allowed.gathered(each.at) == [named, *others]


@settings(max_examples=60, deadline=None)
@given(SIDES, CRONS, ROLLS, ZONES, st.integers(0, 400 * DAY))
@example((["12-20/02-21"], []), "0 * * * *", "next", "UTC", 0)
def test_one_at_a_time_or_all_in_a_row_are_the_same_instants(sides, expression, roll, zone, shift):
    allowed = Allowed(Cron.parse(expression, zone), Calendar(*map(tuple, sides)), roll, zone)
    after = START + shift
    until = after + DAYS * DAY
    try:
        in_a_row = list(takewhile(lambda due: due <= until, dues(allowed, after, anchor=0)))[:30]
    except TooCostly:
        return

    one_at_a_time = []
    at = after
    for _ in in_a_row:
        at = allowed.after(at)
        one_at_a_time.append(at)
    assert one_at_a_time == in_a_row
    if in_a_row:
        first, last = in_a_row[0], in_a_row[-1]
        assert allowed.count(first, last) == len(in_a_row)
        assert latest(allowed, last, first=first, anchor=0) == last
        assert nth(allowed, after, len(in_a_row), anchor=0) == last


PARTS = st.lists(st.tuples(st.integers(0, 99), st.integers(1, 20)), max_size=8).map(
    lambda parts: united((start, start + length) for start, length in parts)
)


@given(PARTS, PARTS)
def test_what_is_left_without_some_parts_has_every_second_but_theirs(parts, taken):
    left = without(parts, taken)

    assert united(left) == left
    for second in range(130):
        assert has(left, second) == (has(parts, second) and not has(taken, second))
