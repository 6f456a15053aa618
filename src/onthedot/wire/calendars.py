"""A calendar on the wire: as it is given, as it is shown, and what an edit would move."""

from __future__ import annotations

import re
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from onthedot.core.fields.when import PREVIEWED_DEFAULT
from onthedot.core.instants import Instant
from onthedot.core.model import Job
from onthedot.core.schedules import Calendar
from onthedot.core.schedules.calendar import RULES_MAX
from onthedot.errors import Invalid
from onthedot.wire.fields import InstantText, Version, about
from onthedot.wire.previews import ComingOut, Previewed, instants_of

NAME_MAX: Final = 100
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

_FORMS: Final = (
    "A date `2027-12-24`, a date of every year `12-25`, a span of either, both ends included, "
    "`2027-12-24/2028-01-02`, days `mon-fri` or `sat,sun`, hours `mon-fri 09:00-17:00` or "
    "`22:00-06:00` (they belong to the day on which they begin), or moments "
    "`2027-12-20T18:00/2028-01-02T08:00`, without the last one. All in the zone of each job."
)
_EXPECTS: Final = f"at most {RULES_MAX} rules, each as text"
Exclude = Annotated[
    list[str],
    about(
        f"What is covered by one of these is not allowed. {_FORMS}",
        _EXPECTS,
        max_length=RULES_MAX,
        default=[],
        examples=[["12-25", "2027-03-29"]],
    ),
]
Require = Annotated[
    list[str],
    about(
        "If there are any, only what is covered by one of these is allowed. They are written in "
        "the same way.",
        _EXPECTS,
        max_length=RULES_MAX,
        default=[],
        examples=[["mon-fri"]],
    ),
]


class CalendarIn(Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """All rules of a calendar: what is left out is gone."""

    exclude: Exclude | UnsetType = UNSET
    require: Require | UnsetType = UNSET
    version: Version | UnsetType = UNSET


class CalendarOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """A calendar as it is now. So many `jobs` follow it; `behind` of them have not taken its last
    version over yet, which takes a moment where they are many.
    """

    name: str
    version: int
    exclude: tuple[str, ...]
    require: tuple[str, ...]
    jobs: int
    behind: int
    created_at: InstantText
    updated_at: InstantText


class CalendarList(Struct, kw_only=True, frozen=True, rename="camel"):
    """In the order of their names. `nextCursor` is null on the last page."""

    calendars: list[CalendarOut]
    next_cursor: str | None


class JobMoveOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """When a job is due next, as it is and as it would be."""

    job_id: str
    name: str
    old: list[ComingOut]
    new: list[ComingOut]


class CalendarEditOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """What an edit of a calendar would do. `version` is the one that it would replace, if any."""

    name: str
    version: int | None
    exclude: tuple[str, ...]
    require: tuple[str, ...]
    jobs: int
    moves: Annotated[
        list[JobMoveOut],
        Meta(description="Of the first 100 jobs that follow it, those that are due otherwise."),
    ]


def calendar_of(given: CalendarIn) -> Calendar:
    """The calendar of a request, or a refusal that names the rule."""
    return Calendar.read(_said(given.exclude), _said(given.require))


def calendar_name(text: str) -> str:
    """A name fit for a path."""
    if len(text) > NAME_MAX or not _NAME.fullmatch(text):
        raise Invalid(
            f"{text[:NAME_MAX]!r} is no name of a calendar",
            hint=f"Use 1 to {NAME_MAX} letters, digits, '-', '_' or '.', beginning with a letter "
            "or digit.",
            field="name",
        )
    return text


def move_of(job_id: str, old: Job, new: Job, *, now: Instant) -> JobMoveOut | None:
    """A job as it is and as it would be, if it is due otherwise."""
    was, would_be = _coming(old, now), _coming(new, max(now, new.since))
    if was == would_be:
        return None
    return JobMoveOut(job_id=job_id, name=old.definition.name, old=was, new=would_be)


def _coming(job: Job, after: Instant) -> list[ComingOut]:
    definition = job.definition
    if definition.schedule is None or definition.paused:
        return []
    return list(instants_of(Previewed(definition, after, PREVIEWED_DEFAULT, job.anchor, job)))


def _said(rules: list[str] | UnsetType) -> list[str]:
    return [] if isinstance(rules, UnsetType) else rules
