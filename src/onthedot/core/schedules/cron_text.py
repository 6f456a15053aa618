"""The text of a cron expression, checked strictly: a refusal names the field and the next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onthedot.errors import InvalidCron

_LENGTH_MAX: Final = 256
_DIGITS: Final = frozenset("0123456789")
_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    also: str = ""

    @property
    def step_max(self) -> int:
        # 0 and 7 are one day, so a week has seven values although eight numbers.
        return 7 if self.name == "day-of-week" else self.high - self.low + 1

    @property
    def hint(self) -> str:
        step = 15 if self.name == "minute" else 2
        return f"Use {self.low}-{self.high}, '*', or a step such as '*/{step}'.{self.also}"


# fmt: off
_MONTHS: Final = (
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
)
# fmt: on
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day-of-month", 1, 31, (), " L is the last day of the month."),
    _Field("month", 1, 12, _MONTHS, " Names work too: JAN-MAR."),
    _Field("day-of-week", 0, 7, _DAYS, " Also MON-FRI, MON#2 (the second), 5L (the last Friday)."),
)


def normalise(expression: str) -> str:
    """One space between fields, nicknames spelled out. Refuses what does not have five fields."""
    if len(expression) > _LENGTH_MAX:
        raise _invalid(
            f"cron expression {expression[:32]!r}... has {len(expression)} characters, "
            f"at most {_LENGTH_MAX} are read",
            "Use ranges and steps instead of long lists, or several jobs.",
        )
    parts = expression.split()
    if parts and parts[0].startswith("@"):
        return _spelled_out(parts)
    if len(parts) != len(_FIELDS):
        raise _wrong_count(expression, parts)
    return " ".join(parts)


def canonical(expression: str) -> str:
    """A normalised expression in the form cronsim reads rightly: no names, no `a-a/n`."""
    parts = expression.split(" ")
    return " ".join(
        ",".join(_item(field, item, expression) for item in part.upper().split(","))
        for field, part in zip(_FIELDS, parts, strict=True)
    )


def is_fixed_time(expression: str) -> bool:
    """Debian cron's test for the jobs that a change of the clocks must neither skip nor repeat."""
    minute, hour, *_ = expression.split(" ")
    return not (minute.startswith("*") or hour.startswith("*"))


def _item(field: _Field, item: str, expression: str) -> str:
    """One element of a list: `*`, a value, a range, one of the first two `/step`, or a special."""
    if field.name == "day-of-month" and item in ("L", "LW"):
        return item
    if field.name == "day-of-week" and (item.endswith("L") or "#" in item):
        return _nth_weekday(field, item, expression)
    base, slash, step = item.partition("/")
    if slash:
        return _stepped(field, base, step, item, expression)
    if base == "*":
        return "*"
    if "-" in base:
        low, high = _range(field, base, expression)
        return f"{low}-{high}"
    return str(_value(field, base, item, expression))


def _stepped(field: _Field, base: str, step: str, item: str, expression: str) -> str:
    if base != "*" and "-" not in base:
        start = _value(field, base, item, expression)
        raise _bad(
            field,
            item,
            expression,
            "has a step after a single value",
            f"Put the step after '*' or a range, such as '{start}-{field.high}/{step}'.",
        )
    count = _number(step)
    if count is None or count == 0:
        raise _bad(field, item, expression, f"has a step {step!r} that is not 1 or more")
    if count > field.step_max:
        raise _bad(
            field,
            item,
            expression,
            f"has a step above {field.step_max}, so it would match one value only",
            f"Use a step of 1-{field.step_max}; for other intervals use `every` instead of cron.",
        )
    if base == "*":
        return f"*/{count}"
    low, high = _range(field, base, expression)
    # cronsim reads 5-5/10 as 5/10, which is 5-59/10.
    return str(low) if low == high else f"{low}-{high}/{count}"


def _range(field: _Field, text: str, expression: str) -> tuple[int, int]:
    start, _, end = text.partition("-")
    low = _value(field, start, text, expression)
    high = _value(field, end, text, expression)
    if low > high:
        last = 6 if field.name == "day-of-week" else field.high
        raise _bad(
            field,
            text,
            expression,
            "runs backwards",
            f"Split it in two: '{low}-{last},{field.low}-{high}'.",
        )
    return low, high


def _nth_weekday(field: _Field, item: str, expression: str) -> str:
    """`5L` is the last Friday, `MON#2` the second Monday."""
    if item.endswith("L"):
        return f"{_value(field, item[:-1], item, expression)}L"
    day, _, nth = item.partition("#")
    number = _number(nth)
    if number is None or not 1 <= number <= 5:
        raise _bad(field, item, expression, f"asks for week {nth!r} of the month, which is not 1-5")
    return f"{_value(field, day, item, expression)}#{number}"


def _value(field: _Field, text: str, item: str, expression: str) -> int:
    if text in field.names:
        # Months count from 1, days of the week from 0.
        return field.names.index(text) + field.low
    number = _number(text)
    if number is None:
        raise _unreadable(field, text, item, expression)
    if not field.low <= number <= field.high:
        raise _bad(field, item, expression, f"is out of range {field.low}-{field.high}")
    return number


def _number(text: str) -> int | None:
    return int(text) if text and _DIGITS.issuperset(text) else None


def _unreadable(field: _Field, text: str, item: str, expression: str) -> InvalidCron:
    if item == "":
        return _bad(field, item, expression, "is an empty list element")
    if "?" in item:
        return _bad(field, item, expression, "uses '?', which this cron does not have", "Use '*'.")
    if text.endswith("W") and _number(text[:-1]) is not None:
        why = "asks for the nearest weekday, which is not available"
        return _bad(field, item, expression, why, "Use a day, L, LW or a weekday such as 'MON#1'.")
    if text == "H" or text.startswith("H("):
        why = "uses Jenkins' H, which is not available"
        return _bad(field, item, expression, why, f"Choose a value: {field.low}-{field.high}.")
    return _bad(field, item, expression, "is not understood")


def _spelled_out(parts: list[str]) -> str:
    nickname = parts[0].lower()
    if nickname == "@every":
        raise _invalid(
            f"'@every' in {' '.join(parts)!r} is an interval, not a cron expression",
            "Use the field `every` instead, such as 300 or 'PT5M'.",
        )
    if nickname == "@reboot":
        raise _invalid(
            "'@reboot' has no meaning here: a job belongs to no machine",
            "Trigger the job from whatever starts, or choose a time.",
        )
    if nickname not in _NICKNAMES or len(parts) > 1:
        raise _invalid(
            f"nickname {' '.join(parts)!r} is not known", f"Use one of {', '.join(_NICKNAMES)}."
        )
    return _NICKNAMES[nickname]


def _wrong_count(expression: str, parts: list[str]) -> InvalidCron:
    if not parts:
        return _invalid("the cron expression is empty", "Five fields: '0 9 * * MON-FRI'.")
    hint = "The five fields are minute, hour, day-of-month, month, day-of-week: '0 9 * * MON-FRI'."
    if len(parts) == 6 and parts[0].strip("0") == "":
        hint = f"Drop the seconds: {' '.join(parts[1:])!r}."
    elif len(parts) == 6:
        hint = "Seconds are not available in cron: leave them out, or use `every` (1 s or more)."
    elif len(parts) == 7:
        hint = "Neither seconds nor years are available: keep the five fields between them."
    has = "1 field" if len(parts) == 1 else f"{len(parts)} fields"
    return _invalid(f"{expression!r} has {has}, five are needed", hint)


def _bad(field: _Field, item: str, expression: str, why: str, hint: str = "") -> InvalidCron:
    return _invalid(f"{field.name} {item!r} in {expression!r} {why}", hint or field.hint)


def _invalid(message: str, hint: str) -> InvalidCron:
    return InvalidCron(message, hint=hint, field="cronExpr")
