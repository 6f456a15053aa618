"""What a sentence has said about when, and the schedule that it comes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.instants import DAY, HOUR, INSTANT_MAX, MINUTE, SECOND, Instant
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.cron_fields import JOIN, LAST, YEAR_MAX, YEAR_MIN
from onthedot.core.schedules.cron_words import TIMES_LISTED_MAX
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.iso import anchored
from onthedot.core.schedules.moments import at_wall
from onthedot.core.schedules.once import Once
from onthedot.core.schedules.repeat import Repeat, Step
from onthedot.core.schedules.terms import LENGTH_MAX, Terms

_ELAPSED: Final = {"second": SECOND, "minute": MINUTE, "hour": HOUR}
_CALENDAR: Final = {
    "day": Step(days=1),
    "week": Step(days=7),
    "month": Step(months=1),
    "year": Step(months=12),
}
_SIZES: Final = {"second": 60, "minute": 60, "hour": 24}
_DAY_MINUTES: Final = 24 * 60
_WEEK: Final = 7
_NAMES: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class Unspecified(Exception):
    """What a sentence lacks or contradicts. `add` is what would complete it."""

    def __init__(self, why: str, add: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.add = add


@dataclass(slots=True)
class SentenceParts:
    """Filled phrase by phrase. Times are seconds of the day; None and empty: nothing was said."""

    every: list[tuple[int, str]] = field(default_factory=list)
    unit: str | None = None
    counted_from: Instant | None = None
    is_due_at_start: bool = True
    repetitions: int | None = None
    times: list[int] = field(default_factory=list)
    window: tuple[int, int] | None = None
    before: list[tuple[set[int], set[int]]] = field(default_factory=list)
    seconds: set[int] = field(default_factory=set)
    minutes: set[int] = field(default_factory=set)
    hours: set[int] = field(default_factory=set)
    days: set[int] = field(default_factory=set)
    last_day: bool = False
    last_weekday: bool = False
    nearest: int | None = None
    weekdays: set[int] = field(default_factory=set)
    nth: set[tuple[int, int]] = field(default_factory=set)
    both: bool = False
    months: set[int] = field(default_factory=set)
    years: set[int] = field(default_factory=set)
    delay: int | None = None
    instant: Instant | None = None
    once_on: int | None = None
    on_a_clock: bool = False

    @property
    def names_days(self) -> bool:
        return bool(
            self.days or self.last_day or self.last_weekday or self.nearest or self.names_weekdays
        )

    @property
    def names_weekdays(self) -> bool:
        return bool(self.weekdays or self.nth)

    @property
    def is_plain_interval(self) -> bool:
        pattern = self.seconds or self.minutes or self.hours or self.window
        return not (pattern or self.names_days or self.months or self.years or self.before)

    def begin_again(self) -> None:
        """After 'and', more times of the same days: what was said of times so far is put aside."""
        units = [unit for amount, unit in self.every if unit in _CALENDAR and amount == 1]
        self.unit = units[0] if units else self.unit
        self.every = [each for each in self.every if each[1] not in units]
        self.before.append(_times(self))
        self.every, self.times, self.window = [], [], None
        self.seconds, self.minutes, self.hours = set(), set(), set()


def schedule_of(said: SentenceParts, terms: Terms) -> Cron | Every | Repeat | Once:
    """Raises Unspecified where something is missing or does not go together."""
    if said.delay is not None or said.instant is not None or said.once_on is not None:
        return _once(said, terms)
    if said.counted_from is not None or said.repetitions is not None:
        return _counted(said, terms)
    amounts = {unit: amount for amount, unit in said.every}
    if len(amounts) != len(said.every):
        raise Unspecified("says 'every' twice")
    calendar = [unit for unit in amounts if unit in _CALENDAR]
    if calendar and (amounts[calendar[0]] > 1 or len(amounts) > 1):
        return _stepped(said, terms)
    if len(amounts) == 1 and not calendar and said.is_plain_interval and not said.on_a_clock:
        if said.times:
            raise Unspecified("has an interval and a time of day")
        ((amount, unit),) = said.every
        return Every(amount * _ELAPSED[unit])
    return _cron(said, calendar[0] if calendar else said.unit, terms)


def _once(said: SentenceParts, terms: Terms) -> Once:
    if said.every or said.names_days or said.months or len(said.times) > 1 or said.window:
        raise Unspecified("is one instant and something that repeats")
    if said.delay is not None or said.instant is not None:
        if said.times or said.once_on is not None:
            raise Unspecified("names two instants")
        at = terms.now + said.delay if said.delay is not None else said.instant
    else:
        if not said.times:
            raise Unspecified("names a day without a time", "at 9:00")
        assert said.once_on is not None
        at = at_wall(said.once_on, said.times[0], terms.timezone)
        if at is not None and at <= terms.now:
            raise Unspecified("names a time that has passed")
    if at is None or at > INSTANT_MAX:
        raise Unspecified("names an instant that does not exist, or not before 2200")
    return Once(at)


def _counted(said: SentenceParts, terms: Terms) -> Repeat:
    if not said.every or said.times or not said.is_plain_interval:
        raise Unspecified("counts from a start what is no plain interval")
    now = terms.now - terms.now % SECOND
    return Repeat(
        now if said.counted_from is None else said.counted_from,
        _step(said),
        terms.timezone,
        terms.dst_gap,
        terms.dst_overlap,
        said.repetitions,
        after_start=said.counted_from is None or not said.is_due_at_start,
    )


def _step(said: SentenceParts) -> Step:
    months = days = us = 0
    for amount, unit in said.every:
        step = _CALENDAR.get(unit) or Step(us=_ELAPSED[unit])
        months += amount * step.months
        days += amount * step.days
        us += amount * step.us
    step = Step(months, days, us)
    if not SECOND <= step.mean_us <= 36_525 * DAY:
        raise Unspecified("is longer than 100 years")
    return step


def _stepped(said: SentenceParts, terms: Terms) -> Repeat:
    """Every two weeks on Monday at 9:00: from the next such time on."""
    step = _step(said)
    if not said.times and said.is_plain_interval:
        return anchored(step, terms)
    unit = said.every[0][1]
    fits = {
        "day": not said.names_days,
        "week": len(said.weekdays) == 1 and not (said.nth or said.days or said.last_day),
        "month": len(said.days) == 1 and not said.names_weekdays and not said.last_day,
    }.get(unit, False)
    if len(said.every) > 1 or len(said.times) != 1 or not fits or said.months or said.years:
        raise Unspecified(f"counts {unit}s in a way that is not understood")
    first = _cron(said, "day", terms._replace(dst_gap=None, dst_overlap=None))
    start = first.after(terms.now)
    if start is None:
        raise Unspecified("has no instant before 2200")
    return Repeat(start, step, terms.timezone, terms.dst_gap, terms.dst_overlap)


def _cron(said: SentenceParts, unit: str | None, terms: Terms) -> Cron:
    if unit == "month" and not said.names_days:
        raise Unspecified("does not say on which day of the month", "on the 1st")
    if unit == "week" and not said.names_weekdays:
        raise Unspecified("does not say on which day of the week", "on monday")
    if unit == "year" and not (said.months and said.names_days):
        raise Unspecified("does not say on which day of the year", "on january 1st")
    if unit is None and said.times and not said.before and not said.names_days:
        raise Unspecified("does not say on which days", "every day")
    said.every = [each for each in said.every if each[1] in _ELAPSED]
    seconds, times = _times(said)
    for other_seconds, other_times in said.before:
        if other_seconds != seconds:
            raise Unspecified("has times with different seconds, which is more than one schedule")
        times |= other_times
    # Few times are fixed times, however they were said: the sentence that explains them lists them.
    star = len(seconds) * len(times) > TIMES_LISTED_MAX
    text = _expression(said, seconds, times, star=star)
    if len(text) > LENGTH_MAX:
        raise Unspecified("names more times than one schedule can have")
    gap, overlap = terms.dst_gap, terms.dst_overlap
    return Cron.parse(text, terms.timezone, dst_gap=gap, dst_overlap=overlap)


def _times(said: SentenceParts) -> tuple[set[int], set[int]]:
    """Seconds of the minute, and minutes of the day."""
    patterns = {unit: amount for amount, unit in said.every}
    by_clock = bool(patterns or said.seconds or said.minutes or said.hours)
    if said.times and (by_clock or said.window):
        raise Unspecified("has a time of day and an interval")
    if not said.times and not by_clock:
        raise Unspecified("does not say at what time", "at 9:00")
    if not said.times:
        return _repeated(said, patterns)
    seconds, times = {time % 60 for time in said.times}, {time // 60 for time in said.times}
    if len(times) * len(seconds) != len(set(said.times)):
        raise Unspecified("has times with different seconds, which is more than one schedule")
    return seconds, times


def _repeated(said: SentenceParts, patterns: dict[str, int]) -> tuple[set[int], set[int]]:
    """Of what follows a pattern."""
    if not patterns.keys() <= _SIZES.keys():
        raise Unspecified("has a time of day and an interval")
    for unit, amount in patterns.items():
        in_window = said.window is not None and unit != "second"
        if amount > _SIZES[unit] // 2 and amount != 1 and not in_window:
            raise Unspecified(f"does not fit evenly: {amount} {unit}s")
        if _SIZES[unit] % amount and not in_window:
            raise Unspecified(f"does not fit evenly: {amount} {unit}s")
    by_second = said.seconds or "second" in patterns
    seconds = said.seconds or set(range(0, 60, patterns.get("second", 60)))
    minute = patterns.get("minute", 1 if by_second and not said.minutes else 0)
    minutes = said.minutes or (set(range(0, 60, minute)) if minute else {0})
    hours = said.hours or set(range(0, 24, patterns.get("hour", 1)))
    times = {hour * 60 + each for hour in hours for each in minutes}
    if said.window is None:
        return seconds, times
    first, last = (time // 60 for time in said.window)
    if first >= last:
        raise Unspecified("has hours that end before they begin")
    # What repeats between two times of the day begins at the first of them.
    every = patterns.get("minute", patterns.get("hour", 0) * 60)
    counted = bool(every) and not (said.minutes or said.hours)
    between = set(range(first, last + 1, every)) if counted else times
    return seconds, {time for time in between if first <= time <= last}


def _expression(said: SentenceParts, seconds: set[int], times: set[int], *, star: bool) -> str:
    by_minutes: dict[tuple[int, ...], list[int]] = {}
    for hour in sorted({time // 60 for time in times}):
        minutes = tuple(sorted(time % 60 for time in times if time // 60 == hour))
        by_minutes.setdefault(minutes, []).append(hour)
    days, weekdays = _day_text(said), _weekday_text(said)
    if days == "*" and len(said.weekdays) == _WEEK:
        weekdays = "*"
    if days != "*" and weekdays != "*" and said.both:
        weekdays = f"+{weekdays}"
    months = _text(sorted(said.months), 1, 12, star=len(said.months) == 12)
    date = f"{days} {months} {weekdays}"
    head, tail = "", ""
    if said.years or seconds != {0}:
        head = _text(sorted(seconds), 0, 59, star=star) + " "
    if said.years:
        tail = " " + _text(sorted(said.years), YEAR_MIN, YEAR_MAX, star=True)
    return f" {JOIN} ".join(
        f"{head}{_text(minutes, 0, 59, star=star)} {_text(hours, 0, 23, star=star)} {date}{tail}"
        for minutes, hours in by_minutes.items()
    )


def _day_text(said: SentenceParts) -> str:
    if said.nearest is not None:
        if said.days or said.last_day or said.last_weekday:
            raise Unspecified("names the nearest weekday and other days")
        return f"{said.nearest}W"
    items = [_text(sorted(said.days), 1, 31, star=False)] if said.days else []
    items += ["L"] * said.last_day + ["LW"] * said.last_weekday
    return ",".join(items) or "*"


def _weekday_text(said: SentenceParts) -> str:
    items = []
    if said.weekdays == {1, 2, 3, 4, 5}:
        items.append("MON-FRI")
    elif said.weekdays:
        items += [_NAMES[day] for day in sorted(said.weekdays, key=lambda day: (day + 6) % 7)]
    for day, which in sorted(said.nth, key=lambda each: (each[0], each[1] % 7)):
        items.append(f"{_NAMES[day]}#{'L' if which == LAST else which}")
    return ",".join(items) or "*"


def _text(values: Sequence[int], low: int, high: int, *, star: bool) -> str:
    """Values as cron writes them. With `star` what comes round evenly begins with `*`."""
    size = high - low + 1
    if not values or (star and len(values) == size):
        return "*"
    step = values[1] - values[0] if len(values) > 2 else 0
    if step > 0 and list(values) == list(range(values[0], values[-1] + 1, step)):
        if star and values[0] == low and values[-1] + step > high and step > 1:
            return f"*/{step}"
        return f"{values[0]}-{values[-1]}" + (f"/{step}" if step > 1 else "")
    if star and len(values) == 2 and size % 2 == 0 and list(values) == [low, low + size // 2]:
        return f"*/{size // 2}"
    return ",".join(_runs(values))


def _runs(values: Iterable[int]) -> list[str]:
    groups: list[list[int]] = []
    for value in values:
        if groups and value == groups[-1][-1] + 1:
            groups[-1].append(value)
        else:
            groups.append([value])
    return [
        f"{group[0]}-{group[-1]}" if len(group) > 2 else ",".join(map(str, group))
        for group in groups
    ]
