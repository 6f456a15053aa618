"""Local dates and times: a day and a time of day in a zone, as an instant."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from onthedot.core.instants import INSTANT_MAX, SECOND, Instant
from onthedot.core.schedules.wall import DAY_S, seconds_of, wall_of
from onthedot.core.schedules.zones import zone_of

_EPOCH: Final = date(1970, 1, 1).toordinal()
_LOCAL: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?"
)


def local_instant(text: str, timezone: str) -> Instant | None:
    """The instant of text such as 2027-01-31T09:30, without offset; None if it is no such text."""
    match = _LOCAL.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    if hour > 23 or minute > 59 or second > 59:
        return None
    found = day_number(year, month, day)
    return None if found is None else at_wall(found, hour * 3600 + minute * 60 + second, timezone)


def at_wall(day: int, second: int, timezone: str) -> Instant | None:
    """The instant of a second of a day. One that the clocks leave out is right after the gap, of
    one that comes twice it is the first.
    """
    found = seconds_of(zone_of(timezone), day * DAY_S + second, "after", "first")
    return found[0] * SECOND if found and 0 <= found[0] * SECOND <= INSTANT_MAX else None


def today(now: Instant, timezone: str) -> int:
    """The day that the calendar shows, counted from 1970-01-01."""
    return wall_of(zone_of(timezone), now // SECOND) // DAY_S


def day_number(year: int, month: int, day: int) -> int | None:
    """Counted from 1970-01-01; None if the calendar has no such day, or it is not of our time."""
    try:
        return date(year, month, day).toordinal() - _EPOCH if 1970 <= year <= 2199 else None
    except ValueError:
        return None
