"""A schedule tried out: what it says, and when it would be due."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from onthedot.core.chaining import first_due
from onthedot.core.editing import anchor_of, limited
from onthedot.core.instants import Instant, format_instant, parse_instant
from onthedot.core.model import Definition, Job, NamedCalendar, timetable
from onthedot.core.schedules import Coming, FixedDelay, Within, coming, explain, normal_form
from onthedot.core.schedules.preview import Mark
from onthedot.errors import Invalid
from onthedot.wire import fields as f
from onthedot.wire.fields import about
from onthedot.wire.jobs import InstantText
from onthedot.wire.schedules import ScheduleFields, given_or_none, scheduled

COUNT_MAX: Final = 1000
COUNT_DEFAULT: Final = 5

Count = Annotated[
    int,
    about(
        "How many instants.",
        f"a whole number from 1 to {COUNT_MAX}",
        ge=1,
        le=COUNT_MAX,
        default=COUNT_DEFAULT,
    ),
]
JobName = Annotated[
    str,
    about("Key or name of the job, from which `H` takes its values.", "text", max_length=200),
]


class PreviewIn(ScheduleFields, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A schedule, said as in a job, and how much of it to show."""

    job: JobName | UnsetType = UNSET
    after: f.After | UnsetType = UNSET
    count: Count | UnsetType = UNSET


class ComingOut(Struct, kw_only=True, frozen=True, rename="camel", omit_defaults=True):
    """`nominal` is the instant that the schedule names, `at` when it may start. They differ where a
    calendar has moved it, and for a job that is there and has jitter or spread; what another job's
    offsets would be is not known before it is made.
    """

    at: InstantText
    nominal: InstantText
    marks: Annotated[
        tuple[Mark, ...],
        Meta(
            description="`dstGap`: makes up for times that a change of the clocks leaves out. "
            "`dstOverlapFirst`, `dstOverlapSecond`: in an hour that comes twice. `calendar`: moved "
            "to a day that the calendar allows. `jitter`, `spread`: these move its start to later. "
            "`last`: `endAt` or `maxRuns` allows no more. "
            "`fixedDelay`: each further one is counted from the end of the run before it, so that "
            "no other can be told."
        ),
    ]
    skipped: Annotated[
        int | None,
        Meta(
            description="Instants of the schedule, since the one before, that have no run of their "
            "own: the calendar leaves them out, or moves them onto this one. Null: too many to "
            "count. Left out: none."
        ),
    ] = 0


class PreviewOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """What a schedule says in words and in its normal form, and the instants to come."""

    sentence: str
    normalised: str
    timezone: str
    instants: list[ComingOut]


def preview_of(
    asked: PreviewIn, *, now: Instant, calendar: NamedCalendar | None = None
) -> PreviewOut:
    """An interval without a start of its own is counted from `after`."""
    text = given_or_none(asked.after)
    after = now if text is None else parse_instant(text, field="after")
    blank = Definition(name=given_or_none(asked.job) or "")
    definition = scheduled(blank, asked, now=after, calendar=calendar)
    if definition.schedule is None:
        raise Invalid(
            "there is no schedule to show",
            hint="Give one of cronExpr, every, fixedDelay, runAt, delay and schedule.",
            field="schedule",
        )
    count = COUNT_DEFAULT if isinstance(asked.count, UnsetType) else asked.count
    anchor = anchor_of(definition, after)
    return preview_out(limited(definition, anchor, after), after, count, anchor=anchor)


def preview_out(
    definition: Definition, after: Instant, count: int, *, anchor: Instant, job: Job | None = None
) -> PreviewOut:
    """What a definition's schedule says, and what it would be due at. Only a job that is there has
    offsets of its own, or a run under way.
    """
    schedule = definition.schedule
    assert schedule is not None, definition
    instants = []
    if isinstance(schedule, FixedDelay):
        dues = _first_link(definition, after, job)
    else:
        dues = coming(timetable(definition) or schedule, after, count, anchor=anchor)
    for each in dues:
        offset = 0 if job is None else definition.shift.of(job.id, each.at)
        instants.append(
            ComingOut(
                at=format_instant(each.at + offset),
                nominal=format_instant(each.nominal),
                marks=each.marks + window_marks(definition, each.at, anchor),
                skipped=each.skipped,
            )
        )
    return PreviewOut(
        sentence=explain(schedule),
        normalised=normal_form(schedule),
        timezone=definition.timezone,
        instants=instants,
    )


def _first_link(definition: Definition, after: Instant, job: Job | None) -> list[Coming]:
    """The one instant of a fixed delay that can be told, unless a run is under way."""
    due = first_due(definition, after) if job is None else job.link
    return [] if due is None or due <= after else [Coming(due, due, ("fixedDelay",))]


def window_marks(definition: Definition, due: Instant, anchor: Instant) -> tuple[Mark, ...]:
    """What a due instant's window says of it."""
    found: list[Mark] = []
    if definition.shift.jitter_us:
        found.append("jitter")
    if definition.shift.spread_us:
        found.append("spread")
    window = timetable(definition)
    if isinstance(window, Within) and window.after(due, anchor=anchor) is None:
        found.append("last")
    if isinstance(definition.schedule, FixedDelay) and definition.max_runs == 1:
        found.append("last")
    return tuple(found)
