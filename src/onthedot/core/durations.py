"""Durations: microseconds as plain integers; seconds or ISO 8601 text where people meet them."""

from __future__ import annotations

import math
from typing import Final

from onthedot.core.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from onthedot.errors import InvalidDuration

DURATION_MAX: Final = 36_525 * DAY  # 100 years

_TEXT_LENGTH_MAX: Final = 64
_DIGITS: Final = frozenset("0123456789")
_WEEK: Final = 7 * DAY
_DATE_UNITS: Final = {"W": _WEEK, "D": DAY}
_TIME_UNITS: Final = {"H": HOUR, "M": MINUTE, "S": SECOND}
_HINT: Final = (
    "Give a number of seconds (90, 0.5) or an ISO 8601 duration ('PT15M', 'PT0.5S', 'P1DT2H')."
)


def parse_duration(value: object, *, field: str) -> int:
    """Microseconds from a number of seconds or an ISO 8601 duration, 0 to 100 years."""
    if isinstance(value, bool):
        raise _invalid(field, value, "is not a duration")
    if isinstance(value, int):
        micros = value * SECOND
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _invalid(field, value, "is not a finite number")
        # Far beyond what is allowed a product of floats is no number any more.
        micros = round(min(max(value, -1.0), 2.0 * DURATION_MAX) * SECOND)
    elif isinstance(value, str):
        micros = _parse_text(value, field)
    else:
        raise _invalid(field, value, "is not a duration")
    if micros < 0 or (isinstance(value, float) and value < 0):
        raise _invalid(field, value, "is negative", hint="Use 0 or more.")
    if micros > DURATION_MAX:
        raise _invalid(field, value, "is longer than 100 years", hint="Use 100 years or less.")
    return micros


def format_duration(us: int) -> str:
    """For people: '250 ms', '1.5 s', '2 min', '1 h 5 min', '3 d'. Exact to the millisecond."""
    if us < 0:
        return "-" + format_duration(-us)
    if us == 0:
        return "0 s"
    if us < MILLISECOND:
        return f"{us} µs"
    if us < SECOND:
        return _decimal(us, MILLISECOND) + " ms"
    parts = []
    for size, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        amount, us = divmod(us, size)
        if amount:
            parts.append(f"{amount} {name}")
    # What is left below a second matters to nobody beyond the millisecond.
    if us >= MILLISECOND:
        parts.append(_decimal(us - us % MILLISECOND, SECOND) + " s")
    return " ".join(parts)


def _decimal(us: int, unit: int) -> str:
    whole, rest = divmod(us, unit)
    digits = str(rest).zfill(len(str(unit)) - 1).rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def _parse_text(text: str, field: str) -> int:
    """ISO 8601: 'P', weeks, days, then 'T', hours, minutes, seconds; each at most once."""
    if len(text) > _TEXT_LENGTH_MAX:
        why = f"has {len(text)} characters, at most {_TEXT_LENGTH_MAX} are read"
        raise _invalid(field, text, why)
    if text.startswith("-"):
        raise _invalid(field, text, "is negative", hint="Use 0 or more.")
    if not text.startswith("P"):
        raise _invalid(field, text, "is not a duration")
    dates, has_time, times = text[1:].partition("T")
    if not (dates or times) or (has_time and not times):
        raise _invalid(field, text, "has no amount after its last letter")
    if "." in dates.replace(",", ".") and times:
        raise _invalid(field, text, "has a fraction before its last part")
    return _amounts(dates, _DATE_UNITS, text, field) + _amounts(times, _TIME_UNITS, text, field)


def _amounts(part: str, units: dict[str, int], text: str, field: str) -> int:
    total, at = 0, 0
    remaining = list(units)
    while at < len(part):  # each turn consumes at least the letter
        start = at
        while at < len(part) and (part[at] in _DIGITS or part[at] in ".,"):
            at += 1
        letter = part[at : at + 1]
        if letter not in remaining:
            raise _misplaced(letter, units, text, field)
        number = part[start:at].replace(",", ".")
        if "." in number and at + 1 < len(part):
            raise _invalid(field, text, "has a fraction before its last part")
        total += _amount(number, units[letter], text, field)
        del remaining[: remaining.index(letter) + 1]
        at += 1
    return total


def _amount(number: str, unit: int, text: str, field: str) -> int:
    whole, point, fraction = number.partition(".")
    if not whole or "." in fraction or (point and not fraction):
        raise _invalid(field, text, f"has no proper number where {number!r} is")
    # Whole numbers all the way: a float would turn PT0.1S times many into something else.
    return int(whole) * unit + int(fraction or "0") * unit // int("1" + "0" * len(fraction))


def _misplaced(letter: str, units: dict[str, int], text: str, field: str) -> InvalidDuration:
    if letter == "Y" or (letter == "M" and units is _DATE_UNITS):
        name = "years" if letter == "Y" else "months"
        return _invalid(
            field,
            text,
            f"counts {name}, which have no fixed length",
            hint="Years and months are calendar units: use days ('P30D') or a cron expression. "
            "Minutes need a T: 'PT5M'.",
        )
    if letter == "":
        return _invalid(field, text, "ends with a number that has no unit")
    return _invalid(field, text, f"has {letter!r} where it cannot stand")


def _invalid(field: str, value: object, why: str, *, hint: str = _HINT) -> InvalidDuration:
    return InvalidDuration(f"{field} {_shown(value)} {why}", hint=hint, field=field)


def _shown(value: object) -> str:
    # repr() of a huge integer raises, and of a nested document is endless.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**20:
        return f"of {value.bit_length()} bits"
    if isinstance(value, str) and len(value) > _TEXT_LENGTH_MAX:
        return repr(value[:32]) + "..."
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return f"of type {type(value).__name__}"
