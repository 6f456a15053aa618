"""How long schedules take to read and to step, without a store and without a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from onthedot.core.instants import Instant, parse_instant
from onthedot.core.schedules import Cron, Every, Schedule
from onthedot.core.schedules.cron_fields import read_fields
from onthedot.core.schedules.cron_program import Program
from onthedot.core.schedules.cron_text import normalise
from onthedot.core.schedules.zones import zone_of

COMMON = (
    *("* * * * *", "*/15 * * * *", "0 * * * *", "30 2 * * *", "0 9 * * MON-FRI"),
    *("0 0 * * 0", "0 0 1 * *", "*/10 * * * * *"),
)
RARE = ("0 0 L * *", "0 9 15W * *", "0 0 * * FRI#L", "0 12 13 * +FRI", "0 0 29 2 *")
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
    every = Every(90_000_000)
    stepping = _best(lambda: _step(every, steps)) / steps
    return [*found, Timing("@every 90s", "UTC", False, stepping, 0.0)]


def _timed(text: str, zone: str, steps: int, *, common: bool) -> Timing:
    cron = Cron.parse(text, zone)
    _step(cron, steps)  # finds the changes of the clocks, which are kept
    stepping = _best(lambda: _step(cron, steps)) / steps
    parsing = _best(lambda: _parse(text, zone)) / PARSES
    return Timing(text, zone, common, stepping, parsing)


def _step(schedule: Schedule, steps: int) -> None:
    start: Instant = parse_instant(_START, field="start")
    at = start
    for _ in range(steps):
        at = schedule.after(at, anchor=start) or start


def _parse(text: str, zone: str) -> None:
    # As `Cron.parse` does it, but for the memory of expressions that were read before.
    for _ in range(PARSES):
        Program(read_fields(normalise(text)), zone_of(zone), "after", "first").is_ever_due()


def _best(work: Callable[[], None]) -> float:
    return min(_took(work) for _ in range(ROUNDS)) * 1e6


def _took(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
