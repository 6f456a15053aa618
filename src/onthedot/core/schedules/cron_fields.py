"""The fields of a cron expression, read strictly into sets of values.

Follows the Open Cron Pattern Specification 1.0 to 1.4. A refusal names the field, the value and the
next step. Every item is looked at once, from left to right; nothing is tried twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from onthedot.errors import InvalidCron

YEAR_MIN: Final = 1970
YEAR_MAX: Final = 2199
LAST: Final = -1
"""In place of a number, the last: `5L` is the pair (5, LAST)."""

JOIN: Final = "|"
"""Between expressions that differ in the time of day only, as '0 9 * * * | 30 17 * * *'."""

_DIGITS: Final = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class CronField:
    """What a field is called, and what it may hold. `also` goes on with the hint."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    also: str = ""

    @property
    def everything(self) -> range:
        return range(self.low, self.high + 1)

    @property
    def size(self) -> int:
        # 0 and 7 are one day, so a week has seven values although eight numbers.
        return 7 if self is WEEKDAY else self.high - self.low + 1

    @property
    def hint(self) -> str:
        step = 15 if self.high == 59 else 2
        return f"Use {self.low}-{self.high}, '*', or a step such as '*/{step}'.{self.also}"


# fmt: off
_MONTHS: Final = (
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
)
# fmt: on
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MORE_DAYS: Final = " L is the last day of the month, 15W the weekday nearest to the 15th."
_MORE_WEEKDAYS: Final = " Also MON-FRI, MON#2 (the second), 5L (the last Friday)."
SECOND: Final = CronField("second", 0, 59)
MINUTE: Final = CronField("minute", 0, 59)
HOUR: Final = CronField("hour", 0, 23)
DAY: Final = CronField("day-of-month", 1, 31, (), _MORE_DAYS)
MONTH: Final = CronField("month", 1, 12, _MONTHS, " Names work too: JAN-MAR.")
WEEKDAY: Final = CronField("day-of-week", 0, 7, _DAYS, _MORE_WEEKDAYS)
YEAR: Final = CronField("year", YEAR_MIN, YEAR_MAX)

_LAYOUTS: Final = {
    5: (MINUTE, HOUR, DAY, MONTH, WEEKDAY),
    6: (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY),
    7: (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, YEAR),
}


class CronDays(NamedTuple):
    """Day-of-month: numbers, `L`, `LW`, and the day of `15W`."""

    numbers: frozenset[int]
    last: bool = False
    last_weekday: bool = False
    nearest: int | None = None


class Weekdays(NamedTuple):
    """Day-of-week, 0 being Sunday; `nth` holds (weekday, which of the month)."""

    numbers: frozenset[int]
    nth: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Fields:
    """A cron expression that was read. `years` None: any.

    `both`: a day must match both day fields; otherwise one of them is enough.
    `also`: more times of the day, each as minutes and hours.
    `fixed`: neither minute nor hour begins with `*`, which is Debian cron's test for the jobs that
    a DST change must neither skip nor repeat.
    """

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: CronDays
    months: tuple[int, ...]
    weekdays: Weekdays
    years: tuple[int, ...] | None
    both: bool
    fixed: bool
    also: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()


class FieldPosition(NamedTuple):
    """Where a refusal points to."""

    field: CronField
    expression: str

    def refuse(self, item: str, why: str, hint: str = "") -> InvalidCron:
        message = f"{self.field.name} {item!r} in {self.expression!r} {why}"
        error = invalid(message, hint or self.field.hint)
        error.position = self._position(item)
        return error

    def _position(self, item: str) -> int:
        """Of an item of this field, in the expression as the message shows it."""
        parts = self.expression.split(" ")
        fields = layout(parts)
        assert fields is not None, self.expression
        place = fields.index(self.field)
        before = sum(len(part) + 1 for part in parts[:place])
        return before + max(0, parts[place].find(item)) + 1


def invalid(message: str, hint: str) -> InvalidCron:
    return InvalidCron(message, hint=hint, field="cronExpr")


def layout(parts: list[str]) -> tuple[CronField, ...] | None:
    """The fields that so many parts stand for; None when there are too few or too many."""
    return _LAYOUTS.get(len(parts))


def read_fields(expression: str) -> Fields:
    """A normalised expression, without nickname and without `H`, as sets of values."""
    if JOIN not in expression:
        return _read_fields(expression)
    first, *others = [_read_fields(part) for part in expression.split(f" {JOIN} ")]
    fixed = all(each.fixed for each in (first, *others))
    return replace(first, fixed=fixed, also=tuple((each.minutes, each.hours) for each in others))


def _read_fields(expression: str) -> Fields:
    parts = expression.split(" ")
    fields = layout(parts)
    assert fields is not None, expression
    text = {field.name: part for field, part in zip(fields, parts, strict=True)}

    def values(field: CronField) -> tuple[int, ...]:
        return _values(FieldPosition(field, expression), text[field.name])

    day, weekday = text[DAY.name], text[WEEKDAY.name]
    return Fields(
        seconds=values(SECOND) if SECOND.name in text else (0,),
        minutes=values(MINUTE),
        hours=values(HOUR),
        days=_days(FieldPosition(DAY, expression), day),
        months=values(MONTH),
        weekdays=_weekdays(FieldPosition(WEEKDAY, expression), weekday.removeprefix("+")),
        years=None if text.get(YEAR.name, "*") == "*" else values(YEAR),
        both=day[:1] in ("*", "?") or weekday[:1] in ("*", "?", "+"),
        fixed=not (text[MINUTE.name].startswith("*") or text[HOUR.name].startswith("*")),
    )


def _values(place: FieldPosition, part: str) -> tuple[int, ...]:
    if part == "*":
        return tuple(place.field.everything)
    found: set[int] = set()
    for item in part.split(","):
        found.update(_item(place, item))
    return tuple(sorted(found))


def _days(place: FieldPosition, part: str) -> CronDays:
    if part in ("*", "?"):
        return CronDays(frozenset(DAY.everything))
    items = part.split(",")
    numbers: set[int] = set()
    last, last_weekday = "L" in items, "LW" in items
    for item in items:
        if item in ("L", "LW"):
            continue
        if item.endswith("W") and number(item[:-1]) is not None:
            if len(items) > 1:
                why = "is in a list, and W is for a single day"
                raise place.refuse(item, why, "Make a job of its own for it.")
            return CronDays(frozenset(), nearest=_value(place, item[:-1], item))
        numbers.update(_item(place, item))
    return CronDays(frozenset(numbers), last, last_weekday)


def _weekdays(place: FieldPosition, part: str) -> Weekdays:
    if part in ("*", "?"):
        return Weekdays(frozenset(range(7)))
    numbers: set[int] = set()
    nth: set[tuple[int, int]] = set()
    for item in part.split(","):
        if "#" in item or item.endswith("L"):
            nth.add(_nth(place, item))
        else:
            numbers.update(day % 7 for day in _item(place, item))
    return Weekdays(frozenset(numbers), frozenset(nth))


def _nth(place: FieldPosition, item: str) -> tuple[int, int]:
    """`5L` and `FRI#L` are the last Friday, `MON#2` the second Monday."""
    if item.endswith("L"):
        day = item[:-1].removesuffix("#")
        return _value(place, day, item) % 7, LAST
    day, _, which = item.partition("#")
    count = number(which)
    if count is None or not 1 <= count <= 5:
        raise place.refuse(item, f"asks for week {which!r} of the month, which is not 1-5 or L")
    return _value(place, day, item) % 7, count


def _item(place: FieldPosition, item: str) -> Iterable[int]:
    """One element of a list: `*`, a value, a range, or one of `*` and a range with `/step`."""
    base, slash, step = item.partition("/")
    if slash:
        return _stepped(place, base, step, item)
    if base == "*":
        return place.field.everything
    if "-" in base:
        low, high = read_range(place, base)
        return range(low, high + 1)
    return (_value(place, base, item),)


def _stepped(place: FieldPosition, base: str, step: str, item: str) -> range:
    field = place.field
    if base != "*" and "-" not in base:
        start = _value(place, base, item) if base else field.low
        raise place.refuse(
            item,
            "has a step after a single value" if base else "has a step after nothing",
            f"Put the step after '*' or a range, such as '{start}-{field.high}/{step}'.",
        )
    every = read_step(place, step, item)
    low, high = (field.low, field.high) if base == "*" else read_range(place, base)
    return range(low, high + 1, every)


def read_step(place: FieldPosition, step: str, item: str) -> int:
    every, most = number(step), place.field.size
    if every is None or every == 0:
        raise place.refuse(item, f"has a step {step!r} that is not 1 or more")
    if every > most:
        raise place.refuse(
            item,
            f"has a step above {most}, so it would match one value only",
            f"Use a step of 1-{most}; for other intervals use `every` instead of cron.",
        )
    return every


def read_range(place: FieldPosition, text: str) -> tuple[int, int]:
    field = place.field
    start, _, end = text.partition("-")
    low = _value(place, start, text)
    high = _value(place, end, text)
    if field is WEEKDAY and low > high and end.upper() == "SUN":
        high = 7  # FRI-SUN; but 5-0 runs backwards
    if low > high:
        last = 6 if field is WEEKDAY else field.high
        hint = f"Split it in two: '{low}-{last},{field.low}-{high}'."
        raise place.refuse(text, "runs backwards", hint)
    return low, high


def _value(place: FieldPosition, text: str, item: str) -> int:
    field = place.field
    name = text.upper()
    if name in field.names:
        # Months count from 1, days of the week from 0.
        return field.names.index(name) + field.low
    found = number(text)
    if found is None:
        raise _unreadable(place, text, item)
    if not field.low <= found <= field.high:
        raise place.refuse(item, f"is out of range {field.low}-{field.high}")
    return found


def number(text: str) -> int | None:
    """Digits as a number; None for anything else, other scripts' digits included."""
    return int(text) if text and _DIGITS.issuperset(text) else None


def _unreadable(place: FieldPosition, text: str, item: str) -> InvalidCron:
    if item == "":
        return place.refuse(item, "is an empty list element")
    if "?" in item:
        why = "uses '?', which may only stand alone, for either day field"
        return place.refuse(item, why, "Use '*'.")
    if "+" in item:
        why = "uses '+', which only begins day-of-week"
        return place.refuse(item, why, "'0 12 1 * +MON': the 1st, if it is a Monday.")
    if text in ("l", "lw") or (text[-1:] in ("l", "w") and number(text[:-1]) is not None):
        return place.refuse(item, "is lowercase", f"Write {item.upper()!r}.")
    if text.endswith("W"):
        why = "asks for the nearest weekday of what is not a single day"
        return place.refuse(item, why, "Use it in day-of-month, after one number: '15W'.")
    return place.refuse(item, "is not understood")
