"""The routes of runs: list those of a job, read one with its attempts or its log, cancel."""

from __future__ import annotations

from onthedot.api.http import Request, Response
from onthedot.api.operation import CHANGE, READ, Operation
from onthedot.api.params import (
    AFTER,
    CURSOR,
    LIMIT,
    cursor_numbers,
    cursor_of,
    cursor_text,
    limit_of,
)
from onthedot.api.problems import problem_of, problem_response
from onthedot.api.responses import answer, lines_out, run_detail, run_out
from onthedot.api.routing import get, post
from onthedot.api.services import Services
from onthedot.core.states import Status
from onthedot.errors import RunOver
from onthedot.ids import parse_job_id, parse_run_id
from onthedot.store.notes import LogCursor
from onthedot.store.values import CancelVerdict
from onthedot.wire import RunCancelled, RunDetail, RunList, RunLogs

LOG_ROWS_MAX = 100
"""In one answer. A row has some lines to some hundreds, and at most 64 KB."""


@get(
    "/jobs/{job}/runs",
    Operation(
        tag="Runs",
        summary="List the runs of a job, newest first",
        parameters=(
            LIMIT,
            CURSOR,
        ),
        answers={200: ("One page, live runs included.", RunList)},
        problems=READ,
    ),
)
async def list_runs(job: str, request: Request, services: Services) -> Response:
    number = parse_job_id(job)
    # A cursor names its job, so that it cannot be carried over to another.
    place = f"runs.{number:x}"
    limit, before = limit_of(request), cursor_of(request, place)
    await services.store.jobs.get(number)
    views = await services.store.ledger.page(
        number, before=before, limit=limit + 1, now=services.clock.now()
    )
    more = cursor_text(place, views[limit - 1].run) if len(views) > limit else None
    runs = [run_out(view, services.installation) for view in views[:limit]]
    return answer(RunList(runs=runs, next_cursor=more))


@get(
    "/runs/{run}",
    Operation(
        tag="Runs",
        summary="Read a run with its attempts",
        answers={200: ("The run.", RunDetail)},
        problems=(401, 404, 503),
    ),
)
async def get_run(run: str, services: Services) -> Response:
    which = parse_run_id(run, services.installation)
    story = await services.store.ledger.story(which.job, which.run, now=services.clock.now())
    return answer(run_detail(story, services.installation))


@get(
    "/runs/{run}/logs",
    Operation(
        tag="Runs",
        summary="Read what a run has printed and logged",
        about="While it is under way, too: ask again with `after` set to what the last answer"
        " says is `next`, until the `status` says that it is over.",
        parameters=(AFTER,),
        answers={200: ("Its lines, first to last.", RunLogs)},
        problems=READ,
    ),
)
async def get_run_logs(run: str, request: Request, services: Services) -> Response:
    which = parse_run_id(run, services.installation)
    # A cursor names its run, so that it cannot be carried over to another.
    place = f"logs.{which.job:x}.{which.run:x}"
    given = cursor_numbers(request, place, 2, "after")
    after = LogCursor(*given) if given is not None else LogCursor(0, 0)
    # Its state first: a run writes its last lines before it is over, so none can come after these.
    view = await services.store.ledger.run(which.job, which.run, now=services.clock.now())
    rows = await services.store.notes.lines(
        which.job, which.run, after=after, limit=LOG_ROWS_MAX + 1
    )
    shown = rows[:LOG_ROWS_MAX]
    last = shown[-1].place if shown else after
    return answer(
        RunLogs(
            lines=[line for row in shown for line in lines_out(row)],
            next=cursor_text(place, *last),
            more=len(rows) > len(shown),
            status=view.status,
        )
    )


@post(
    "/runs/{run}/cancel",
    Operation(
        tag="Runs",
        summary="Cancel a run",
        answers={
            200: ("It is cancelled and will never start.", RunCancelled),
            202: ("A node holds it and has been told.", RunCancelled),
        },
        problems=CHANGE,
    ),
)
async def cancel_run(run: str, services: Services) -> Response:
    which = parse_run_id(run, services.installation)
    store, now = services.store, services.clock.now()
    try:
        verdict = await store.runs.cancel(which.job, which.run, now=now)
    except RunOver as over:
        view = await store.ledger.run(which.job, which.run, now=now)
        if view.status is Status.CANCELLED:
            return answer(RunCancelled(run_id=run, status=view.status))
        return problem_response(problem_of(over, run_status=view.status))
    services.wake_worker()
    if verdict is CancelVerdict.CANCELLED:
        return answer(RunCancelled(run_id=run, status=Status.CANCELLED))
    view = await store.ledger.run(which.job, which.run, now=now)
    return answer(RunCancelled(run_id=run, status=view.status), 202)
