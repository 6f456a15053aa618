"""The words of schedules in English: a text cut into tokens, and what each of them may mean."""

from __future__ import annotations

from typing import Final, NamedTuple

from onthedot.core.schedules.moments import day_number

_DIGITS: Final = frozenset("0123456789")
_NUMBER_DIGITS_MAX: Final = 6
# fmt: off
MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)
_COUNTS: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)
_ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)
# fmt: on
WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
UNITS: Final = ("second", "minute", "hour", "day", "week", "month", "year")
_TIMES: Final = {"noon": 12 * 3600, "midday": 12 * 3600, "midnight": 0}
_HALVES: Final = ("am", "pm")
_OTHERS: Final = (
    *(
        "every",
        "each",
        "at",
        "on",
        "in",
        "of",
        "the",
        "and",
        "or",
        "from",
        "to",
        "through",
        "until",
    ),
    *("between", "through", "day", "days", "daily", "hourly", "weekday", "weekdays", "weekend"),
    *(
        "weekends",
        "last",
        "nearest",
        "tomorrow",
        "today",
        "next",
        "start",
        "hours",
        "minutes",
        "seconds",
    ),
    *("other", "if", "it", "is", "a", "an", "times", "once", "counted", *_HALVES, *_TIMES),
)
VOCABULARY: Final = (*MONTHS, *WEEKDAYS, *UNITS, *_COUNTS, *_ORDINALS, *_OTHERS)


class Token(NamedTuple):
    """A word in lowercase, and where it begins, from 1."""

    text: str
    position: int


def tokens_of(text: str) -> list[Token]:
    """Words and commas. Each character is looked at once."""
    found: list[Token] = []
    start = None
    for place, character in enumerate(f"{text.lower()} "):
        if character.isspace() or character == ",":
            if start is not None:
                found.append(Token(text[start:place].lower(), start + 1))
                start = None
            if character == ",":
                found.append(Token(",", place + 1))
        elif start is None:
            start = place
    return found


def number(word: str) -> int | None:
    if word in _COUNTS:
        return _COUNTS.index(word) + 1
    plain = 0 < len(word) <= _NUMBER_DIGITS_MAX and _DIGITS.issuperset(word)
    return int(word) if plain else None


def ordinal(word: str) -> int | None:
    """1st, 22nd, first."""
    if word in _ORDINALS:
        return _ORDINALS.index(word) + 1
    digits, suffix = word[:-2], word[-2:]
    value = number(digits) if digits.isascii() and digits.isdigit() else None
    return value if value is not None and suffix in ("st", "nd", "rd", "th") else None


def weekday(word: str) -> int | None:
    """0 is Sunday. Also in the plural, and cut to three letters."""
    return _named(word.removesuffix("s") if len(word) > 4 else word, WEEKDAYS)


def month(word: str) -> int | None:
    """From 1. Also cut to three letters."""
    found = _named(word, MONTHS)
    return None if found is None else found + 1


def unit(word: str) -> str | None:
    plain = word.removesuffix("s")
    return plain if plain in UNITS else None


def time_of_day(word: str, following: str) -> tuple[int, int] | None:
    """Seconds since midnight, and how many words it took: 9:00, 09:30:15, 9am, 9 am, noon."""
    if word in _TIMES:
        return _TIMES[word], 1
    half, words = word[-2:], 1
    if half in _HALVES:
        word = word[:-2]
    elif following in _HALVES:
        half, words = following, 2
    else:
        half = ""
    parts = word.split(":")
    if len(parts) > 3 or (len(parts) == 1 and not half):
        return None
    if not all(1 <= len(part) <= 2 and _DIGITS.issuperset(part) for part in parts):
        return None
    hour, minute, second = (int(part) for part in (*parts, "0", "0")[:3])
    if minute > 59 or second > 59 or hour > 23 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour * 3600 + minute * 60 + second, words


def day_of(word: str) -> int | None:
    """The day of 2027-01-31, counted from 1970-01-01."""
    parts = word.split("-")
    if [len(part) for part in parts] != [4, 2, 2] or not all(map(_DIGITS.issuperset, parts)):
        return None
    return day_number(*map(int, parts))


def _named(word: str, names: tuple[str, ...]) -> int | None:
    if word in names:
        return names.index(word)
    short = [name[:3] for name in names]
    return short.index(word) if word in short else None
