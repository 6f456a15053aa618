"""A schedule from its text: cron, an interval, an instant, a repetition, a fixed delay, or plain
English.
"""

from __future__ import annotations

from typing import Final

from onthedot.core.instants import parse_instant
from onthedot.core.schedules.amounts import added_up
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.cron_fields import invalid
from onthedot.core.schedules.english import read_english
from onthedot.core.schedules.english_cursor import NotEnglish
from onthedot.core.schedules.english_near import nearest
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.fixed_delay import FixedDelay
from onthedot.core.schedules.fixed_delay_text import read_fixed_delay
from onthedot.core.schedules.iso import is_iso, read_iso
from onthedot.core.schedules.moments import local_instant
from onthedot.core.schedules.once import Once
from onthedot.core.schedules.span import Schedule
from onthedot.core.schedules.terms import LENGTH_MAX, Terms, refusal
from onthedot.errors import Invalid, InvalidDuration, InvalidSchedule

_NICKNAME: Final = "@every"
_CRON: Final = frozenset("0123456789*/-,?+#LWH()")


def read_schedule(text: str, terms: Terms) -> Schedule | Once | FixedDelay:
    """The schedule that any text stands for: the field `schedule`."""
    if len(text) > LENGTH_MAX:
        shown = f"{text[:32]!r}... has {len(text)} characters, at most {LENGTH_MAX} are read"
        hint = "Say it shorter, or make several jobs."
        raise InvalidSchedule(f"schedule {shown}", hint=hint, field="schedule")
    plain = text.strip()
    delay = read_fixed_delay(plain, terms)
    if delay is not None:
        return delay
    try:
        if plain.startswith("@") or _is_cron(plain):
            return read_cron(text, terms)
    except Invalid as error:
        if error.field == "cronExpr":
            error.field = "schedule"
        raise
    if is_iso(plain):
        return read_iso(plain, terms)
    if plain[:4].isdigit() and plain[4:5] == "-":
        return _instant(plain, terms)
    return _english(plain, terms)


def read_cron(text: str, terms: Terms) -> Cron | Every:
    """A cron expression, or `@every 90s`, which is an interval: the field `cronExpr`."""
    words = text[: LENGTH_MAX + 1].split()
    if words and words[0] == _NICKNAME and len(text) <= LENGTH_MAX:
        return _interval(text.strip(), "".join(words[1:]))
    _, timezone, dst_gap, dst_overlap, seed = terms
    return Cron.parse(text, timezone, dst_gap=dst_gap, dst_overlap=dst_overlap, seed=seed)


def _is_cron(text: str) -> bool:
    """Whether the first two fields are made of what minutes and hours are made of."""
    fields = text.split()[:2]
    return "*" in text or not text or all(map(_CRON.issuperset, fields))


def _english(text: str, terms: Terms) -> Schedule | Once:
    try:
        return read_english(text, terms)
    except NotEnglish as error:
        hint = f"Did you mean {nearest(text, terms)!r}?"
        raise refusal(text, error.position, error.why, hint) from None


def _instant(text: str, terms: Terms) -> Once:
    local = local_instant(text, terms.timezone)
    return Once(parse_instant(text, field="schedule") if local is None else local)


def _interval(text: str, duration: str) -> Every:
    us = added_up(duration)
    if us is None:
        raise invalid(
            f"{text!r} is not an interval", "Write it like '@every 90s' or '@every 1h30m'."
        )
    try:
        return Every(us)
    except InvalidDuration as error:
        error.field = "cronExpr"
        raise
