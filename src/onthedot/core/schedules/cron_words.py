"""A cron expression as one English sentence, on the 24-hour clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from onthedot.core.schedules.cron_fields import LAST, YEAR_MIN, CronDays, Fields, Weekdays
from onthedot.core.schedules.cron_program import times_of

TIMES_LISTED_MAX: Final = 6
# fmt: off
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)
# fmt: on
_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_WHICH: Final = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", LAST: "last"}
_MONDAY_FIRST: Final = (1, 2, 3, 4, 5, 6, 0)


def sentence(fields: Fields) -> str:
    """Such as 'At 09:00 on Monday through Friday'; the zone is for others to add."""
    times = sorted({time for each in times_of(fields) for time in each})
    listed = len(times) * len(fields.seconds) <= TIMES_LISTED_MAX
    words = [_listed_times(fields, times) if listed else _patterns(fields)]
    words.append(_days(fields, daily=listed))
    if fields.years is not None:
        words.append(f"in {_years(fields.years)}")
    return " ".join(filter(None, words))


# --- the time of day ---


def _listed_times(fields: Fields, times: Sequence[int]) -> str:
    plain = fields.seconds == (0,)
    said = [
        f"{time // 60:02}:{time % 60:02}" + ("" if plain else f":{second:02}")
        for time, second in product(times, fields.seconds)
    ]
    return f"At {_and(said)}"


def _patterns(fields: Fields) -> str:
    """Of each of the joined expressions; one with few times has them listed."""
    said = []
    for (minutes, hours), times in zip(
        ((fields.minutes, fields.hours), *fields.also), times_of(fields), strict=True
    ):
        few = fields.also and len(times) * len(fields.seconds) <= TIMES_LISTED_MAX
        part = replace(fields, minutes=minutes, hours=hours, also=())
        said.append(_listed_times(part, times) if few else _pattern(part))
    return " and ".join([said[0], *(words[0].lower() + words[1:] for words in said[1:])])


def _pattern(fields: Fields) -> str:
    """Too many times to list them: how they follow each other."""
    seconds, minutes, hours = fields.seconds, fields.minutes, _hours(fields.hours)
    if seconds == (0,):
        return _every_few_hours(fields) or _minutes(minutes, hours)
    every, of_every = _step(seconds, 60), _step(minutes, 60)
    said = f"At {_counted(seconds, 'second')}" if every is None else _every(every, "second")
    if of_every == 1:
        return _joined(said, "of every minute" if every is None else "", hours)
    if of_every is not None:
        return _joined(said, f"of every {_ordinal(of_every)} minute", hours)
    return f"{said} of {_counted(minutes, 'minute')} {_of_hours(hours)}"


def _every_few_hours(fields: Fields) -> str | None:
    """Once an hour, every so many hours, but not around the clock: 'from 08:30 to 20:30'."""
    (minute, *more), hours = fields.minutes, fields.hours
    step = hours[1] - hours[0] if len(hours) > 1 else 1
    round_the_clock = _step(hours, 24) is not None
    if (
        more
        or step < 2
        or round_the_clock
        or list(hours) != list(range(hours[0], hours[-1] + 1, step))
    ):
        return None
    return f"Every {step} hours from {hours[0]:02}:{minute:02} to {hours[-1]:02}:{minute:02}"


def _minutes(minutes: Sequence[int], hours: str) -> str:
    every = _step(minutes, 60)
    if every is not None:
        return _joined(_every(every, "minute"), hours)
    said = "the start" if minutes == (0,) else _counted(minutes, "minute")
    return f"At {said} {_of_hours(hours)}"


def _every(step: int, unit: str) -> str:
    return f"Every {unit}" if step == 1 else f"Every {step} {unit}s"


def _of_hours(hours: str) -> str:
    return hours if hours.startswith("of") else _joined("of every hour", hours)


def _counted(values: Sequence[int], unit: str) -> str:
    return f"{unit}{'s' if len(values) > 1 else ''} {_runs(values, str, ' to ')}"


def _hours(hours: Sequence[int]) -> str:
    if len(hours) == 24:
        return ""
    if hours[-1] - hours[0] == len(hours) - 1:
        return f"from {hours[0]:02}:00 to {hours[-1]:02}:59"
    every = _step(hours, 24)
    if every is not None:
        return f"of every {_ordinal(every)} hour"
    return f"of the hours {_runs(hours, '{:02}'.format, ' to ')}"


def _step(values: Sequence[int], size: int) -> int | None:
    """n where the values are 0, n, 2n … and come round evenly."""
    every = size // len(values)
    even = size % len(values) == 0 and len(values) > 1
    return every if even and tuple(values) == tuple(range(0, size, every)) else None


# --- the days ---


def _days(fields: Fields, *, daily: bool) -> str:
    days, weekdays = fields.days, fields.weekdays
    any_day, any_weekday = len(days.numbers) == 31, len(weekdays.numbers) == 7
    if (any_day and any_weekday) or (not fields.both and (any_day or any_weekday)):
        every = "every day" if daily else ""
        return _joined(every, _in_months(fields.months))
    if any_weekday:
        return _by_number(days, _of_months(fields.months))
    if any_day:
        of_months = _of_months(fields.months) if weekdays.nth else _in_months(fields.months)
        return _joined(f"on {_by_weekday(weekdays, '')}", of_months)
    by_number = _by_number(days, _of_months(fields.months))
    if fields.both:
        return f"{by_number}, if it is {_by_weekday(weekdays, 'a ', ' or ')}"
    return f"{by_number} and on {_joined(_by_weekday(weekdays, ''), _in_months(fields.months))}"


def _by_number(days: CronDays, of_months: str) -> str:
    if days.nearest is not None:
        return f"on the weekday nearest to the {_ordinal(days.nearest)} {of_months}"
    named = []
    if days.numbers:
        numbers = sorted(days.numbers)
        every = numbers[1] - numbers[0] if len(numbers) > 3 else 1
        if every > 1 and numbers == list(range(1, 32, every)):
            named.append(f"every {_ordinal(every)} day from the 1st")
        else:
            named.append(f"the {_runs(numbers, _ordinal, ' through ')} day")
    if days.last:
        named.append("the last day")
    if days.last_weekday:
        named.append("the last weekday")
    return f"on {_and(named)} {of_months}"


def _by_weekday(weekdays: Weekdays, article: str, last: str = " and ") -> str:
    places = [place for place, day in enumerate(_MONDAY_FIRST) if day in weekdays.numbers]
    named = [f"{article}{_weekday(place)}" for place in places]
    if not article:
        named = _grouped(places, _weekday, " through ")
    for day, which in sorted(weekdays.nth, key=lambda each: (each[0], each[1] % 7)):
        named.append(f"the {_WHICH[which]} {_WEEKDAYS[day]}")
    return _and(named, last)


def _weekday(place: int) -> str:
    return _WEEKDAYS[_MONDAY_FIRST[place]]


def _of_months(months: Sequence[int]) -> str:
    return "of every month" if len(months) == 12 else f"of {_runs(months, _month, ' through ')}"


def _in_months(months: Sequence[int]) -> str:
    return "" if len(months) == 12 else f"in {_runs(months, _month, ' through ')}"


def _month(month: int) -> str:
    return _MONTHS[month - 1]


def _years(years: Sequence[int]) -> str:
    every = years[1] - years[0] if len(years) > 3 else 1
    if every > 1 and list(years) == list(range(years[0], years[-1] + 1, every)):
        until = "" if years[0] == YEAR_MIN else f" until {years[-1]}"
        return f"every {_ordinal(every)} year from {years[0]}{until}"
    return _runs(years, str, " through ")


# --- words ---


def _runs(values: Sequence[int], say: Callable[[int], str], through: str) -> str:
    return _and(_grouped(values, say, through))


def _grouped(values: Sequence[int], say: Callable[[int], str], through: str) -> list[str]:
    """Three or more in a row as a range: 1, 2, 3, 7 is '1 through 3' and '7'."""
    groups: list[list[int]] = []
    for value in values:
        if groups and value == groups[-1][-1] + 1:
            groups[-1].append(value)
        else:
            groups.append([value])
    said: list[str] = []
    for group in groups:
        if len(group) > 2:
            said.append(f"{say(group[0])}{through}{say(group[-1])}")
        else:
            said.extend(map(say, group))
    return said


def _and(words: Iterable[str], last: str = " and ") -> str:
    *most, final = words
    return f"{', '.join(most)}{last}{final}" if most else final


def _joined(*words: str) -> str:
    return " ".join(filter(None, words))


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{suffix or 'th'}"
