"""The routes that explain: gather the facts, let the core judge them."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from onthedot.api.http import Response
from onthedot.api.operation import Operation
from onthedot.api.responses import answer
from onthedot.api.routing import get
from onthedot.api.services import Services
from onthedot.core.declared import undeclared
from onthedot.core.instants import Instant
from onthedot.core.model import Job, occurrence
from onthedot.core.notifying import FAILURES
from onthedot.core.states import is_over
from onthedot.core.views import RunView
from onthedot.core.why import Facts, NoticeFact, last_due, why_job, why_run
from onthedot.errors import NotDead, NotFound
from onthedot.ids import job_id, parse_job_id, parse_run_id, run_id
from onthedot.wire import WhyOut, why_out
from onthedot.wire.pipe import NODE_LEVEL, Line

LOOK_BACK: Final = 20
"""Records among which the last one that has ended is looked for."""

COUNT_MAX: Final = 100_000
LINK_TRIES: Final = 3
NOTES_MAX: Final = 50
_LINES: Final = msgspec.json.Decoder(list[Line])


@get(
    "/jobs/{job}/why",
    Operation(
        tag="Jobs",
        summary="Why a job does not run",
        about="Ordered checks, each with what was found and the fix.",
        answers={200: ("The explanation.", WhyOut)},
        problems=(401, 404, 503),
    ),
)
async def explain_job(job: str, services: Services) -> Response:
    number, now = parse_job_id(job), services.clock.now()
    found, link = await _linked(services, number, now)
    views = await services.store.ledger.page(number, before=None, limit=LOOK_BACK, now=now)
    ended = next((view for view in views if is_over(view.status)), None)
    facts = Facts(
        now=now,
        job_id=job,
        run_id=partial(run_id, services.installation, number),
        job=found,
        nodes=await services.store.nodes.all(),
        set_aside=await services.store.ledger.set_aside(number),
        recorded=await _is_recorded(services, found, views, now),
        queued=await _queued(services, found, now),
        last=ended,
        link=link,
        is_letter=ended is not None and await _is_letter(services, ended),
        horizon=await services.store.clock.horizon(),
    )
    findings = why_job(facts)
    gone = await services.store.jobs.gone(number)
    if gone is not None:
        findings.append(undeclared(gone.app, gone.since, job_id=job))
    return answer(why_out(job, None, findings))


@get(
    "/runs/{run}/why",
    Operation(
        tag="Runs",
        summary="Why a run is where it is",
        about="Ordered checks, each with what was found and the fix.",
        answers={200: ("The explanation.", WhyOut)},
        problems=(401, 404, 503),
    ),
)
async def explain_run(run: str, services: Services) -> Response:
    which, now = parse_run_id(run, services.installation), services.clock.now()
    view = await services.store.ledger.run(which.job, which.run, now=now)
    try:
        job: Job | None = await services.store.jobs.get(which.job)
    except NotFound:
        job = None
    facts = Facts(
        now=now,
        job_id=job_id(which.job),
        run_id=partial(run_id, services.installation, which.job),
        job=job,
        nodes=await services.store.nodes.all(),
        queued=0 if job is None else await _queued(services, job, now),
        is_letter=await _is_letter(services, view),
        notice=await _notice(services, view),
        fault=None if is_over(view.status) else await _fault(services, view),
    )
    return answer(why_out(job_id(which.job), run, why_run(facts, view)))


async def _fault(services: Services, view: RunView) -> str | None:
    """What its node has last said about this attempt, if it could not make the call."""
    rows = await services.store.notes.lines(view.job, view.run, after=None, limit=NOTES_MAX)
    said = (
        text
        for row in reversed(rows)
        if row.attempt == view.attempt
        for _, level, text in _LINES.decode(row.lines)
        if level == NODE_LEVEL
    )
    return next(said, None)


async def _linked(services: Services, number: int, now: Instant) -> tuple[Job, RunView | None]:
    """A job with the run of its chain's link, if it has one. A link that is over was, most likely,
    replaced by the next one since the job was read.
    """
    job = await services.store.jobs.get(number)
    for _ in range(LINK_TRIES):
        link = await _link(services, job, now)
        if link is not None and not is_over(link.status):
            return job, link
        again = await services.store.jobs.get(number)
        if again.link == job.link:
            return job, link
        job = again
    return job, await _link(services, job, now)


async def _link(services: Services, job: Job, now: Instant) -> RunView | None:
    if job.link is None:
        return None
    try:
        return await services.store.ledger.run(job.id, occurrence(job.link), now=now)
    except NotFound:
        return None


async def _queued(services: Services, job: Job, now: Instant) -> int:
    backlog = await services.store.ledger.backlog(most=COUNT_MAX, now=now)
    return sum(depth.runs for depth in backlog.queues if depth.queue == job.definition.queue)


async def _is_recorded(services: Services, job: Job, views: list[RunView], now: Instant) -> bool:
    """Whether the last instant that must be in the ledger is there, as a run or in a range."""
    due = last_due(job, now)
    if due is None or any(view.due <= due <= (view.until or view.due) for view in views):
        return True
    try:
        await services.store.ledger.run(job.id, occurrence(due), now=now)
    except NotFound:
        return False
    return True


async def _is_letter(services: Services, view: RunView) -> bool:
    try:
        await services.store.dead_letters.get(view.job, view.run)
    except (NotDead, NotFound):
        return False
    return True


async def _notice(services: Services, view: RunView) -> NoticeFact | None:
    if view.status not in FAILURES:
        return None
    found = await services.store.outbox.get(view.job, view.run)
    if found is None:
        return None
    return NoticeFact(found.url, found.tries, found.at, found.trouble)
