"""From when to when, on which days, how often and how exactly a schedule is followed, and what is
caught up.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from onthedot.core.durations import format_duration, parse_duration
from onthedot.core.instants import DAY, parse_instant
from onthedot.core.model import CatchUpLimits, Definition, NamedCalendar, Once
from onthedot.core.schedules import Every, FixedDelay, Schedule
from onthedot.core.schedules.allowed import ROLLED_PER_DAY_MAX, instants_a_day
from onthedot.core.schedules.calendar import unknown_calendar
from onthedot.core.shifting import NO_SHIFT, Shift
from onthedot.errors import Invalid
from onthedot.wire.fields import about

MAX_RUNS_MAX: Final = 10_000
SHIFT_MAX: Final = DAY
CATCH_UP_MAX: Final = 10_000
CATCH_UP_RATE_MAX: Final = 1_000

_NO_WINDOW: Final[dict[str, Any]] = {
    **dict.fromkeys(("start_at", "end_at", "max_runs", "last_at")),
    "shift": NO_SHIFT,
    "calendar": None,
    "calendar_roll": "skip",
}
_DURATION: Final = "a number of seconds or an ISO 8601 duration such as 'PT5M'"
_INSTANT: Final = "an RFC 3339 instant such as '2027-01-31T09:30:00Z', or null"

StartAt = Annotated[
    str,
    about(
        "Nothing is due before it. It is the first occurrence of an interval.",
        _INSTANT,
        examples=["2027-01-01T00:00:00Z"],
    ),
]
EndAt = Annotated[
    str,
    about("Nothing is due after it. Null: no end.", _INSTANT, examples=["2027-12-31T23:59:59Z"]),
]
MaxRuns = Annotated[
    int,
    about(
        "The schedule is over after so many occurrences, counted from when this is said. Null: no "
        "limit.",
        f"a whole number from 1 to {MAX_RUNS_MAX}, or null",
        ge=1,
        le=MAX_RUNS_MAX,
    ),
]
Jitter = Annotated[
    float | str,
    about(
        "Each occurrence starts up to so much later, by an offset of its own, at most 24 hours.",
        _DURATION,
        default=0,
        examples=[30, "PT5M"],
    ),
]
Spread = Annotated[
    float | str,
    about(
        "All occurrences of the job start up to so much later, by the same offset, at most 24 "
        "hours: jobs that are due at the same instant do not start together.",
        _DURATION,
        default=0,
        examples=[300, "PT15M"],
    ),
]
CalendarField = Annotated[
    str,
    about(
        "The name of a calendar: what is due is due on days and at hours that it allows, in the "
        "zone of the job. Null: none.",
        "the name of a calendar, or null",
        examples=["business-days"],
    ),
]
CalendarRoll = Annotated[
    Literal["skip", "next", "previous"],
    about(
        "What becomes of an instant that the calendar does not allow: it is left out, or it moves "
        "to the nearest later or earlier day, at most 62 days away, on which its time of day is "
        "allowed. Several that come to one instant are one run.",
        "'skip', 'next' or 'previous'",
        default="skip",
    ),
]
CatchUpMaxAge = Annotated[
    float | str,
    about("What is older is never caught up. Null: however old.", _DURATION, examples=["P1D"]),
]
CatchUpMax = Annotated[
    int,
    about(
        "With catchUp `all`, so many are caught up, the newest.",
        f"a whole number from 1 to {CATCH_UP_MAX}",
        ge=1,
        le=CATCH_UP_MAX,
        default=1_000,
    ),
]
CatchUpRate = Annotated[
    int,
    about(
        "With catchUp `all`, so many are started in a second.",
        f"a whole number from 1 to {CATCH_UP_RATE_MAX}",
        ge=1,
        le=CATCH_UP_RATE_MAX,
        default=50,
    ),
]


class WindowFields(Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """From when to when a schedule holds, how often, and how exactly it is followed."""

    start_at: StartAt | UnsetType | None = UNSET
    end_at: EndAt | UnsetType | None = UNSET
    max_runs: MaxRuns | UnsetType | None = UNSET
    jitter: Jitter | UnsetType = UNSET
    spread: Spread | UnsetType = UNSET
    calendar: CalendarField | UnsetType | None = UNSET
    calendar_roll: CalendarRoll | UnsetType = UNSET


def windowed(
    definition: Definition, given: WindowFields, calendar: NamedCalendar | None = None
) -> Definition:
    """The definition with what the request says of its window; the rest stays. `calendar` is the
    one that it names, if there is one of this name.
    """
    changes: dict[str, Any] = {}
    for name, field in (("start_at", "startAt"), ("end_at", "endAt")):
        said = getattr(given, name)
        if not isinstance(said, UnsetType):
            changes[name] = None if said is None else parse_instant(said, field=field)
    if not isinstance(given.max_runs, UnsetType):
        changes["max_runs"] = given.max_runs
    old = definition.shift
    spread, jitter = old.spread_us, old.jitter_us
    if not isinstance(given.spread, UnsetType):
        spread = _shift(given.spread, "spread")
    if not isinstance(given.jitter, UnsetType):
        jitter = _shift(given.jitter, "jitter")
    changes |= _calendar(given, calendar)
    new = definition._replace(shift=Shift(spread, jitter), **changes)
    _refuse_empty(new)
    _refuse_without_recurrence(new, given)
    if not _recurs(new):
        return new._replace(**_NO_WINDOW)
    if isinstance(new.schedule, FixedDelay):
        _refuse_shifts(given)
        _refuse_calendar(new)
        return new._replace(shift=NO_SHIFT)
    _refuse_roll(new)
    return new


def catching_of(old: CatchUpLimits, given: Any) -> CatchUpLimits:
    """How catching up is bounded after a request (of any struct that has these fields)."""
    changes: dict[str, Any] = {}
    if given.catch_up_max_age is None:
        changes["age_us"] = None
    elif not isinstance(given.catch_up_max_age, UnsetType):
        changes["age_us"] = parse_duration(given.catch_up_max_age, field="catchUpMaxAge")
    bounds = {"most": given.catch_up_max, "rate": given.catch_up_rate}
    changes |= {name: said for name, said in bounds.items() if not isinstance(said, UnsetType)}
    return old._replace(**changes) if changes else old


def _calendar(given: WindowFields, calendar: NamedCalendar | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if given.calendar is None:
        changes = {"calendar": None, "calendar_roll": "skip"}
    elif not isinstance(given.calendar, UnsetType):
        if calendar is None:
            raise unknown_calendar(given.calendar)
        changes["calendar"] = calendar
    if not isinstance(given.calendar_roll, UnsetType):
        changes["calendar_roll"] = given.calendar_roll
    return changes


def _refuse_calendar(definition: Definition) -> None:
    if definition.calendar is not None or definition.calendar_roll != "skip":
        raise Invalid(
            "a calendar is for instants that are known ahead, and a fixed delay has none",
            hint="Leave calendar out, or give the job a cronExpr or every.",
            field="calendar",
        )


def _refuse_roll(definition: Definition) -> None:
    """An instant can be moved where there is a calendar, and where it has a time of day."""
    if definition.calendar_roll == "skip":
        return
    said = f"calendarRoll is '{definition.calendar_roll}'"
    if definition.calendar is None:
        raise Invalid(
            f"{said}, and the job has no calendar",
            hint="Give the job a calendar, or leave calendarRoll out.",
            field="calendarRoll",
        )
    schedule = definition.schedule
    assert isinstance(schedule, Schedule), definition
    if isinstance(schedule, Every):
        raise Invalid(
            f"{said}, and every counts elapsed time, which keeps no time of day",
            hint="Use calendarRoll 'skip', or a cronExpr.",
            field="calendarRoll",
        )
    if instants_a_day(schedule) > ROLLED_PER_DAY_MAX:
        raise Invalid(
            f"{said}, and the schedule may have {instants_a_day(schedule)} instants a day, more "
            f"than {ROLLED_PER_DAY_MAX}",
            hint="Use calendarRoll 'skip', or a schedule with fewer instants.",
            field="calendarRoll",
        )


def _shift(value: object, field: str) -> int:
    us = parse_duration(value, field=field)
    if us > SHIFT_MAX:
        raise Invalid(
            f"{field} {format_duration(us)} is longer than 24 hours",
            hint="Use 24 hours or less.",
            field=field,
        )
    return us


def _recurs(definition: Definition) -> bool:
    return definition.schedule is not None and not isinstance(definition.schedule, Once)


def _refuse_empty(definition: Definition) -> None:
    start, end = definition.start_at, definition.end_at
    if start is not None and end is not None and end < start:
        raise Invalid("endAt is before startAt", hint="Give a later endAt.", field="endAt")


def _refuse_without_recurrence(definition: Definition, given: WindowFields) -> None:
    """One instant, and a job that is only triggered, have no first and no last."""
    if _recurs(definition):
        return
    for field, said in {
        "startAt": given.start_at,
        "endAt": given.end_at,
        "maxRuns": given.max_runs,
        "jitter": given.jitter,
        "spread": given.spread,
        "calendar": given.calendar,
        "calendarRoll": None if given.calendar_roll == "skip" else given.calendar_roll,
    }.items():
        if said:
            raise Invalid(
                f"{field} is for a schedule that recurs, and the job has none",
                hint=f"Leave {field} out, or give the job a cronExpr, every or schedule.",
                field=field,
            )


def _refuse_shifts(given: WindowFields) -> None:
    """The ends of runs spread jobs with a fixed delay by themselves."""
    for field, said in {"jitter": given.jitter, "spread": given.spread}.items():
        if said:
            raise Invalid(
                f"{field} moves instants, and those of a fixed delay follow from the runs",
                hint=f"Leave {field} out, or use every.",
                field=field,
            )
