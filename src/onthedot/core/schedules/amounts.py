"""Durations in the short form of cron's nicknames (90s, 1h30m, 1.5h), and as one amount (90
seconds).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from onthedot.core.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND

_UNITS: Final = {
    "d": DAY,
    "h": HOUR,
    "m": MINUTE,
    "min": MINUTE,
    "s": SECOND,
    "ms": MILLISECOND,
}
_NAMES: Final = {"day": DAY, "hour": HOUR, "minute": MINUTE, "second": SECOND}
_NUMBER: Final = frozenset("0123456789.")
_DIGITS_MAX: Final = 12


def added_up(duration: str) -> int | None:
    """Numbers with units, added up, in microseconds; None: it is something else."""
    total, rest = Fraction(0), duration
    while rest:
        number = _while(rest, digits=True)
        unit = _while(rest[len(number) :], digits=False)
        whole, dot, part = number.partition(".")
        plain = (whole + part).isdigit() and part.isdigit() == bool(dot)
        if not plain or len(number) > _DIGITS_MAX or unit not in _UNITS:
            return None
        total += Fraction(number) * _UNITS[unit]
        rest = rest[len(number) + len(unit) :]
    return round(total) if duration else None


def counted(duration: str) -> int | None:
    """One amount of one unit, in microseconds; None: it is something else."""
    number, _, unit = duration.lower().partition(" ")
    size = _NAMES.get(unit.removesuffix("s"))
    plain = number.isascii() and number.isdigit() and len(number) <= _DIGITS_MAX
    return int(number) * size if plain and size is not None else None


def _while(text: str, *, digits: bool) -> str:
    end = next((n for n, c in enumerate(text) if (c in _NUMBER) != digits), len(text))
    return text[:end]
