"""Any schedule for people: as one sentence, and in its one normal form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from onthedot.core.durations import format_duration
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND, Instant, format_instant
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.fixed_delay import FixedDelay
from onthedot.core.schedules.iso import repeat_text, step_text
from onthedot.core.schedules.once import Once
from onthedot.core.schedules.repeat import Repeat, Step
from onthedot.core.schedules.span import Schedule
from onthedot.core.schedules.wall import wall_of
from onthedot.core.schedules.zones import zone_of

_UNITS: Final = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


AFTER_LAST: Final = "after the last run"


def explain(schedule: Schedule | Once | FixedDelay) -> str:
    """One sentence in English: 'every 15 minutes', 'At 02:30 every day (Europe/Berlin)'.

    It has the zone at its end where a clock on the wall decides, and only there.
    """
    match schedule:
        case Cron():
            return schedule.explain()
        case Every():
            return _elapsed(schedule.every_us)
        case Once():
            return f"once at {format_instant(schedule.at)}"
        case FixedDelay():
            return f"{_counted(_amount_of(schedule.delay_us))} {AFTER_LAST} has ended"
    return _repeated(schedule)


def normal_form(schedule: Schedule | Once | FixedDelay) -> str:
    """The text that says the same in the fewest words: cron, ISO 8601, or an instant."""
    match schedule:
        case Cron():
            return schedule.expression
        case Every():
            return step_text(Step(us=schedule.every_us))
        case Once():
            return format_instant(schedule.at)
        case FixedDelay():
            return f"{step_text(Step(us=schedule.delay_us))} {AFTER_LAST}"
    return repeat_text(schedule)


def _elapsed(us: int) -> str:
    return f"every {_amount_of(us)}"


def _amount_of(us: int) -> str:
    for size, name in _UNITS:
        if us % size == 0:
            return _amount(us // size, name)
    return format_duration(us)


def _repeated(repeat: Repeat) -> str:
    months, days, us = repeat.step
    parts = []
    if months:
        parts.append(_amount(*((months // 12, "year") if months % 12 == 0 else (months, "month"))))
    if days:
        parts.append(_amount(*((days // 7, "week") if days % 7 == 0 else (days, "day"))))
    if us:
        parts.append(_amount_of(us))
    first, *others = parts
    said = " and ".join([f"every {first}", *(_counted(each) for each in others)])
    if repeat.step.is_elapsed:
        since, zone = format_instant(repeat.start), ""
    else:
        since, zone = _shown(repeat.start, repeat.timezone), f" ({repeat.timezone})"
    counted = "counted from" if repeat.after_start else "from"
    times = "" if repeat.times is None else f", {_times(repeat.times)}"
    return f"{said}, {counted} {since}{times}{zone}"


def _amount(amount: int, unit: str) -> str:
    return unit if amount == 1 else f"{amount} {unit}s"


def _counted(amount: str) -> str:
    """After 'and' a single one needs its number: 'every day and 1 hour'."""
    return amount if amount[0].isdigit() else f"1 {amount}"


def _times(times: int) -> str:
    return "once" if times == 1 else f"{times} times"


def _shown(instant: Instant, timezone: str) -> str:
    """What the clock on the wall shows, without the seconds where they are 0."""
    second, below = divmod(instant, SECOND)
    wall = wall_of(zone_of(timezone), second)
    moment = (_EPOCH + timedelta(seconds=wall, microseconds=below)).replace(tzinfo=None)
    return moment.isoformat(" ", "minutes" if wall % 60 == 0 and not below else "auto")
