"""When a job is due."""

from __future__ import annotations

from typing import Final

from onthedot.core.fields.declaring import Field, Kind, Where
from onthedot.core.instants import DAY
from onthedot.core.schedules import DstGap, DstOverlap, Roll

MAX_RUNS_MAX: Final = 10_000
PREVIEWED_MAX: Final = 1000
PREVIEWED_DEFAULT: Final = 5

_INSTANT: Final = ("2027-01-31T09:30:00Z",)
_TIME: Final = "concepts/time.md"
_WINDOW: Final = f"{_TIME}#from-when-to-when-and-how-often"

WHEN: Final = (
    Field(
        name="schedule",
        about="Any schedule as text, such as 'every weekday at 9am'. Plain English, cron, "
        "`@every 90s`, an ISO 8601 duration or repeating interval, an instant, a fixed delay. "
        "Shown as it was written.",
        where=Where.SCHEDULE,
        schedule=True,
        nullable=True,
        says="a schedule as text",
        examples=(
            *("every weekday at 9am", "P1M", "R5/2027-01-01T00:00:00Z/PT1H"),
            "15 minutes after the last run",
        ),
        see=f"{_TIME}#instants-and-wall-clocks",
    ),
    Field(
        name="cron_expr",
        about="A cron expression of five to seven fields. Minute, hour, day of month, month, day "
        "of week, with six fields after a second, with seven before a year; or a nickname such as "
        "@daily. `@every 90s` is shown as `every`.",
        where=Where.SCHEDULE,
        schedule=True,
        nullable=True,
        says="a cron expression such as '0 9 * * MON-FRI', as text",
        examples=("0 9 * * MON-FRI",),
        option="--cron",
        keyword="cron",
        see=f"{_TIME}#cron-expressions",
    ),
    Field(
        name="every",
        about="An interval, at least 1 second. The first occurrence is one interval after "
        "creation.",
        kind=Kind.DURATION,
        where=Where.SCHEDULE,
        schedule=True,
        nullable=True,
        examples=(30, "PT5M"),
    ),
    Field(
        name="fixed_delay",
        about="Run this long after the end of the last run, at least 1 second. Whatever came of "
        "that run. The first one is due so long after creation, or at `startAt`.",
        kind=Kind.DURATION,
        where=Where.SCHEDULE,
        schedule=True,
        nullable=True,
        examples=(900, "PT15M"),
        see=f"{_TIME}#a-fixed-delay",
    ),
    Field(
        name="run_at",
        about="Run once, at this instant. One that has passed runs at once; 1970 to 2199.",
        kind=Kind.INSTANT,
        where=Where.SCHEDULE | Where.TRIGGER,
        schedule=True,
        nullable=True,
        examples=_INSTANT,
        option="--at",
    ),
    Field(
        name="delay",
        about="Run once, after this delay. Shown as `runAt` in answers.",
        kind=Kind.DURATION,
        where=Where.SCHEDULE | Where.TRIGGER,
        schedule=True,
        nullable=True,
        examples=(90,),
    ),
    Field(
        name="timezone",
        about="The IANA time zone in which the schedule is read.",
        kind=Kind.ZONE,
        at="timezone",
        where=Where.SCHEDULE,
        says="the name of a time zone, as text",
        hint="Use an IANA name such as UTC, Europe/Berlin or America/New_York.",
        examples=("Europe/Berlin",),
    ),
    Field(
        name="dst_gap",
        type=DstGap,
        about="When a time is due that a DST change leaves out. Right after the gap, in the last "
        "minute before it, or not at all. Null: `after` for a fixed time; an expression whose "
        "minute or hour begins with `*` follows the clock.",
        where=Where.SCHEDULE,
        nullable=True,
        examples=("after",),
        see=f"{_TIME}#when-the-clocks-change",
    ),
    Field(
        name="dst_overlap",
        type=DstOverlap,
        about="When a time is due that a DST change brings twice. Null: `first` for a fixed "
        "time, `both` for an expression whose minute or hour begins with `*`.",
        where=Where.SCHEDULE,
        nullable=True,
        examples=("first",),
        see=f"{_TIME}#when-the-clocks-change",
    ),
    Field(
        name="start_at",
        about="Nothing is due before it. It is the first occurrence of an interval.",
        kind=Kind.INSTANT,
        at="start_at",
        where=Where.SCHEDULE,
        nullable=True,
        examples=("2027-01-01T00:00:00Z",),
        see=_WINDOW,
    ),
    Field(
        name="end_at",
        about="Nothing is due after it. Null: no end.",
        kind=Kind.INSTANT,
        at="end_at",
        where=Where.SCHEDULE,
        nullable=True,
        examples=("2027-12-31T23:59:59Z",),
        see=_WINDOW,
    ),
    Field(
        name="max_runs",
        type=int,
        about=f"Stop after this many occurrences, at most {MAX_RUNS_MAX:,}. Counted from when "
        "this is set; fewer under a calendar, where too many are refused as `too-costly`. Null: "
        "no limit.",
        at="max_runs",
        where=Where.SCHEDULE,
        nullable=True,
        limits={"ge": 1, "le": MAX_RUNS_MAX},
        see=_WINDOW,
    ),
    Field(
        name="jitter",
        about="Start each occurrence up to this much later. Each by an offset of its own, at "
        "most 24 hours.",
        kind=Kind.DURATION,
        at="shift.jitter_us",
        where=Where.SCHEDULE,
        most_us=DAY,
        examples=(30, "PT5M"),
        see=f"{_TIME}#jitter-and-spread",
    ),
    Field(
        name="spread",
        about="Start the job up to this much later, always by the same offset. At most 24 hours: "
        "jobs that are due at the same instant do not start together.",
        kind=Kind.DURATION,
        at="shift.spread_us",
        where=Where.SCHEDULE,
        most_us=DAY,
        examples=(300, "PT15M"),
        see=f"{_TIME}#jitter-and-spread",
    ),
    Field(
        name="calendar",
        about="The name of a calendar: what it excludes is not due. What is due is due on days "
        "and at hours that it allows, in the zone of the job. Null: none.",
        where=Where.SCHEDULE,
        nullable=True,
        says="the name of a calendar, or null",
        examples=("business-days",),
        see=f"{_TIME}#calendars",
    ),
    Field(
        name="calendar_roll",
        type=Roll,
        about="Where to move an occurrence that the calendar excludes. It is left out, or it "
        "moves to the nearest later or earlier day, at most 62 days away, on which its time of "
        "day is allowed. Several that come to one instant are one run.",
        at="calendar_roll",
        where=Where.SCHEDULE,
        see=f"{_TIME}#calendars",
    ),
)

PREVIEW: Final = (
    Field(
        name="job",
        about="Key or name of the job, from which `H` takes its values.",
        where=Where.PREVIEW,
        shown=False,
        limits={"max_length": 200},
    ),
    Field(
        name="after",
        about="Strictly after this instant; without one, after now.",
        kind=Kind.INSTANT,
        where=Where.PREVIEW,
        shown=False,
        examples=_INSTANT,
    ),
    Field(
        name="count",
        type=int,
        about="How many instants.",
        where=Where.PREVIEW,
        otherwise=PREVIEWED_DEFAULT,
        shown=False,
        limits={"ge": 1, "le": PREVIEWED_MAX},
    ),
)
