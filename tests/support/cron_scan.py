"""A second opinion on cron, as plain as can be: look at every minute of a day.

Nothing here is shared with the product. An expression is read by a few lines that trust it to be
valid; a day without a DST change is arithmetic; on any other day every minute of UTC is
asked what the local clock shows, and the rules for gaps and overlaps are applied to that list.
Minutes only: no seconds, and no zone whose offset has some (none has since 1972).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

MINUTE, HOUR = 60, 3600
DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
# fmt: off
MONTH_NAMES = (
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
)
# fmt: on
NAMES = {
    **{name: number for number, name in enumerate(DAY_NAMES)},
    **{name: number for number, name in enumerate(MONTH_NAMES, 1)},
}
ONE_DAY = timedelta(days=1)
DAYS_MAX = 200 * 366


def scan(
    expression: str, zone: str, start: int, count: int, *, gap: str = "", overlap: str = ""
) -> list[int]:
    """The first `count` due seconds after `start`; `gap` and `overlap` empty: Debian's rule."""
    minute, hour, *days = expression.split(" ")
    fixed = minute[0] != "*" and hour[0] != "*"
    gap = gap or ("after" if fixed else "skip")
    overlap = overlap or ("first" if fixed else "both")
    times = [h * 60 + m for h in sorted(values(hour, 0, 23)) for m in sorted(values(minute, 0, 59))]
    found: set[int] = set()
    day = datetime.fromtimestamp(start, ZoneInfo(zone)).date() - ONE_DAY
    more = 2  # a second pass, and a time made up for, may belong to the day before
    for _ in range(DAYS_MAX):
        if is_due(day, *days):
            found.update(t for t in dues(zone, day, times, gap, overlap) if t > start)
        if len(found) >= count:
            more -= 1
            if more < 0:
                break
        day += ONE_DAY
        if day.year > 2199:
            break
    return sorted(found)[:count]


def dues(zone: str, day: date, times: list[int], gap: str, overlap: str) -> set[int]:
    walls = [wall_of(day) + time * MINUTE for time in times]
    clock = clock_of(zone, day)
    if isinstance(clock, int):
        return {wall - clock for wall in walls}
    found: set[int] = set()
    for wall in walls:
        passes = clock.when.get(wall, [])
        if not passes:
            found.update(made_up(clock.table, wall, gap))
        elif len(passes) == 1 or overlap == "both":
            found.update(passes)
        else:
            found.add(passes[0] if overlap == "first" else passes[-1])
    return found


def made_up(table: list[tuple[int, int]], wall: int, gap: str) -> set[int]:
    for (_, before), (second, after) in pairwise(table):
        if before < wall < after:
            if gap == "skip" or after - before - MINUTE >= 3 * HOUR:
                return set()
            return {second if gap == "after" else second - MINUTE}
    return set()


class Minutes(NamedTuple):
    """(second, what is shown) of every minute; and the seconds at which a time is shown."""

    table: list[tuple[int, int]]
    when: dict[int, list[int]]


def clock_of(zone: str, day: date) -> int | Minutes:
    """The offset of a day without a change; otherwise what every minute shows."""
    plain = offset_of(zone, day)
    return minutes_of(zone, day) if plain is None else plain


@lru_cache(maxsize=20_000)
def offset_of(zone: str, day: date) -> int | None:
    """None: the clocks change on this day, or right before or after it."""
    info = ZoneInfo(zone)
    offsets = {offset(info, second) for second in range(*around(day), HOUR)}
    return offsets.pop() if len(offsets) == 1 else None


@lru_cache(maxsize=32)  # a megabyte each
def minutes_of(zone: str, day: date) -> Minutes:
    info = ZoneInfo(zone)
    table = [(second, second + offset(info, second)) for second in range(*around(day), MINUTE)]
    when: dict[int, list[int]] = {}
    for second, shown in table:
        when.setdefault(shown, []).append(second)
    return Minutes(table, when)


def around(day: date) -> tuple[int, int]:
    """The seconds of a day wherever it is, and some hours more."""
    return wall_of(day) - 27 * HOUR, wall_of(day) + 51 * HOUR + 1


def offset(info: ZoneInfo, second: int) -> int:
    shift = datetime.fromtimestamp(second, info).utcoffset()
    assert shift is not None
    return int(shift.total_seconds())


def wall_of(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


# --- days ---


@lru_cache(maxsize=200_000)
def is_due(day: date, in_month: str, months: str, in_week: str) -> bool:
    if day.month not in values(months, 1, 12):
        return False
    both = in_month[0] in "*?" or in_week[0] in "*?+"
    first = any(is_day(item, day) for item in in_month.split(","))
    second = any(is_weekday(item, day) for item in in_week.lstrip("+").split(","))
    return (first and second) if both else (first or second)


def is_day(item: str, day: date) -> bool:
    if item == "L":
        return (day + ONE_DAY).month != day.month
    if item == "LW":
        rest = [day + n * ONE_DAY for n in range(1, 8)]
        later = [other for other in rest if other.month == day.month and other.isoweekday() < 6]
        return day.isoweekday() < 6 and not later
    if item.endswith("W"):
        return day == nearest(day, int(item[:-1]))
    return day.day in values(item, 1, 31)


def nearest(day: date, number: int) -> date | None:
    if number > 28 and (day.replace(day=28) + (number - 28) * ONE_DAY).month != day.month:
        return None
    meant = day.replace(day=number)
    for days in (0, -1, 1, -2, 2):
        other = meant + days * ONE_DAY
        if other.month == day.month and other.isoweekday() < 6:
            return other
    return None


def is_weekday(item: str, day: date) -> bool:
    name, mark, which = item.partition("#")
    if item.endswith("L"):
        name, mark, which = item[:-1].rstrip("#"), "#", "L"
    if not mark:
        return day.isoweekday() % 7 in {value % 7 for value in values(item, 0, 7)}
    if day.isoweekday() % 7 != value_of(name) % 7:
        return False
    if which == "L":
        return (day + 7 * ONE_DAY).month != day.month
    return (day.day - 1) // 7 + 1 == int(which)


@lru_cache(maxsize=10_000)
def values(part: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for item in part.split(","):
        bounds, _, step = item.partition("/")
        first, _, last = (str(low), "-", str(high)) if bounds in "*?" else bounds.partition("-")
        found.update(range(value_of(first), value_of(last or first) + 1, int(step or 1)))
    return frozenset(found)


def value_of(text: str) -> int:
    return NAMES[text.upper()] if text.upper() in NAMES else int(text)
