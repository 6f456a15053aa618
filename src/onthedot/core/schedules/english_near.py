"""The nearest sentence that is understood, for one that is not. Whatever is offered was read."""

from __future__ import annotations

import re
from typing import Final

from onthedot.core.closest import KnownWords
from onthedot.core.schedules import english_words as words
from onthedot.core.schedules.english import read_english
from onthedot.core.schedules.english_cursor import NotEnglish
from onthedot.core.schedules.terms import Terms
from onthedot.errors import Invalid

FORMS: Final = (
    "every 15 minutes",
    "every 2 hours",
    "every day at 9:00",
    "every day at 9:00 and 17:30",
    "every weekday at 9am",
    "every weekend at 10:00",
    "every monday at 9:00",
    "every monday and thursday at 18:30",
    "every 2 hours between 8:00 and 20:00",
    "every 15 minutes between 9:00 and 17:00 on weekdays",
    "every 2 weeks on monday at 9:00",
    "every month on the 15th at 8:00",
    "every year on january 1st at 0:00",
    "on the last day of the month at 23:00",
    "on the first monday of january, july at noon",
    "on the last friday of the month at 16:30",
    "tomorrow at 10:00",
    "next monday at 9:00",
    "in 10 minutes",
)
_SHORT: Final = re.compile(
    r"(?:@?every)?\s*(?P<count>\d{1,6})\s*"
    r"(?P<unit>s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
)
_UNITS: Final = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
_PLAINEST: Final = "every day at 9:00"
_LIKE: Final = 0.4
_TRIES_MAX: Final = 3
_FORMS: Final = KnownWords(FORMS)
_WORDS: Final = KnownWords(words.VOCABULARY)


def nearest(text: str, terms: Terms) -> str:
    """A sentence that is understood: the text mended, or else the form that is most like it. What
    is like none of them gets the plainest.
    """
    mended = _interval(text) or _mended(text)
    for _ in range(_TRIES_MAX):
        missing = _missing(mended, terms)
        if missing is None:
            return mended
        if not missing:
            break
        mended = f"{mended} {missing}"
    return next(iter(_FORMS.most_like(text.lower(), 1, cutoff=_LIKE)), _PLAINEST)


def _interval(text: str) -> str | None:
    """'5m', '10min' and 'every 2h' are how others write an interval."""
    found = _SHORT.fullmatch(text.strip().lower())
    if found is None:
        return None
    count, unit = int(found["count"]), _UNITS[found["unit"][0]]
    return f"every {count} {unit}s" if count > 1 else f"every {unit}"


def _missing(text: str, terms: Terms) -> str | None:
    """None: nothing, it is understood. Empty: nobody knows what."""
    try:
        read_english(text, terms)
    except NotEnglish as error:
        return error.add
    except Invalid:
        return ""
    return None


def _mended(text: str) -> str:
    """With known words for those that are nearly known, and 9:00 for a bare 9."""
    tokens = words.tokens_of(text.partition("(")[0])
    mended: list[str] = []
    for place, (word, _) in enumerate(tokens):
        following = tokens[place + 1].text if place + 1 < len(tokens) else ""
        before = mended[-1] if mended else ""
        if word == "," and mended:
            mended[-1] += ","
            continue
        if before in ("at", "between", "and,", "from") or (before == "and" and "at" in mended):
            hour = words.number(word)
            is_hour = hour is not None and hour < 24 and following not in ("am", "pm")
            mended.append(f"{hour}:00" if is_hour and words.unit(following) is None else word)
        elif word.isascii() and word.isalpha() and word not in words.VOCABULARY:
            close = _WORDS.most_like(word, 1, cutoff=0.7)
            known = words.weekday(word) is not None or words.unit(word) is not None
            mended.append(close[0] if close and not known else word)
        else:
            mended.append(word)
    return " ".join(mended)
