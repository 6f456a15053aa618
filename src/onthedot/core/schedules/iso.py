"""ISO 8601: durations as steps of the calendar (`P1M`, `PT15M`), and repeating intervals
(`R5/2026-01-01T00:00:00Z/PT1H`).
"""

from __future__ import annotations

from typing import Final

from onthedot.core.durations import DURATION_MAX, parse_duration
from onthedot.core.instants import HOUR, MINUTE, SECOND, Instant, format_instant, parse_instant
from onthedot.core.schedules.every import EVERY_MIN, Every
from onthedot.core.schedules.moments import local_instant
from onthedot.core.schedules.repeat import Repeat, Step
from onthedot.core.schedules.terms import Terms, refusal

_DIGITS: Final = frozenset("0123456789")
_DIGITS_MAX: Final = 6
_UNITS: Final = {"Y": Step(12, 0), "M": Step(1, 0), "W": Step(0, 7), "D": Step(0, 1)}
_HINT: Final = "Write a duration like 'PT15M', 'P1D' or 'P1M'."
_REPEAT_HINT: Final = "Write it like 'R5/2027-01-01T00:00:00Z/PT1H', or 'R/…' without an end."


def is_iso(text: str) -> bool:
    """Whether a text is meant as a duration or as a repeating interval: no word begins like it."""
    return text[:1] in ("P", "R") and (text[1:2] in _DIGITS or text[1:2] in ("", "T", "/"))


def read_iso(text: str, terms: Terms) -> Every | Repeat:
    if text.startswith("R"):
        return _repeating(text, terms)
    step = _step(text, text)
    return Every(step.us) if step.is_elapsed else anchored(step, terms)


def anchored(step: Step, terms: Terms) -> Repeat:
    """Steps of the calendar from now on: the first occurrence is one step later."""
    # The clock on the wall shows whole seconds, and jobs made in the same second share a rule.
    start = terms.now - terms.now % SECOND
    return Repeat(
        start, step, terms.timezone, terms.dst_gap, terms.dst_overlap, None, after_start=True
    )


def step_text(step: Step) -> str:
    """A step in ISO 8601, the way `read_iso` takes it."""
    years, months = divmod(step.months, 12)
    dates = [(years, "Y"), (months, "M")]
    weeks = step.days // 7 if step.days % 7 == 0 and not step.months and not step.us else 0
    dates += [(weeks, "W")] if weeks else [(step.days, "D")]
    hours, rest = divmod(step.us, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds = f"{rest // SECOND}.{rest % SECOND:06}".rstrip("0").rstrip(".")
    times = [(hours, "H"), (minutes, "M"), (seconds if rest else 0, "S")]
    said = "P" + "".join(f"{amount}{unit}" for amount, unit in dates if amount)
    time = "".join(f"{amount}{unit}" for amount, unit in times if amount)
    return f"{said}T{time}" if time else said


def repeat_text(repeat: Repeat) -> str:
    """A repetition in ISO 8601. One that is counted from its job's making names no start."""
    step = step_text(repeat.step)
    start = "" if repeat.after_start else f"{format_instant(repeat.start)}/"
    if repeat.times is None:
        return f"R/{start}{step}" if start else step
    return f"R{repeat.times}/{start}{step}"


def _repeating(text: str, terms: Terms) -> Repeat:
    head, *parts = text.split("/")
    times = head[1:]
    if times and not (_DIGITS.issuperset(times) and len(times) <= _DIGITS_MAX and int(times)):
        raise refusal(text, 2, f"repeats {times!r} times, which is not 1 to 999999", _REPEAT_HINT)
    if not 1 <= len(parts) <= 2 or not parts[-1].startswith("P"):
        raise refusal(text, len(head) + 1, "is not a repeating interval", _REPEAT_HINT)
    at = len(text) - len(parts[-1])
    step = _step(parts[-1], text, at)
    start = _start(parts[0], terms) if len(parts) == 2 else None
    return Repeat(
        start=terms.now - terms.now % SECOND if start is None else start,
        step=step,
        timezone=terms.timezone,
        dst_gap=terms.dst_gap,
        dst_overlap=terms.dst_overlap,
        times=int(times) if times else None,
        after_start=start is None,
    )


def _start(part: str, terms: Terms) -> Instant:
    """An instant, or a local time, which is read in the zone of the schedule."""
    local = local_instant(part, terms.timezone)
    return parse_instant(part, field="schedule") if local is None else local


def _step(part: str, text: str, at: int = 0) -> Step:
    """`part` of `text`, which begins at `at`."""
    dates, has_time, times = part[1:].partition("T")
    months, days, us, place = 0, 0, 0, 1
    remaining = list(_UNITS)
    while place <= len(dates):  # each turn takes at least the letter
        start = place
        while part[place : place + 1] in _DIGITS and place <= len(dates):
            place += 1
        amount, unit = part[start:place], part[place : place + 1]
        if unit not in remaining or not amount or len(amount) > _DIGITS_MAX:
            raise refusal(text, at + start + 1, "is not a duration", _HINT)
        months += int(amount) * _UNITS[unit].months
        days += int(amount) * _UNITS[unit].days
        del remaining[: remaining.index(unit) + 1]
        place += 1
    if has_time or not dates:
        us = parse_duration(f"PT{times}", field="schedule")
    step = Step(months, days, us)
    if step.mean_us < EVERY_MIN:
        raise refusal(text, at + 1, "is shorter than 1 s", "Use 1 second or more.")
    if step.mean_us > DURATION_MAX:
        raise refusal(text, at + 1, "is longer than 100 years", "Use 100 years or less.")
    return step
