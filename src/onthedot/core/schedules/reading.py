"""A schedule from its text: a cron expression, or `@every 90s`, which is an interval."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from onthedot.core.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.cron_fields import invalid
from onthedot.core.schedules.cron_program import DstGap, DstOverlap
from onthedot.core.schedules.cron_text import LENGTH_MAX
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.span import Schedule
from onthedot.errors import InvalidDuration

_NICKNAME: Final = "@every"
_UNITS: Final = {"d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": MILLISECOND}
_NUMBER: Final = frozenset("0123456789.")
_DIGITS_MAX: Final = 12


def read_schedule(
    text: str,
    timezone: str = "UTC",
    *,
    dst_gap: DstGap | None = None,
    dst_overlap: DstOverlap | None = None,
    seed: str | None = None,
) -> Schedule:
    """The schedule that a text stands for. The zone and its rules are for cron alone."""
    words = text[: LENGTH_MAX + 1].split()
    if words and words[0] == _NICKNAME and len(text) <= LENGTH_MAX:
        return _interval(text.strip(), "".join(words[1:]))
    return Cron.parse(text, timezone, dst_gap=dst_gap, dst_overlap=dst_overlap, seed=seed)


def _interval(text: str, duration: str) -> Every:
    """Numbers with units, added up: 90s, 1h30m, 1.5h."""
    total, rest = Fraction(0), duration
    while rest:
        number = _while(rest, digits=True)
        unit = _while(rest[len(number) :], digits=False)
        whole, dot, part = number.partition(".")
        plain = (whole + part).isdigit() and part.isdigit() == bool(dot)
        if not plain or len(number) > _DIGITS_MAX or unit not in _UNITS:
            break
        total += Fraction(number) * _UNITS[unit]
        rest = rest[len(number) + len(unit) :]
    if rest or not duration:
        raise invalid(
            f"{text!r} is not an interval", "Write it like '@every 90s' or '@every 1h30m'."
        )
    try:
        return Every(round(total))
    except InvalidDuration as error:
        error.field = "cronExpr"
        raise


def _while(text: str, *, digits: bool) -> str:
    end = next((n for n, c in enumerate(text) if (c in _NUMBER) != digits), len(text))
    return text[:end]
