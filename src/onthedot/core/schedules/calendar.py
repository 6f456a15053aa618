"""Calendars: which times on the wall are allowed, whatever a schedule says.

A time is allowed if no rule of `exclude` covers it and, where there is any rule in `require`, one
of those does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from onthedot.core.schedules.calendar_days import CalendarDays, Side
from onthedot.core.schedules.calendar_text import read_rule
from onthedot.core.schedules.wall import DAY_S
from onthedot.errors import Invalid, InvalidCalendar

RULES_MAX: Final = 1_000
TEXT_MAX: Final = 16_384
"""The text of all rules together; every job that follows the calendar keeps a copy of it."""

PARTS_MAX: Final = 50
"""Separate hours of one weekday: what a search does grows with them."""

_NAME_SHOWN: Final = 100
_RULES_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Calendar:
    """Rules as their one text each. Make it with `read`, unless they are known to be valid."""

    exclude: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    _days: CalendarDays | None = field(default=None, init=False, compare=False, repr=False)

    @classmethod
    def read(cls, exclude: Sequence[str], require: Sequence[str]) -> Calendar:
        """Refuses rules that are not understood, by their place, and more than are kept."""
        if not exclude and not require:
            raise InvalidCalendar(
                "a calendar without rules allows everything",
                hint="Give at least one rule in exclude or require.",
                field="exclude",
            )
        if len(exclude) + len(require) > RULES_MAX:
            raise InvalidCalendar(
                f"the calendar has {len(exclude) + len(require)} rules, at most {RULES_MAX} are "
                "kept",
                hint="Use dates of every year ('12-25') and spans, or drop years that are over.",
                field="exclude" if len(exclude) >= len(require) else "require",
            )
        made = cls(_read(exclude, "exclude"), _read(require, "require"))
        length = sum(map(len, made.exclude + made.require))
        if length > TEXT_MAX:
            raise InvalidCalendar(
                f"the rules have {length} characters together, at most {TEXT_MAX} are kept",
                hint="Use dates of every year ('12-25') and spans.",
                field="exclude",
            )
        if made.days.parts_max > PARTS_MAX:
            raise InvalidCalendar(
                f"the rules make {made.days.parts_max} separate parts of a weekday, at most "
                f"{PARTS_MAX} are kept",
                hint="Join hours that lie close together into one rule.",
                field="exclude" if len(exclude) >= len(require) else "require",
            )
        return made

    def against(self, wall: int) -> str:
        """The rule that does not allow a time, in words; empty: it is allowed."""
        day, second = divmod(wall, DAY_S)
        for text in self.exclude:
            if Side([text]).covers(day, second):
                return f"exclude has '{text}'"
        if self.days.allows(wall):
            return ""
        rules = ", ".join(f"'{text}'" for text in self.require[:_RULES_SHOWN])
        more = len(self.require) - _RULES_SHOWN
        return f"require has only {rules}{f' and {more} more' if more > 0 else ''}"

    @property
    def days(self) -> CalendarDays:
        if self._days is None:
            made = CalendarDays(self.exclude, self.require)
            object.__setattr__(self, "_days", made)
            return made
        return self._days


@lru_cache(maxsize=64)
def shared_calendar(exclude: tuple[str, ...], require: tuple[str, ...]) -> Calendar:
    """A calendar whose rules are known to be valid. Many jobs share few of them, with all that is
    worked out about their days.
    """
    return Calendar(exclude, require)


def unknown_calendar(name: str) -> Invalid:
    return Invalid(
        f"calendar {name[:_NAME_SHOWN]!r} does not exist",
        hint="Make it first with PUT /v1/calendars/{name}; GET /v1/calendars lists them.",
        field="calendar",
    )


def _read(texts: Sequence[str], name: str) -> tuple[str, ...]:
    read = (read_rule(text, field=f"{name}[{place}]").text for place, text in enumerate(texts))
    return tuple(dict.fromkeys(read))
