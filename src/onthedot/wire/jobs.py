"""A job on the wire: as it is created, as it is edited, as it is shown."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from onthedot.core.editing import last_run_at, next_run_at
from onthedot.core.instants import SECOND, Instant, format_instant
from onthedot.core.model import Backoff, CatchUp, Guarantee, Job
from onthedot.core.schedules import (
    Cron,
    DstGap,
    DstOverlap,
    Every,
    FixedDelay,
    Once,
    Repeat,
    Roll,
    explain,
    normal_form,
)
from onthedot.wire import fields as f
from onthedot.wire.fields import about
from onthedot.wire.schedules import ScheduleFields
from onthedot.wire.windows import CatchUpMax, CatchUpMaxAge, CatchUpRate


class BackoffIn(Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """How long failed attempts wait: `initial` × `factor` per attempt, at most `max`."""

    initial: f.Initial | UnsetType = UNSET
    factor: f.Factor | UnsetType = UNSET
    max: f.WaitMax | UnsetType = UNSET


BackoffField = Annotated[
    BackoffIn,
    about(
        "How long failed attempts wait; chance moves each wait over its upper half.",
        'an object such as {"initial": 1, "factor": 2, "max": 3600}',
        examples=[{"initial": 1, "factor": 2, "max": 3600}],
    ),
]


class OnFailureIn(Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Who is told when a run has failed for good."""

    url: f.NoticeUrl


OnFailureField = Annotated[
    OnFailureIn | None,
    about(
        "Who is told when a run has failed for good, or is lost. Null: nobody.",
        'an object such as {"url": "https://example.com/hooks/failed"}, or null',
        examples=[{"url": "https://example.com/hooks/failed"}],
    ),
]


class JobFields(ScheduleFields, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What may be said of a job. One of handlerUrl and handler; at most one of cronExpr, every,
    fixedDelay, runAt, delay, schedule.
    """

    key: f.Key | UnsetType | None = UNSET
    namespace: f.Namespace | UnsetType = UNSET
    owner: f.Owner | UnsetType | None = UNSET
    handler_url: f.HandlerUrl | UnsetType | None = UNSET
    handler: f.Handler | UnsetType | None = UNSET
    payload: f.Payload | UnsetType = UNSET
    timeout: f.Timeout | UnsetType = UNSET
    retries: f.Retries | UnsetType = UNSET
    backoff: BackoffField | UnsetType = UNSET
    queue: f.Queue | UnsetType = UNSET
    priority: f.Priority | UnsetType = UNSET
    guarantee: f.Guarantee | UnsetType = UNSET
    catch_up: f.CatchUpField | UnsetType = UNSET
    catch_up_window: f.CatchUpWindow | UnsetType = UNSET
    overlap: f.Overlap | UnsetType = UNSET
    tags: f.Tags | UnsetType = UNSET
    paused: f.Paused | UnsetType = UNSET
    on_failure: OnFailureField | UnsetType = UNSET
    catch_up_max_age: CatchUpMaxAge | UnsetType | None = UNSET
    catch_up_max: CatchUpMax | UnsetType = UNSET
    catch_up_rate: CatchUpRate | UnsetType = UNSET


class JobIn(JobFields, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A job to create. Without a schedule it runs only when triggered."""

    name: f.Name


class JobPatch(JobFields, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What to change; the rest stays. A schedule replaces the one before, `null` takes it away."""

    name: f.Name | UnsetType = UNSET
    version: f.Version | UnsetType = UNSET


class BackoffOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """In seconds."""

    initial: float
    factor: float
    max: float


class OnFailureOut(Struct, kw_only=True, frozen=True, rename="camel"):
    url: str


Seconds = Annotated[float, Meta(description="In seconds.")]
InstantText = Annotated[
    str,
    Meta(
        description="RFC 3339, UTC.",
        examples=["2027-01-31T09:30:00Z"],
        extra_json_schema={"format": "date-time"},
    ),
]


class JobOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """A job as it is now. A `delay` is shown as runAt, a `schedule` as it was written; `normalised`
    is the one form in which each is kept.
    """

    job_id: str
    key: str | None
    name: str
    namespace: str
    owner: str | None
    handler_url: str | None
    handler: str | None
    payload: Any
    cron_expr: str | None
    every: Seconds | None
    fixed_delay: Seconds | None
    run_at: InstantText | None
    delay: Seconds | None = None
    schedule: str | None
    sentence: Annotated[
        str | None,
        Meta(description="The schedule in words.", examples=["At 09:00 on Monday (UTC)"]),
    ]
    normalised: Annotated[
        str | None,
        Meta(description="The schedule in its normal form.", examples=["0 9 * * MON"]),
    ]
    timezone: str
    dst_gap: DstGap | None
    dst_overlap: DstOverlap | None
    start_at: InstantText | None
    end_at: InstantText | None
    max_runs: int | None
    jitter: Seconds
    spread: Seconds
    calendar: str | None
    calendar_roll: Roll
    calendar_version: Annotated[
        int | None,
        Meta(description="The version of the calendar that the job follows."),
    ]
    timeout: Seconds
    retries: int
    backoff: BackoffOut
    queue: str
    priority: int
    guarantee: Guarantee
    catch_up: CatchUp
    catch_up_window: Seconds
    catch_up_max_age: Seconds | None
    catch_up_max: int
    catch_up_rate: int
    overlap: str
    tags: tuple[str, ...]
    paused: bool
    on_failure: OnFailureOut | None
    version: int
    next_run_at: Annotated[
        InstantText | None,
        Meta(
            description="The next due instant; null when paused, over or without a schedule, and "
            "while a run is under way from whose end `fixedDelay` will count."
        ),
    ]
    next_start_at: Annotated[
        InstantText | None,
        Meta(description="When that will start: the same, unless `jitter` or `spread` moves it."),
    ]
    last_run_at: Annotated[
        InstantText | None,
        Meta(description="The last due instant, where `endAt` or `maxRuns` sets one."),
    ]
    created_at: InstantText
    updated_at: InstantText


class JobList(Struct, kw_only=True, frozen=True, rename="camel"):
    """Newest first. `nextCursor` is null on the last page."""

    jobs: list[JobOut]
    next_cursor: str | None


def job_out(job: Job, job_id: str, *, now: Instant) -> JobOut:
    """A job as people see it. The payload stays the text it was."""
    d = job.definition
    schedule = d.schedule
    named = schedule if d.schedule_text is None else None
    rules = schedule if isinstance(schedule, Cron | Repeat) else None
    due = next_run_at(job, now)
    return JobOut(
        job_id=job_id,
        key=d.key,
        name=d.name,
        namespace=d.namespace,
        owner=d.owner,
        handler_url=d.handler_url or None,
        handler=d.handler or None,
        payload=Raw(d.payload.encode()),
        cron_expr=named.expression if isinstance(named, Cron) else None,
        every=seconds(named.every_us) if isinstance(named, Every) else None,
        fixed_delay=seconds(named.delay_us) if isinstance(named, FixedDelay) else None,
        run_at=format_instant(named.at) if isinstance(named, Once) else None,
        schedule=d.schedule_text,
        sentence=None if schedule is None else explain(schedule),
        normalised=None if schedule is None else normal_form(schedule),
        timezone=d.timezone,
        dst_gap=None if rules is None else rules.dst_gap,
        dst_overlap=None if rules is None else rules.dst_overlap,
        start_at=instant_text(d.start_at),
        end_at=instant_text(d.end_at),
        max_runs=d.max_runs,
        jitter=seconds(d.shift.jitter_us),
        spread=seconds(d.shift.spread_us),
        calendar=None if d.calendar is None else d.calendar.name,
        calendar_roll=d.calendar_roll,
        calendar_version=None if d.calendar is None else d.calendar.version,
        timeout=seconds(d.timeout_us),
        retries=d.retries,
        backoff=_backoff_out(d.backoff),
        queue=d.queue,
        priority=d.priority,
        guarantee=d.guarantee,
        catch_up=d.catch_up,
        catch_up_window=seconds(d.catch_up_window_us),
        catch_up_max_age=None if d.catching.age_us is None else seconds(d.catching.age_us),
        catch_up_max=d.catching.most,
        catch_up_rate=d.catching.rate,
        overlap=d.overlap,
        tags=d.tags,
        paused=d.paused,
        on_failure=OnFailureOut(url=d.on_failure_url) if d.on_failure_url else None,
        version=job.version,
        next_run_at=instant_text(due),
        next_start_at=instant_text(None if due is None else due + d.shift.of(job.id, due)),
        last_run_at=instant_text(last_run_at(job)),
        created_at=format_instant(job.created_at),
        updated_at=format_instant(job.updated_at),
    )


def instant_text(instant: Instant | None) -> str | None:
    return None if instant is None else format_instant(instant)


def seconds(us: int) -> float:
    """Whole seconds stay whole, so that 60 is not answered as 60.0."""
    return us / SECOND if us % SECOND else us // SECOND


def _backoff_out(backoff: Backoff) -> BackoffOut:
    return BackoffOut(
        initial=seconds(backoff.initial_us),
        factor=backoff.factor,
        max=seconds(backoff.max_us),
    )
