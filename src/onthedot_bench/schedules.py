"""How long schedules take to read and to step, without a store and without a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from onthedot.core.instants import Instant, parse_instant
from onthedot.core.schedules import Cron, Every, Repeat, Terms, read_schedule
from onthedot.core.schedules.cron_fields import read_fields
from onthedot.core.schedules.cron_program import Program
from onthedot.core.schedules.cron_text import normalise
from onthedot.core.schedules.zones import zone_of

COMMON = (
    *("* * * * *", "*/15 * * * *", "0 * * * *", "30 2 * * *", "0 9 * * MON-FRI"),
    *("0 0 * * 0", "0 0 1 * *", "*/10 * * * * *"),
)
RARE = ("0 0 L * *", "0 9 15W * *", "0 0 * * FRI#L", "0 12 13 * +FRI", "0 0 29 2 *")
TEXTS = (
    *("every weekday at 9am", "every monday and thursday at 18:30"),
    *("every 2 hours between 8:00 and 20:00", "on the last day of the month at 23:00"),
    *("on the first monday of january, july at noon", "every 15 minutes"),
    *("PT15M", "P1D", "P1M", "R/2026-01-31T09:00:00Z/P1M", "R500/2026-01-01T00:00:00Z/PT1H"),
)
"""In plain English and in ISO 8601: read as the field `schedule` reads them."""

ZONES = ("UTC", "America/New_York")
ROUNDS = 12
PARSES = 20
_START = "2026-01-15T12:34:56Z"


@dataclass(frozen=True, slots=True)
class Timing:
    """Microseconds, the best of some rounds: what the machine was also doing is left out."""

    schedule: str
    timezone: str
    common: bool
    next_us: float
    parse_us: float


def measure(steps: int) -> list[Timing]:
    """Time `steps` instants, one after the other, of every schedule in every zone."""
    found = [
        _timed(text, zone, steps, common=text in COMMON)
        for text in (*COMMON, *RARE)
        for zone in ZONES
    ]
    return found + [_timed_text(text, zone, steps) for text in TEXTS for zone in ZONES]


def _timed_text(text: str, zone: str, steps: int) -> Timing:
    terms = Terms(parse_instant(_START, field="start"), zone)
    read = read_schedule(text, terms)
    assert isinstance(read, Cron | Every | Repeat), text
    _step(read, steps)
    stepping = _best(lambda: _step(read, steps)) / steps
    parsing = _best(lambda: _read(text, terms)) / PARSES
    return Timing(text, zone, False, stepping, parsing)


def _timed(text: str, zone: str, steps: int, *, common: bool) -> Timing:
    cron = Cron.parse(text, zone)
    _step(cron, steps)  # finds the DST changes, which are kept
    stepping = _best(lambda: _step(cron, steps)) / steps
    parsing = _best(lambda: _parse(text, zone)) / PARSES
    return Timing(text, zone, common, stepping, parsing)


def _step(schedule: Cron | Every | Repeat, steps: int) -> None:
    start: Instant = parse_instant(_START, field="start")
    at = start
    for _ in range(steps):
        at = schedule.after(at, anchor=start) or start


def _parse(text: str, zone: str) -> None:
    # As `Cron.parse` does it, but for the memory of expressions that were read before.
    for _ in range(PARSES):
        Program(read_fields(normalise(text)), zone_of(zone), "after", "first").is_ever_due()


def _read(text: str, terms: Terms) -> None:
    for _ in range(PARSES):
        read_schedule(text, terms)


def _best(work: Callable[[], None]) -> float:
    return min(_took(work) for _ in range(ROUNDS)) * 1e6


def _took(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
