"""The routes of jobs: create, list, read, edit, delete, trigger."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec import UNSET

from onthedot.api.http import Request, Response
from onthedot.api.operation import WRITE, Operation
from onthedot.api.params import (
    CURSOR,
    DECLARED,
    DRY_RUN,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    KEY,
    LIMIT,
    cursor_of,
    cursor_text,
    expected_version,
    fitting,
    is_asked_for_gone,
    is_dry_run,
    key_of,
    limit_of,
    receipt_of,
)
from onthedot.api.responses import answer, json_text
from onthedot.api.routing import delete, get, patch, post
from onthedot.api.services import Services
from onthedot.core import editing
from onthedot.core.instants import Instant, format_instant
from onthedot.core.model import Job
from onthedot.ids import job_id, parse_job_id, run_id
from onthedot.slices import in_slices
from onthedot.store.values import Created, EnqueueRequest
from onthedot.usecases import edits
from onthedot.usecases.calendars import named
from onthedot.wire import (
    EditOut,
    JobIn,
    JobList,
    JobOut,
    JobPatch,
    RunCreated,
    RunsCreated,
    TriggerIn,
    TriggerManyIn,
    definition_of,
    edit_out,
    job_out,
    patched,
    read,
    trigger_due,
    trigger_payload,
    triggers,
)

SHOWN_STEPS: Final = 10
"""What it takes to show a job."""

GONE_MAX: Final = 1000
"""Of the jobs that code declares no longer, so many are listed."""


@post(
    "/jobs",
    Operation(
        tag="Jobs",
        summary="Create a job",
        about="With at most one of `cronExpr`, `every`, `fixedDelay`, `runAt`, `delay`, "
        "`schedule`; without any it runs only when triggered. A 201 is durable.",
        parameters=(IDEMPOTENCY_KEY,),
        body=JobIn,
        example={
            "name": "nightly report",
            "cronExpr": "0 2 * * *",
            "timezone": "Europe/Berlin",
            "handlerUrl": "https://example.com/hooks/report",
            "payload": {"report": "nightly"},
        },
        answers={201: ("Created.", JobOut)},
        problems=(*WRITE, 409),
    ),
)
async def create_job(request: Request, services: Services) -> Response:
    body = await request.body()
    now = services.clock.now()

    def text(job: Job, _: Sequence[int]) -> str:
        return msgspec.json.encode(_shown(job, now)).decode()

    asked = read(body, JobIn)
    calendar = await named(services.store, asked.calendar)
    made = await services.store.jobs.create(
        definition_of(asked, now=now, calendar=calendar),
        now=now,
        receipt=receipt_of(request, body, text),
    )
    services.wake_scheduler()
    if made.job is not None:
        created, which = text(made.job, ()), job_id(made.job.id)
    else:
        assert made.repeat is not None, "a store makes a job or repeats an answer"
        created, which = made.repeat, msgspec.json.decode(made.repeat, type=JobOut).job_id
    headers = {"Location": f"/v1/jobs/{which}", **_replayed(made)}
    return json_text(created.encode(), 201, headers)


@get(
    "/jobs",
    Operation(
        tag="Jobs",
        summary="List jobs, newest first",
        parameters=(
            LIMIT,
            CURSOR,
            KEY,
            DECLARED,
        ),
        answers={200: ("One page.", JobList)},
        problems=(401, 422, 503),
    ),
)
async def list_jobs(request: Request, services: Services) -> Response:
    now = _from(services, services.clock.now())
    key = key_of(request)
    if key is not None:
        found = await services.store.jobs.keyed("default", key)
        shown = [] if found is None else [_shown(found, now)]
        return answer(JobList(jobs=shown, next_cursor=None))
    if is_asked_for_gone(request):
        gone = await services.store.jobs.undeclared(limit=GONE_MAX)
        return answer(JobList(jobs=await _all_shown(gone, now), next_cursor=None))
    limit, before = limit_of(request), cursor_of(request, "jobs")
    # One more than asked for tells whether there is another page.
    jobs = await services.store.jobs.page(before=before, limit=limit + 1)
    page = jobs[: min(limit, fitting(len(job.definition.payload) for job in jobs))]
    more = cursor_text("jobs", page[-1].id) if len(jobs) > len(page) else None
    return answer(JobList(jobs=await _all_shown(page, now), next_cursor=more))


@get(
    "/jobs/{job}",
    Operation(
        tag="Jobs",
        summary="Read a job",
        answers={200: ("The job; its version is also the `ETag`.", JobOut)},
        problems=(401, 404, 503),
    ),
)
async def get_job(job: str, services: Services) -> Response:
    found = await services.store.jobs.get(parse_job_id(job))
    return _answered(found, _from(services, services.clock.now()))


@patch(
    "/jobs/{job}",
    Operation(
        tag="Jobs",
        summary="Edit, pause or resume a job",
        about="What is left out stays as it is. Every edit is a new version and holds for "
        "occurrences due later than one second after the answer, usually at once.",
        parameters=(
            IF_MATCH,
            DRY_RUN,
        ),
        body=JobPatch,
        example={"paused": True},
        answers={200: ("The job after the edit; with `dryRun`, old against new.", JobOut)},
        or_answer=EditOut,
        problems=(*WRITE, 404, 409),
    ),
)
async def edit_job(job: str, request: Request, services: Services) -> Response:
    number = parse_job_id(job)
    changes = read(await request.body(), JobPatch)
    expected = expected_version(request, None if changes.version is UNSET else changes.version)
    dry_run = is_dry_run(request)
    calendar = await named(services.store, changes.calendar)

    now = services.clock.now()
    edit = await edits.edit_job(
        services.store,
        number,
        partial(patched, patch=changes, now=now, calendar=calendar),
        now=now,
        expected=expected,
        dry_run=dry_run,
    )
    if dry_run:
        return answer(edit_out(edit.old, edit.new, job, now=now))
    if edit.new is not edit.old:
        services.wake_scheduler()
    return _answered(edit.new, now)


@delete(
    "/jobs/{job}",
    Operation(
        tag="Jobs",
        summary="Delete a job",
        about="Runs that wait are cancelled. The history stays: runs can be read by id.",
        parameters=(IF_MATCH,),
        answers={204: ("Deleted.", None)},
        problems=(401, 403, 404, 409, 422, 503, 507),
    ),
)
async def delete_job(job: str, request: Request, services: Services) -> Response:
    number = parse_job_id(job)
    await services.store.jobs.change(
        number, editing.delete, now=services.clock.now(), expected=expected_version(request)
    )
    services.wake_scheduler()
    services.wake_worker()
    return Response(status=204)


@post(
    "/jobs/{job}/trigger",
    Operation(
        tag="Runs",
        summary="Run a job now or later",
        about="Works while the job is paused. The body may be left out.",
        parameters=(IDEMPOTENCY_KEY,),
        body=TriggerIn,
        body_required=False,
        example={"payload": {"report": "now"}, "delay": 30},
        answers={202: ("The run is made.", RunCreated)},
        problems=(*WRITE, 404),
    ),
)
async def trigger_job(job: str, request: Request, services: Services) -> Response:
    number = parse_job_id(job)
    body = await request.body()
    asked = read(body, TriggerIn)
    now = services.clock.now()
    due = trigger_due(asked, now=now)

    def text(owner: Job, runs: Sequence[int]) -> str:
        (run,) = runs
        return _encoded(_created(services.installation, owner.id, run, due))

    made = await services.store.runs.enqueue(
        number,
        due=due,
        payload=trigger_payload(asked),
        now=now,
        receipt=receipt_of(request, body, text),
    )
    _wake(services, [due], now)
    created = text(made.job, made.runs) if made.job is not None else made.repeat
    assert created is not None, "a store makes a run or repeats an answer"
    location = "/v1/runs/" + msgspec.json.decode(created, type=RunCreated).run_id
    return json_text(created.encode(), 202, {"Location": location, **_replayed(made)})


@post(
    "/jobs/{job}/trigger-many",
    Operation(
        tag="Runs",
        summary="Run a job many times, all or none",
        about="Up to 1000 runs in one request of at most 256 KB, in one transaction: with a "
        "202 all of them are made, otherwise none is.",
        parameters=(IDEMPOTENCY_KEY,),
        body=TriggerManyIn,
        example={"runs": [{"payload": {"to": "ana"}}, {"payload": {"to": "bo"}, "delay": 30}]},
        answers={202: ("The runs are made.", RunsCreated)},
        problems=(*WRITE, 404),
    ),
)
async def trigger_job_many(job: str, request: Request, services: Services) -> Response:
    number = parse_job_id(job)
    body = await request.body()
    now = services.clock.now()
    asked = triggers(read(body, TriggerManyIn), now=now)

    def text(owner: Job, runs: Sequence[int]) -> str:
        made = [
            _created(services.installation, owner.id, run, due)
            for run, (due, _) in zip(runs, asked, strict=True)
        ]
        return _encoded(RunsCreated(runs=made))

    made = await services.store.runs.enqueue_many(
        number,
        [EnqueueRequest(*each) for each in asked],
        now=now,
        receipt=receipt_of(request, body, text),
    )
    _wake(services, [due for due, _ in asked], now)
    created = text(made.job, made.runs) if made.job is not None else made.repeat
    assert created is not None, "a store makes runs or repeats an answer"
    return json_text(created.encode(), 202, _replayed(made))


def _wake(services: Services, dues: Sequence[Instant], now: Instant) -> None:
    """A run that is due waits for a worker, any other for the scheduler that will bring it up."""
    if min(dues) <= now:
        services.wake_worker()
    if max(dues) > now:
        services.wake_scheduler()


def _created(installation: str, job: int, run: int, due: Instant) -> RunCreated:
    return RunCreated(
        run_id=run_id(installation, job, run),
        job_id=job_id(job),
        scheduled_for=format_instant(due),
    )


def _encoded(answered: msgspec.Struct) -> str:
    return msgspec.json.encode(answered).decode()


def _from(services: Services, now: Instant) -> Instant:
    """From when on a job is due next: what a clock that was set back comes to again is claimed."""
    return services.silent_until() or now


async def _all_shown(jobs: Sequence[Job], now: Instant) -> list[JobOut]:
    return [_shown(job, now) async for job in in_slices(jobs, steps=SHOWN_STEPS)]


def _shown(job: Job, now: Instant) -> JobOut:
    return job_out(job, job_id(job.id), now=now)


def _answered(job: Job, now: Instant) -> Response:
    return answer(_shown(job, now), headers={"ETag": f'"{job.version}"'})


def _replayed(made: Created) -> dict[str, str]:
    return {} if made.repeat is None else {"Idempotency-Replayed": "true"}
