"""Rows of any store as values. The columns come in the order in which both stores select them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from onthedot.core.instants import Instant
from onthedot.core.model import NUMBER_BITS, Job, Once, occurrence, queue_of
from onthedot.core.notifying import Notice
from onthedot.core.origin import NOT_MOVED, Origin, moved
from onthedot.core.states import live_status
from onthedot.core.views import AttemptView, Load, NodeFacts, NodeView, Progress, RunView
from onthedot.store.codec import STATUS_OF_CODE, definition_from
from onthedot.store.values import Backlog, DeadLetter, Heartbeat, NoticeView, QueueDepth

_PROGRESS = msgspec.json.Decoder(Progress)


def job_of(row: Sequence[Any]) -> Job:
    number, version, definition, payload, anchor, since, skipping_from, *rest = row
    created_at, updated_at, link = rest
    return Job(
        id=number,
        version=version,
        definition=definition_from(definition, payload),
        anchor=anchor,
        since=since,
        skipping_from=skipping_from,
        created_at=created_at,
        updated_at=updated_at,
        link=link,
    )


def one_offs(jobs: Iterable[Job]) -> list[tuple[int, int]]:
    """The runs of those among these jobs that have one instant: they may wait, or be over."""
    return [
        (job.id, occurrence(job.definition.schedule.at))
        for job in jobs
        if isinstance(job.definition.schedule, Once)
    ]


def with_links(jobs: Iterable[Job], waiting: Iterable[tuple[int, int]]) -> list[Job]:
    """With the one-offs that wait as links of their jobs."""
    dues = {job: run >> NUMBER_BITS for job, run in waiting}
    return [job._replace(link=dues[job.id]) if job.id in dues else job for job in jobs]


def moved_of(view: RunView, row: Sequence[Any] | None) -> Origin:
    """What was done to an occurrence by its version; `row`: definition, payload and anchor."""
    if row is None:
        return NOT_MOVED
    definition, payload, anchor = row
    return moved(definition_from(definition, payload), view.job, view.due, anchor=anchor)


def past_run(row: Sequence[Any]) -> RunView:
    """A row of history: a run that is over, or a range that never ran."""
    job, run, version, status, due, attempt, rescues, started, finished, *rest = row
    node, error, output, reason, until, count = rest
    return RunView(
        job=job,
        run=run,
        version=version,
        status=STATUS_OF_CODE[status],
        due=due,
        at=due,
        attempt=attempt,
        rescues=rescues,
        started_at=started,
        finished_at=finished,
        node=node,
        error=error,
        output=output,
        reason=reason,
        until=until,
        count=count,
    )


def live_run(row: Sequence[Any], *, error: str | None, now: Instant) -> RunView:
    """A run that is not over. `error` is that of its last failed attempt, if it has one."""
    job, run, version, due, at, attempt, rescues, owner, started = row
    return RunView(
        job=job,
        run=run,
        version=version,
        status=live_status(at=at, started=started, owned=owner is not None, now=now),
        due=due,
        at=at,
        attempt=attempt,
        rescues=rescues,
        started_at=started,
        node=owner,
        error=error,
        reason="waiting for a retry" if attempt > 1 and owner is None else None,
    )


def progress_of(text: str | None) -> Progress | None:
    return None if text is None else _PROGRESS.decode(text)


def past_attempt(row: Sequence[Any]) -> AttemptView:
    attempt, status, started, finished, node, error, output, reason = row
    return AttemptView(
        attempt=attempt,
        status=STATUS_OF_CODE[status],
        started_at=started,
        finished_at=finished,
        node=node,
        error=error,
        output=output,
        reason=reason,
    )


def live_attempt(run: RunView) -> AttemptView:
    return AttemptView(
        attempt=run.attempt,
        status=run.status,
        started_at=run.started_at,
        finished_at=None,
        node=run.node,
        error=None,
        output=None,
        reason=None,
    )


def dead_letter_of(row: Sequence[Any]) -> DeadLetter:
    job, run, version, attempt, due, failed_at, error, payload, job_name = row
    return DeadLetter(
        job=job,
        run=run,
        version=version,
        attempt=attempt,
        due=due,
        failed_at=failed_at,
        error=error,
        payload=payload,
        job_name=job_name,
    )


def depths_of(rows: Iterable[tuple[str, int, Instant]]) -> list[QueueDepth]:
    """How much waits in each queue: the lanes of a queue together."""
    found: dict[str, QueueDepth] = {}
    for lane, runs, oldest in rows:
        queue = queue_of(lane)
        before = found.get(queue, QueueDepth(queue, 0, oldest))
        found[queue] = QueueDepth(queue, before.runs + runs, min(before.oldest, oldest))
    return list(found.values())


def backlog_of(queues: list[QueueDepth], row: Sequence[int]) -> Backlog:
    waiting, dead, aside, notices, given_up = row
    return Backlog(
        queues=queues,
        waiting=waiting,
        dead_letters=dead,
        set_aside=aside,
        notices=notices,
        notices_given_up=given_up,
    )


def notice_of(row: Sequence[Any]) -> Notice:
    notice = Notice(*row)
    return notice._replace(status=STATUS_OF_CODE[row[5]])


def notice_view(row: Sequence[Any]) -> NoticeView:
    url, tries, at, given_up_at, trouble = row
    return NoticeView(url=url, tries=tries, at=at, given_up_at=given_up_at, trouble=trouble)


def node_of(row: Sequence[Any]) -> NodeView:
    number, boot_id, host, pid, process, roles, slots, version, queues, functions, *rest = row
    runners, joined_at, beat_at, dead_at, running, held, offset_us, claiming, settled = rest
    return NodeView(
        number=number,
        facts=NodeFacts(
            boot_id=boot_id,
            host=host,
            pid=pid,
            process=process,
            roles=tuple(roles.split(",")),
            slots=slots,
            version=version,
            queues=tuple(queues.split(",")) if queues else (),
            functions=tuple(functions.split(",")) if functions else (),
            runners=runners,
        ),
        joined_at=joined_at,
        beat_at=beat_at,
        dead=dead_at is not None,
        settled=bool(settled),
        load=Load(running, held, offset_us, bool(claiming)),
    )


def beat_of(alive: Iterable[Sequence[Any]]) -> Heartbeat:
    """From the live nodes, as (number, roles, whether it claims)."""
    return Heartbeat(
        tuple(
            number
            for number, roles, claiming in alive
            if claiming and "scheduler" in roles.split(",")
        )
    )
