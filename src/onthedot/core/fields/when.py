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
        about="A cron expression of five to seven fields. Minute, hour, day of month, month and "
        "day of week; six fields begin with a second, seven also end with a year. Or a "
        "nickname such as @daily. `@every 90s` is shown as `every`.",
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
        about="Run at this interval, at least 1 second. The first occurrence is one interval "
        "after creation.",
        kind=Kind.DURATION,
        where=Where.SCHEDULE,
        schedule=True,
        nullable=True,
        examples=(30, "PT5M"),
    ),
    Field(
        name="fixed_delay",
        about="Run this long after the end of the last run, at least 1 second. The outcome of "
        "that run does not matter. The first run is due this long after creation, or at "
        "`startAt`.",
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
        about="What to do with a time that a DST change leaves out. Run right after the gap, in "
        "the last minute before it, or not at all. Null: `after` for a fixed time; an "
        "expression whose minute or hour begins with `*` follows the clock.",
        where=Where.SCHEDULE,
        nullable=True,
        examples=("after",),
        see=f"{_TIME}#when-the-clocks-change",
    ),
    Field(
        name="dst_overlap",
        type=DstOverlap,
        about="What to do with a time that a DST change repeats. Run the first time, the second "
        "time or both. Null: `first` for a fixed time, `both` for an expression whose "
        "minute or hour begins with `*`.",
        where=Where.SCHEDULE,
        nullable=True,
        examples=("first",),
        see=f"{_TIME}#when-the-clocks-change",
    ),
    Field(
        name="start_at",
        about="Nothing is due before this instant. It is the first occurrence of an interval.",
        kind=Kind.INSTANT,
        at="start_at",
        where=Where.SCHEDULE,
        recurs=True,
        nullable=True,
        examples=("2027-01-01T00:00:00Z",),
        see=_WINDOW,
    ),
    Field(
        name="end_at",
        about="Nothing is due after this instant. Null: no end.",
        kind=Kind.INSTANT,
        at="end_at",
        where=Where.SCHEDULE,
        recurs=True,
        nullable=True,
        examples=("2027-12-31T23:59:59Z",),
        see=_WINDOW,
    ),
    Field(
        name="max_runs",
        type=int,
        about="Stop after this many occurrences. They are counted from when this is set; under a "
        "calendar too many are refused as `too-costly`. Null: no limit.",
        at="max_runs",
        where=Where.SCHEDULE,
        recurs=True,
        nullable=True,
        limits={"ge": 1, "le": MAX_RUNS_MAX},
        see=_WINDOW,
    ),
    Field(
        name="jitter",
        about="Start each occurrence up to this much later. Each has an offset of its own, at "
        "most 24 hours.",
        kind=Kind.DURATION,
        at="shift.jitter_us",
        where=Where.SCHEDULE,
        recurs=True,
        most_us=DAY,
        examples=(30, "PT5M"),
        see=f"{_TIME}#jitter-and-spread",
    ),
    Field(
        name="spread",
        about="Start the job up to this much later, always by the same offset. At most 24 hours; "
        "jobs that are due at the same instant do not start together.",
        kind=Kind.DURATION,
        at="shift.spread_us",
        where=Where.SCHEDULE,
        recurs=True,
        most_us=DAY,
        examples=(300, "PT15M"),
        see=f"{_TIME}#jitter-and-spread",
    ),
    Field(
        name="calendar",
        about="Follow the calendar of this name. Occurrences are due on days and at hours that it"
        " allows, in the time zone of the job. Null: none.",
        where=Where.SCHEDULE,
        recurs=True,
        nullable=True,
        says="the name of a calendar, or null",
        examples=("business-days",),
        see=f"{_TIME}#calendars",
    ),
    Field(
        name="calendar_roll",
        type=Roll,
        about="Where to move an occurrence that the calendar excludes. It is skipped, or it moves"
        " to the nearest later or earlier day, at most 62 days away, on which its time of "
        "day is allowed. Several that move to the same instant are one run.",
        at="calendar_roll",
        where=Where.SCHEDULE,
        recurs=True,
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
        about="Strictly after this instant. Without one, after now.",
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
