"""A second, slow reading of schedules, written from the documentation and from nothing of ours.

Cron by trying every minute: of the local clock as it is shown, and for fixed times (neither minute
nor hour begins with `*`) once a day, in a gap right after it and in an overlap the first time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

SECOND = 1_000_000
MINUTE = 60 * SECOND


def micros(text: str) -> int:
    """An instant of the API, in microseconds since the epoch."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def schedule_of(job: dict[str, Any]) -> tuple[Any, ...]:
    """What a job says about when, as a value that can be compared."""
    if job["cronExpr"] is not None:
        return "cron", job["cronExpr"], job["timezone"]
    if job["every"] is not None:
        return "every", round(job["every"] * SECOND)
    if job.get("fixedDelay") is not None:
        return "rest", round(job["fixedDelay"] * SECOND)
    if job["runAt"] is not None:
        return "once", micros(job["runAt"])
    return ("none",)


def instants(schedule: tuple[Any, ...], anchor: int, first: int, last: int) -> list[int]:
    """Every due instant in [first, last]."""
    match schedule:
        case ("every", int(step)):
            k = max(1, -((anchor - first) // step))
            return list(range(anchor + k * step, last + 1, step))
        case ("once", int(at)):
            return [at] if first <= at <= last else []
        case ("cron", str(expression), str(zone)):
            return [due for due in _cron(expression, zone, first, last) if first <= due <= last]
    return []


def _cron(expression: str, zone: str, first: int, last: int) -> Iterator[int]:
    minute, hour, *_ = expression.split()
    fixed = not (minute.startswith("*") or hour.startswith("*"))
    start = first // MINUTE - 1
    for at in range(start, last // MINUTE + 2):
        if (_fixed if fixed else _shown)(expression, zone, at):
            yield at * MINUTE


@lru_cache(maxsize=100_000)
def _shown(expression: str, zone: str, minute: int) -> bool:
    """Whether the clock on the wall shows a matching time at this minute since the epoch."""
    return _matches(expression, _wall(zone, minute))


@lru_cache(maxsize=100_000)
def _fixed(expression: str, zone: str, minute: int) -> bool:
    """Whether a fixed time falls due at this minute: shown for the first time, or just leapt
    over.
    """
    wall, before = _wall(zone, minute), _wall(zone, minute - 1)
    if _matches(expression, wall):
        day = range(minute - 180, minute)
        return not any(_wall(zone, earlier) == wall for earlier in day)
    leapt = before + timedelta(minutes=1)
    while leapt < wall:
        if _matches(expression, leapt):
            return True
        leapt += timedelta(minutes=1)
    return False


@lru_cache(maxsize=100_000)
def _wall(zone: str, minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, ZoneInfo(zone)).replace(tzinfo=None)


def _matches(expression: str, wall: datetime) -> bool:
    minute, hour, *days = expression.split()
    assert days == ["*", "*", "*"], expression
    return _part(minute, wall.minute) and _part(hour, wall.hour)


def _part(pattern: str, value: int) -> bool:
    if pattern.startswith("*/"):
        return value % int(pattern[2:]) == 0
    return pattern == "*" or value in map(int, pattern.split(","))
