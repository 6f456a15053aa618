"""A fixed delay from its text: '15 minutes after the last run', 'PT15M after the last run', 'fixed
delay 15m'.
"""

from __future__ import annotations

from typing import Final

from onthedot.core.durations import parse_duration
from onthedot.core.schedules.amounts import added_up, counted
from onthedot.core.schedules.english import read_english
from onthedot.core.schedules.english_cursor import NotEnglish
from onthedot.core.schedules.fixed_delay import FixedDelay
from onthedot.core.schedules.iso import is_iso
from onthedot.core.schedules.once import Once
from onthedot.core.schedules.terms import Terms, refusal
from onthedot.errors import Invalid

_BEGINS: Final = ("fixed delay of ", "fixed delay ")
_AFTER: Final = (" after the last run", " after the previous run")
_ENDS: Final = frozenset(
    {"", " ends", " ended", " has ended", " is over", " finished", " finishes"}
)
_HINT: Final = "Write it like '15 minutes after the last run', or 'fixed delay 15m'."


def read_fixed_delay(text: str, terms: Terms) -> FixedDelay | None:
    """None: the text is not meant as one."""
    said = " ".join(text.split())
    amount = _amount(said, text)
    if amount is None:
        return None
    try:
        return FixedDelay(_microseconds(amount, terms))
    except NotEnglish:
        raise refusal(text, 1, f"has {amount!r} where a duration should stand", _HINT) from None
    except Invalid as error:
        error.field = "schedule"
        raise


def _amount(said: str, text: str) -> str | None:
    small = said.lower()
    for begin in _BEGINS:
        if small.startswith(begin):
            return said[len(begin) :]
    for after in _AFTER:
        amount, found, end = small.partition(after)
        if found and end in _ENDS:
            return said[: len(amount)]
        if found:
            position = text.lower().find(after.split()[-1]) + 5
            raise refusal(text, position, f"goes on after the last run with {end!r}", _HINT)
    return None


def _microseconds(amount: str, terms: Terms) -> int:
    if is_iso(amount):
        return parse_duration(amount, field="schedule")
    for read in (added_up(amount.replace(" ", "")), counted(amount)):
        if read is not None:
            return read
    once = read_english(f"in {amount}", terms)
    if not isinstance(once, Once):
        raise NotEnglish(1, "is no duration")
    return once.at - terms.now
