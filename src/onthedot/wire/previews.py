"""A schedule tried out: what it says, and when it would be due."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, UnsetType

from onthedot.core.chaining import first_due
from onthedot.core.editing import anchor_of
from onthedot.core.fields.when import PREVIEWED_DEFAULT
from onthedot.core.instants import Instant, format_instant, parse_instant
from onthedot.core.limiting import limited
from onthedot.core.model import Definition, Job, NamedCalendar, timetable
from onthedot.core.schedules import (
    FixedDelay,
    PreviewedOccurrence,
    Within,
    explain,
    normal_form,
    to_come,
)
from onthedot.core.schedules.preview import Mark
from onthedot.errors import Invalid
from onthedot.wire.fields import InstantText
from onthedot.wire.schedules import given_or_none, scheduled
from onthedot.wire.shapes import PreviewIn


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
            description="`dstGap`: makes up for times that a DST change leaves out. "
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


class Previewed(NamedTuple):
    """What a preview is made from."""

    definition: Definition
    after: Instant
    most: int
    anchor: Instant
    job: Job | None = None


def preview_of(
    asked: PreviewIn, *, now: Instant, calendar: NamedCalendar | None = None
) -> Previewed:
    """What is asked for. An interval without a start of its own is counted from `after`."""
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
    count = PREVIEWED_DEFAULT if isinstance(asked.count, UnsetType) else asked.count
    anchor = anchor_of(definition, after)
    return Previewed(limited(definition, anchor, after), after, count, anchor)


def preview_out(asked: Previewed, instants: list[ComingOut] | None = None) -> PreviewOut:
    """What a definition's schedule says, and what it would be due at. `instants`: those that are
    asked for, if they are known already.
    """
    schedule = asked.definition.schedule
    assert schedule is not None, asked
    return PreviewOut(
        sentence=explain(schedule),
        normalised=normal_form(schedule),
        timezone=asked.definition.timezone,
        instants=list(instants_of(asked)) if instants is None else instants,
    )


def instants_of(asked: Previewed) -> Iterator[ComingOut]:
    """What is due, each worked out when it is asked for. Only a job that is there has offsets of
    its own, or a run under way.
    """
    definition, after, most, anchor, job = asked
    schedule, window = definition.schedule, timetable(definition)
    if isinstance(schedule, FixedDelay):
        dues = _first_link(definition, after, job)
    else:
        dues = to_come(window or schedule, after, anchor=anchor)
    ends = isinstance(window, Within) or (
        isinstance(schedule, FixedDelay) and definition.max_runs == 1
    )
    marks = _shift_marks(definition)
    found = next(dues, None)
    for _ in range(most):
        if found is None:
            return
        following = next(dues, None) if ends else None
        offset = 0 if job is None else definition.shift.of(job.id, found.at)
        last: tuple[Mark, ...] = ("last",) if ends and following is None else ()
        yield ComingOut(
            at=format_instant(found.at + offset),
            nominal=format_instant(found.nominal),
            marks=found.marks + marks + last,
            skipped=found.skipped,
        )
        found = following if ends else next(dues, None)


def _shift_marks(definition: Definition) -> tuple[Mark, ...]:
    shift = definition.shift
    jitter: tuple[Mark, ...] = ("jitter",) if shift.jitter_us else ()
    spread: tuple[Mark, ...] = ("spread",) if shift.spread_us else ()
    return jitter + spread


def _first_link(
    definition: Definition, after: Instant, job: Job | None
) -> Iterator[PreviewedOccurrence]:
    """The one instant of a fixed delay that can be told, unless a run is under way."""
    due = first_due(definition, after) if job is None else job.link
    if due is not None and due > after:
        yield PreviewedOccurrence(due, due, ("fixedDelay",))
