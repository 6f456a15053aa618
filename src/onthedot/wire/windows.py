"""From when to when, how often and how exactly a schedule is followed, and what is caught up."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final

from msgspec import UNSET, Struct, UnsetType

from onthedot.core.durations import format_duration, parse_duration
from onthedot.core.instants import DAY, parse_instant
from onthedot.core.model import Catching, Definition, Once
from onthedot.core.schedules import FixedDelay
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


def windowed(definition: Definition, given: WindowFields) -> Definition:
    """The definition with what the request says of its window; the rest stays."""
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
    new = replace(definition, shift=Shift(spread, jitter), **changes)
    _refuse_empty(new)
    _refuse_without_recurrence(new, given)
    if isinstance(new.schedule, FixedDelay):
        _refuse_shifts(given)
        new = replace(new, shift=NO_SHIFT)
    return new if _recurs(new) else replace(new, **_NO_WINDOW)


def catching_of(old: Catching, given: Any) -> Catching:
    """How catching up is bounded after a request (of any struct that has these fields)."""
    changes: dict[str, Any] = {}
    if given.catch_up_max_age is None:
        changes["age_us"] = None
    elif not isinstance(given.catch_up_max_age, UnsetType):
        changes["age_us"] = parse_duration(given.catch_up_max_age, field="catchUpMaxAge")
    bounds = {"most": given.catch_up_max, "rate": given.catch_up_rate}
    changes |= {name: said for name, said in bounds.items() if not isinstance(said, UnsetType)}
    return old._replace(**changes)


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
