"""Instants: microseconds since the epoch, UTC, as integers; RFC 3339 where people meet them."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Final

from onthedot.errors import InvalidInstant

Instant = int

MILLISECOND: Final = 1_000
SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, which its text is not to repeat
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()

# The last microsecond of 2199: an end for every search, and far below what 64 bits hold.
INSTANT_MAX: Final[Instant] = (date(2200, 1, 1).toordinal() - _EPOCH_ORDINAL) * DAY - 1

_TEXT_LENGTH_MAX: Final = 64
_EXAMPLE: Final = "2027-01-31T09:30:00Z"

# datetime.fromisoformat also takes week dates, spaces and missing parts; a contract should not.
_RFC_3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)


def parse_instant(text: str, *, field: str) -> Instant:
    """The instant of RFC 3339 text. An offset or `Z` is needed; digits below 1 µs are cut."""
    if len(text) > _TEXT_LENGTH_MAX:
        why = f"has {len(text)} characters, at most {_TEXT_LENGTH_MAX} are read"
        raise _invalid(field, text, why)
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise _invalid(field, text, "is not an RFC 3339 date and time")
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    if offset is None:
        raise _invalid(
            field,
            text,
            "has no time zone",
            hint=f"Add Z for UTC ({text}Z) or an offset ({text}+02:00).",
        )
    seconds = _seconds_of_day(field, text, hour, minute, second)
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    days = _days(field, text, year, month, day)
    instant = days * DAY + seconds * SECOND + micros - _offset(field, text, offset)
    return _within_range(field, text, instant)


def format_instant(instant: Instant) -> str:
    """RFC 3339 in UTC with `Z`, and as many digits of the second as are needed: 0, 3 or 6."""
    text = (_EPOCH + timedelta(microseconds=instant)).isoformat()
    if instant % MILLISECOND == 0 and instant % SECOND:
        text = text[:-3]
    return text + "Z"


def _days(field: str, text: str, year: str, month: str, day: str) -> int:
    try:
        return date(int(year), int(month), int(day)).toordinal() - _EPOCH_ORDINAL
    except ValueError as error:
        raise _invalid(field, text, f"is not a date of the calendar ({error})") from None


def _seconds_of_day(field: str, text: str, hour: str, minute: str, second: str) -> int:
    if second == "60":
        raise _invalid(
            field,
            text,
            "is a leap second, which clocks here do not have",
            hint="Use second 59, or the next whole minute.",
        )
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        raise _invalid(field, text, "has a time of day outside 00:00:00-23:59:59")
    return int(hour) * 3600 + int(minute) * 60 + int(second)


def _offset(field: str, text: str, offset: str) -> int:
    if offset in "Zz":
        return 0
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 23 or minutes > 59:
        raise _invalid(field, text, f"has an offset {offset!r} outside -23:59 to +23:59")
    size = hours * HOUR + minutes * MINUTE
    return -size if offset[0] == "-" else size


def _within_range(field: str, text: str, instant: Instant) -> Instant:
    if instant < 0:
        raise _invalid(field, text, "is before 1970", hint="Use an instant from 1970 to 2199.")
    if instant > INSTANT_MAX:
        raise _invalid(field, text, "is after 2199", hint="Use an instant from 1970 to 2199.")
    return instant


def _invalid(field: str, text: str, why: str, *, hint: str = "") -> InvalidInstant:
    shown = repr(text) if len(text) <= _TEXT_LENGTH_MAX else repr(text[:32]) + "..."
    return InvalidInstant(
        f"{field} {shown} {why}", hint=hint or f"Write it like {_EXAMPLE}.", field=field
    )
