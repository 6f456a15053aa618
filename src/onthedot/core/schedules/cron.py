"""Cron: which instants an expression names in a time zone.

The rule for a DST change is Debian cron's, unless the schedule says otherwise. A
*fixed-time* job (neither minute nor hour begins with `*`) is never skipped and never repeated: in a
gap it is due right after it, in an overlap in the first pass. Any other expression follows the
hands of the clock: it is due whenever a matching time is shown, so `*/30 2 * * *` has nothing in
the gap and `0 * * * *` fires in both passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from onthedot.core.instants import INSTANT_MAX, SECOND, Instant
from onthedot.core.schedules.cron_fields import Fields, invalid, read_fields
from onthedot.core.schedules.cron_program import Program
from onthedot.core.schedules.cron_text import normalise, resolved, uses_hash
from onthedot.core.schedules.cron_words import sentence
from onthedot.core.schedules.wall import DstGap, DstOverlap
from onthedot.core.schedules.zones import zone_named, zone_of
from onthedot.errors import NeverFires

_SECOND_MAX: Final = INSTANT_MAX // SECOND


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression in a time zone. Make it with `parse`, unless it is known to be valid.

    `plain` is the expression without `H`, where it has one. `dst_gap` and `dst_overlap` None:
    Debian cron's rule.
    """

    expression: str
    timezone: str = "UTC"
    dst_gap: DstGap | None = None
    dst_overlap: DstOverlap | None = None
    plain: str | None = None
    # Made when first asked: a schedule that is only stored or shown never needs it.
    _program: Program | None = field(default=None, init=False, compare=False, repr=False)

    @classmethod
    def parse(
        cls,
        expression: str,
        timezone: str = "UTC",
        *,
        dst_gap: DstGap | None = None,
        dst_overlap: DstOverlap | None = None,
        seed: str | None = None,
    ) -> Cron:
        """Refuses what is no cron expression, not a zone, or can never be due.

        `seed` is what `H` is derived from; it should stay the same for the life of a job.
        """
        text = normalise(expression)
        plain = _without_hash(text, seed) if uses_hash(text) else None
        cron = cls(text, timezone, dst_gap, dst_overlap, plain)
        cron.fields()
        zone_named(timezone)
        cron._made()
        return cron

    def after(self, instant: Instant, *, anchor: Instant = 0) -> Instant | None:
        """The first due instant strictly after; None when there is none before 2200."""
        if instant >= INSTANT_MAX:
            return None
        # Due instants are whole seconds, so the part below a second can be cut.
        second = instant // SECOND + 1
        due = (self._program or self._made()).first(second if second > 0 else 0)
        return None if due is None or due > _SECOND_MAX else due * SECOND

    def count(self, first: Instant, last: Instant, *, limit: int) -> int | None:
        """How many due instants lie in [first, last]; None when more than `limit`."""
        end = min(last // SECOND, _SECOND_MAX)
        return self._made().count(max(-(-first // SECOND), 0), end, limit=limit)

    def nth(self, first: Instant, number: int) -> Instant | None:
        """The due instant of this number from `first` on; None if there are not so many."""
        due = self._made().nth(max(-(-first // SECOND), 0), number)
        return None if due is None or due > _SECOND_MAX else due * SECOND

    def makes_up(self, due: Instant) -> bool:
        """Whether a due instant stands for times that a gap swallowed."""
        return self._made().is_made_up(due // SECOND)

    def explain(self) -> str:
        """One sentence in English, such as 'At 02:30 every day (Europe/Berlin)'."""
        return f"{sentence(self.fields())} ({self.timezone})"

    def fields(self) -> Fields:
        """What the expression says, as sets of values."""
        return _read(self.plain or self.expression)

    def _made(self) -> Program:
        if self._program is None:
            gap, overlap = self.dst_gap, self.dst_overlap
            made = _program(self.plain or self.expression, self.timezone, gap, overlap)
            object.__setattr__(self, "_program", made)
            return made
        return self._program


def _without_hash(text: str, seed: str | None) -> str:
    if seed is None:
        raise invalid(
            f"{text!r} uses H, which is derived from a job's key or name, and there is none here",
            "Name the job (for `onthedot next`: --job NAME), or choose a value in place of H.",
        )
    return resolved(text, seed)


@lru_cache(maxsize=2048)
def _read(expression: str) -> Fields:
    # Once more, for what came from a store: text that was tampered with is refused, not misread.
    return read_fields(normalise(expression))


# Many jobs share few expressions, and making a program costs as much as a hundred calls of `first`.
@lru_cache(maxsize=2048)
def _program(
    expression: str, timezone: str, gap: DstGap | None, overlap: DstOverlap | None
) -> Program:
    fields = _read(expression)
    program = Program(
        fields,
        zone_of(timezone),
        gap or ("after" if fields.fixed else "skip"),
        overlap or ("first" if fields.fixed else "both"),
    )
    if not program.is_ever_due():
        raise NeverFires(
            f"{expression!r} is never due: no day of any year matches",
            hint="Check day-of-month against month; 'L' is the last day of every month.",
            field="cronExpr",
        )
    return program
