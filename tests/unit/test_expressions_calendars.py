"""Schedules under calendars, held against a scan of days that shares nothing with the product; and
any text at all as a rule. CI judges 60 and reads 10,000; `python3 dev.py cron` more.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from zoneinfo import ZoneInfo

import pytest

from onthedot.core.instants import SECOND, parse_instant
from onthedot.core.schedules import Allowed, Calendar, Cron, Roll
from onthedot.core.schedules.calendar_text import CalendarRule, read_rule
from onthedot.errors import InvalidCalendar, TooCostly
from tests.support.cron_chance import PAIR_PARTS, PAIRS, TEXT_PARTS, TEXTS

CASES = PAIRS // 10
PARTS = PAIR_PARTS
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns")
NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EXPRESSIONS = (
    *("0 9 * * *", "30 2 * * *", "0 0 * * *", "0 18 L * *", "15 23 * * SUN", "0 9 * * MON"),
    *("0 */6 * * *", "30 1,2,3 * * *", "0 12 1,15 * *", "45 0 29 2 *", "0 9 LW * *"),
)
ONE_DAY = timedelta(days=1)
NO_TIME = timedelta()
Rules = tuple[str, ...]
START = datetime(2026, 1, 1, tzinfo=UTC)


def any_rule(chance: Random) -> str:
    day = START.date() + timedelta(days=chance.randrange(900))
    later = day + timedelta(days=chance.choice([0, 1, 3, 20, 90]))
    hours = chance.choice(["09:00-17:00", "22:00-06:00", "00:00-02:30", "02:00-03:00"])
    first, last = chance.choice(NAMES), chance.choice(NAMES)
    return chance.choice(
        [
            *(f"{day}", f"{day}/{later}", f"{day:%m-%d}", f"{day:%m-%d}/{later:%m-%d}"),
            *(f"{day}T18:00/{later + ONE_DAY}T02:30", hours, f"{first}-{last} {hours}"),
            *(f"{first}-{last}", f"{first},{last}", "mon-fri", "sat,sun"),
        ]
    )


def covers(rule: str, local: datetime) -> bool:
    """Texts of dates and times sort as what they stand for."""
    day, of_year, moment = f"{local:%Y-%m-%d}", f"{local:%m-%d}", f"{local:%Y-%m-%dT%H:%M}"
    first, slash, last = rule.partition("/")
    if "T" in rule:
        return first <= moment < last
    if len(first) == 10 and first[0] == "2":
        return first <= day <= (last if slash else first)
    if first[0].isdigit() and ":" not in first:
        last = last if slash else first
        inside = first <= of_year <= last
        return inside if first <= last else of_year >= first or of_year <= last
    days, _, hours = rule.rpartition(" ") if ":" in rule else (rule, "", "00:00-24:00")
    begin, _, end = hours.partition("-")
    shown = f"{local:%H:%M}"
    today, before = is_named(days, local.weekday()), is_named(days, (local.weekday() - 1) % 7)
    if begin < end:
        return today and begin <= shown < end
    return (today and shown >= begin) or (before and shown < end)


def is_named(days: str, weekday: int) -> bool:
    if not days:
        return True
    if "-" not in days:
        return NAMES[weekday] in days.split(",")
    first, last = (NAMES.index(name) for name in days.split("-"))
    while first != last:
        if first == weekday:
            return True
        first = (first + 1) % 7
    return first == weekday


@lru_cache(maxsize=10_000)
def allowed(exclude: Rules, require: Rules, local: datetime) -> bool:
    if any(covers(rule, local) for rule in exclude):
        return False
    return not require or any(covers(rule, local) for rule in require)


def landed(nominal: int, zone: ZoneInfo, roll: Roll, exclude: Rules, require: Rules) -> int | None:
    local = datetime.fromtimestamp(nominal, zone)
    if allowed(exclude, require, local):
        return nominal
    wall = local.replace(tzinfo=None)
    for _ in range(0 if roll == "skip" else 62):
        wall += ONE_DAY if roll == "next" else -ONE_DAY
        if allowed(exclude, require, wall):
            found = first_showing(wall, zone)
            return found if allowed(exclude, require, datetime.fromtimestamp(found, zone)) else None
    return None


def first_showing(wall: datetime, zone: ZoneInfo) -> int:
    """The first second at which the clock shows this, or more where it never does."""
    second = int(wall.replace(tzinfo=UTC).timestamp()) - 16 * 3600
    while (short := wall - datetime.fromtimestamp(second, zone).replace(tzinfo=None)) > NO_TIME:
        second += 1800 if short > timedelta(hours=4) else 60
    return second


@pytest.mark.parametrize("part", range(PARTS))
def test_what_a_scan_of_days_finds_is_due_and_nothing_else(
    part: int, record_property: Callable[[str, object], None]
) -> None:
    numbers = range(part, CASES, PARTS)
    record_property("schedules under calendars held against a scan of days", len(numbers))
    for number in numbers:
        chance = Random(f"calendar {number}")
        zone, expression = chance.choice(ZONES), chance.choice(EXPRESSIONS)
        roll: Roll = chance.choice(["skip", "next", "previous"])
        exclude = tuple(any_rule(chance) for _ in range(chance.randint(0, 6)))
        require = tuple(any_rule(chance) for _ in range(chance.choice([0, 0, 1, 2])))
        if not exclude and not require:
            continue
        said = f"{number}: {expression} {zone} {roll} exclude={exclude} require={require}"
        cron = Cron.parse(expression, zone)
        schedule = Allowed(cron, Calendar.read(exclude, require), roll, zone)
        begin = START + timedelta(days=chance.randrange(500), minutes=chance.randrange(1440))
        start, end = int(begin.timestamp()), int((begin + timedelta(days=60)).timestamp())

        expected = set()
        nominal = cron.after((start - 70 * 86_400) * SECOND)
        while nominal is not None and nominal <= (end + 70 * 86_400) * SECOND:
            lands = landed(nominal // SECOND, ZoneInfo(zone), roll, exclude, require)
            if lands is not None and start < lands <= end:
                expected.add(lands)
            nominal = cron.after(nominal)

        found = []
        due = due_after(schedule, start * SECOND)
        while due is not None and due <= end * SECOND:
            found.append(due // SECOND)
            due = due_after(schedule, due)
        assert found == sorted(expected), said  # strictly increasing, too


def due_after(schedule: Allowed, instant: int) -> int | None:
    """None also where the search was given up: what a scan finds within months is near enough."""
    try:
        return schedule.after(instant)
    except TooCostly:
        return None


PIECES = (
    *("2027-12-24", "12-25", "02-30", "mon", "fri", "sun", "-", ",", "/", " ", "T", "t", ":"),
    *("09:00", "17:00", "24:00", "2027-12-20T18:00", "22:00-06:00", "0", "9", "é", "\0", "²", "١"),
)


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_any_text_is_a_rule_that_is_read_back_or_is_refused(
    part: int, record_property: Callable[[str, object], None]
) -> None:
    chance = Random(f"rules {part}")
    record_property("texts read as rules of calendars", TEXTS // TEXT_PARTS)
    for _ in range(TEXTS // TEXT_PARTS):
        text = "".join(chance.choices(PIECES, k=chance.randint(0, 7)))
        rule = outcome(text)
        if isinstance(rule, InvalidCalendar):
            assert rule.field == "exclude[0]"
            assert rule.hint
            continue
        assert read_rule(rule.text, field="again") == rule, text
        days = Calendar((rule.text,), ()).days
        assert all(0 <= start < end <= 86_400 for start, end in days.hours(21_000))


def outcome(text: str) -> CalendarRule | InvalidCalendar:
    try:
        return read_rule(text, field="exclude[0]")
    except InvalidCalendar as error:
        return error


def test_moments_far_from_today_are_judged_too() -> None:
    far = parse_instant("2199-12-30T00:00:00Z", field="far")
    schedule = Allowed(Cron.parse("0 9 * * *"), Calendar.read(["sat,sun"], []), "next")

    assert schedule.after(far) is not None
    assert schedule.after(far + 3 * 86_400 * SECOND) is None
