"""From when to when, on which days, how often and how exactly a schedule is followed."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET, UnsetType

from onthedot.core.fields import FIELDS
from onthedot.core.model import Definition, NamedCalendar, Once
from onthedot.core.schedules import Every, FixedDelay, Schedule
from onthedot.core.schedules.allowed import ROLLED_PER_DAY_MAX, instants_a_day
from onthedot.core.schedules.calendar import unknown_calendar
from onthedot.core.shifting import NO_SHIFT
from onthedot.errors import Invalid
from onthedot.wire.shapes import Given

_RECURRING: Final = tuple(each for each in FIELDS if each.recurs)
_NO_WINDOW: Final[dict[str, Any]] = {
    name: Definition._field_defaults[name]
    for name in (
        "last_at",
        "calendar",
        *(each.at.partition(".")[0] for each in _RECURRING if each.at),
    )
}


def windowed(
    definition: Definition,
    given: Given,
    calendar: NamedCalendar | None = None,
) -> Definition:
    """The definition, which has the window of the request already, with its calendar. `calendar` is
    the one that the request names, if there is one of this name.
    """
    new = definition
    if given.calendar is None:
        roll = "skip" if given.calendar_roll is UNSET else definition.calendar_roll
        new = definition._replace(calendar=None, calendar_roll=roll)
    elif not isinstance(given.calendar, UnsetType):
        if calendar is None:
            raise unknown_calendar(given.calendar)
        new = definition._replace(calendar=calendar)
    _refuse_empty(new)
    if not _recurs(new):
        _refuse_without_recurrence(given)
        return new._replace(**_NO_WINDOW)
    if isinstance(new.schedule, FixedDelay):
        _refuse_shifts(given)
        _refuse_calendar(new)
        return new._replace(shift=NO_SHIFT)
    _refuse_roll(new)
    return new


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


def _recurs(definition: Definition) -> bool:
    return definition.schedule is not None and not isinstance(definition.schedule, Once)


def _refuse_empty(definition: Definition) -> None:
    start, end = definition.start_at, definition.end_at
    if start is not None and end is not None and end < start:
        raise Invalid("endAt is before startAt", hint="Give a later endAt.", field="endAt")


def _refuse_without_recurrence(given: Given) -> None:
    """One instant, and a job that is only triggered, have no first and no last."""
    for field in _RECURRING:
        said = getattr(given, field.name)
        if said and said != field.default:
            name = field.wire_name
            raise Invalid(
                f"{name} is for a schedule that recurs, and the job has none",
                hint=f"Leave {name} out, or give the job a cronExpr, every or schedule.",
                field=name,
            )


def _refuse_shifts(given: Given) -> None:
    """The ends of runs spread jobs with a fixed delay by themselves."""
    for field, said in {"jitter": given.jitter, "spread": given.spread}.items():
        if said:
            raise Invalid(
                f"{field} moves instants, and those of a fixed delay follow from the runs",
                hint=f"Leave {field} out, or use every.",
                field=field,
            )
