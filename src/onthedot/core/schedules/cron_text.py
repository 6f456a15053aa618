"""The text of a cron expression before its fields are read: length, nicknames, and `H`.

`H` stands for a value that depends on the job: the same for ever, and another for the next job, so
that a thousand nightly jobs do not all begin at midnight. It is resolved once, when the expression
is given; what is due is then decided by a plain expression.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from onthedot.core.schedules.cron_fields import (
    DAY,
    HOUR,
    JOIN,
    MINUTE,
    WEEKDAY,
    YEAR,
    CronField,
    FieldPosition,
    invalid,
    layout,
    read_range,
    read_step,
)
from onthedot.core.schedules.terms import LENGTH_MAX
from onthedot.errors import InvalidCron, RebootUnsupported

_BLANKS: Final = " \t"
_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EXAMPLE: Final = "'0 9 * * MON-FRI'"
_FIVE: Final = f"The five fields are minute, hour, day-of-month, month, day-of-week: {_EXAMPLE}."


def normalise(expression: str) -> str:
    """One space between fields, nicknames spelled out. Refuses what has not 5, 6 or 7 fields."""
    if len(expression) > LENGTH_MAX:
        raise invalid(
            f"cron expression {expression[:32]!r}... has {len(expression)} characters, "
            f"at most {LENGTH_MAX} are read",
            "Use ranges and steps instead of long lists, or several jobs.",
        )
    text = expression.strip(_BLANKS)
    if JOIN in text:
        return _joined(text)
    if text.startswith("@"):
        return _spelled_out(text)
    parts = [part for part in text.replace("\t", " ").split(" ") if part]
    if any(part.split() != [part] for part in parts):
        raise invalid(
            f"{expression!r} has a blank that is neither a space nor a tab",
            "Put single spaces between the fields.",
        )
    if layout(parts) is None:
        raise _wrong_count(expression, parts)
    return " ".join(parts)


def _joined(text: str) -> str:
    """Expressions that differ in the time of day only: '0 9 * * * | 30 17 * * *'."""
    alternatives = [normalise(part) for part in text.split(JOIN)]
    first = alternatives[0].split(" ")
    fields = layout(first)
    assert fields is not None, alternatives
    for other in alternatives[1:]:
        parts = other.split(" ")
        same = len(parts) == len(first) and all(
            field in (MINUTE, HOUR) or part == wanted
            for field, part, wanted in zip(fields, parts, first, strict=True)
        )
        if not same:
            raise invalid(
                f"{other!r} differs from {alternatives[0]!r} in more than minute and hour",
                f"What {JOIN!r} joins must have the same days. Make a job of its own for it.",
            )
    return f" {JOIN} ".join(dict.fromkeys(alternatives))


def uses_hash(expression: str) -> bool:
    """Whether a normalised expression has an `H`; names such as THU and MARCH are none."""
    return any(
        item == "H" or item.startswith(("H(", "H/"))
        for part in expression.split(" ")
        for item in part.removeprefix("+").split(",")
    )


def resolved(expression: str, seed: str) -> str:
    """A normalised expression with a value of the job in place of every `H`."""
    return f" {JOIN} ".join(_resolved(part, seed) for part in expression.split(f" {JOIN} "))


def _resolved(expression: str, seed: str) -> str:
    parts = expression.split(" ")
    fields = layout(parts)
    assert fields is not None, expression
    return " ".join(
        ",".join(
            _hashed(FieldPosition(field, expression), item, seed) if item.startswith("H") else item
            for item in part.replace("+H", "+,H", 1).split(",")
        ).replace("+,", "+", 1)
        for field, part in zip(fields, parts, strict=True)
    )


def _hashed(place: FieldPosition, item: str, seed: str) -> str:
    """`H`, `H(0-7)`, `H/15` or `H(0-29)/10`."""
    field = place.field
    if field is YEAR:
        raise place.refuse(item, "uses H, which no year can be", "Choose the years, or leave '*'.")
    base, slash, step = item[1:].partition("/")
    low, high = _spread(field)
    if base:
        if not (base.startswith("(") and base.endswith(")") and "-" in base):
            raise place.refuse(item, "is not understood", "Write H, H(0-7), H/15 or H(0-29)/10.")
        low, high = read_range(place, base[1:-1])
    chance = _hash(seed, field.name)
    if not slash:
        return str(low + chance % (high - low + 1))
    every = min(read_step(place, step, item), high - low + 1)
    first = low + chance % every
    return str(first) if first + every > high else f"{first}-{high}/{every}"


def _spread(field: CronField) -> tuple[int, int]:
    if field is DAY:
        return 1, 28  # the days that every month has
    return (0, 6) if field is WEEKDAY else (field.low, field.high)


def _hash(seed: str, field: str) -> int:
    # Part of the format: another hash would move every job that uses H.
    text = f"{seed}\0{field}".encode(errors="replace")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def _spelled_out(text: str) -> str:
    if text in _NICKNAMES:
        return _NICKNAMES[text]
    nickname = text.split(maxsplit=1)[0]
    if text == "@reboot":
        raise RebootUnsupported(
            "'@reboot' is no schedule for a job: a job belongs to no machine that could start",
            hint="Trigger the job from whatever starts, or choose a time.",
            field="cronExpr",
        )
    if nickname == "@every":
        raise invalid(
            f"{text!r} is an interval, not a cron expression",
            "Use the field `every` instead, such as 300 or 'PT5M'.",
        )
    if text.lower() in _NICKNAMES:
        raise invalid(f"nickname {text!r} is not lowercase", f"Write {text.lower()!r}.")
    if nickname in _NICKNAMES:
        raise invalid(
            f"nickname {nickname!r} stands alone, not as in {text!r}", "Keep one of them."
        )
    raise invalid(f"nickname {text!r} is not known", f"Use one of {', '.join(_NICKNAMES)}.")


def _wrong_count(expression: str, parts: list[str]) -> InvalidCron:
    if not parts:
        return invalid("the cron expression is empty", f"Five fields: {_EXAMPLE}.")
    has = "1 field" if len(parts) == 1 else f"{len(parts)} fields"
    more = " With six, the first is the second; with seven, the last is the year."
    return invalid(f"{expression!r} has {has}, five to seven are needed", _FIVE + more)
