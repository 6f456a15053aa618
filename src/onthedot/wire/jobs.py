"""A job as it is shown."""

from __future__ import annotations

from msgspec import Struct

from onthedot.core.editing import last_run_at, next_run_at
from onthedot.core.instants import Instant, format_instant
from onthedot.core.model import Job
from onthedot.core.schedules import Cron, Every, FixedDelay, Once, Repeat, explain, normal_form
from onthedot.wire.converting import instant_text, seconds, shown
from onthedot.wire.shapes import BackoffOut, JobOut, OnFailureOut


class JobList(Struct, kw_only=True, frozen=True, rename="camel"):
    """Newest first. `nextCursor` is null on the last page."""

    jobs: list[JobOut]
    next_cursor: str | None


def job_out(job: Job, job_id: str, *, now: Instant) -> JobOut:
    """A job as people see it. The payload stays the text it was."""
    d = job.definition
    schedule, backoff = d.schedule, d.backoff
    named = schedule if d.schedule_text is None else None
    rules = schedule if isinstance(schedule, Cron | Repeat) else None
    due = next_run_at(job, now)
    return JobOut(
        job_id=job_id,
        handler_url=d.handler_url or None,
        handler=d.handler or None,
        cron_expr=named.expression if isinstance(named, Cron) else None,
        every=seconds(named.every_us) if isinstance(named, Every) else None,
        fixed_delay=seconds(named.delay_us) if isinstance(named, FixedDelay) else None,
        run_at=instant_text(named.at) if isinstance(named, Once) else None,
        delay=None,
        schedule=d.schedule_text,
        sentence=None if schedule is None else explain(schedule),
        normalised=None if schedule is None else normal_form(schedule),
        dst_gap=None if rules is None else rules.dst_gap,
        dst_overlap=None if rules is None else rules.dst_overlap,
        calendar=None if d.calendar is None else d.calendar.name,
        calendar_version=None if d.calendar is None else d.calendar.version,
        backoff=BackoffOut(
            initial=seconds(backoff.initial_us), factor=backoff.factor, max=seconds(backoff.max_us)
        ),
        on_failure=OnFailureOut(url=d.on_failure_url) if d.on_failure_url else None,
        version=job.version,
        next_run_at=instant_text(due),
        next_start_at=instant_text(None if due is None else due + d.shift.of(job.id, due)),
        last_run_at=instant_text(last_run_at(job)),
        created_at=format_instant(job.created_at),
        updated_at=format_instant(job.updated_at),
        **shown(d),
    )
