"""The routes of backfills: run what never ran, see how far it has come, stop it."""

from __future__ import annotations

from typing import Final

from msgspec import UnsetType

from onthedot.api.http import Request, Response
from onthedot.api.operation import CHANGE, READ, WRITE, Operation
from onthedot.api.params import CURSOR, LIMIT, cursor_of, cursor_text, limit_of
from onthedot.api.responses import answer
from onthedot.api.routing import delete, get, post
from onthedot.api.services import Services
from onthedot.core.backfilling import refuse_fixed_delay
from onthedot.core.instants import Instant, format_instant, parse_instant
from onthedot.errors import Invalid, NotFound
from onthedot.ids import job_id, parse_job_id, shown
from onthedot.store.values import BackfillView
from onthedot.usecases.audit_walk import missing_of
from onthedot.wire import read
from onthedot.wire.backfills import (
    BackfillIn,
    BackfillList,
    BackfillOut,
    BackfillPlanned,
    backfill_options_of,
)
from onthedot.wire.converting import instant_text

SHOWN_MAX: Final = 100


@post(
    "/jobs/{job}/backfill",
    Operation(
        tag="Audit",
        summary="Run what never ran in a range of the past",
        about="What was missed or skipped, or was never due because the job did not exist "
        "yet; what a backfill has already is left out. The runs are new ones, due at these "
        "instants; no record of an occurrence changes. At most 10,000 instants a request. Works "
        "while the job is paused.",
        body=BackfillIn,
        example={"from": "2027-01-01T00:00:00Z", "dryRun": True},
        answers={
            200: ("A dry run, or nothing is missing.", BackfillPlanned),
            202: ("It has begun.", BackfillPlanned),
        },
        problems=(*WRITE, 404),
    ),
)
async def backfill_job(job: str, request: Request, services: Services) -> Response:
    number = parse_job_id(job)
    asked = read(await request.body(), BackfillIn)
    now = services.clock.now()
    first, until = _range(asked, now)
    refuse_fixed_delay((await services.store.jobs.get(number)).definition)
    dues = await missing_of(services.store, number, first=first, until=until)
    options = backfill_options_of(asked)
    if options.newest_first:
        dues.reverse()
    dry = asked.dry_run is True
    begun = None
    if dues and not dry:
        begun = await services.store.backfills.begin(number, dues, options, now=now)
    planned = BackfillPlanned(
        backfill_id=None if begun is None else str(begun.number),
        dry_run=dry,
        count=len(dues) if begun is None else begun.total,
        instants=[format_instant(due) for due in dues[:SHOWN_MAX]],
    )
    return answer(planned, 202 if begun is not None else 200)


@get(
    "/jobs/{job}/backfills",
    Operation(
        tag="Audit",
        summary="How far the backfills of a job have come, newest first",
        parameters=(
            LIMIT,
            CURSOR,
        ),
        answers={200: ("One page.", BackfillList)},
        problems=READ,
    ),
)
async def list_backfills(job: str, request: Request, services: Services) -> Response:
    number = parse_job_id(job)
    place = f"backfills.{number:x}"
    limit, before = limit_of(request), cursor_of(request, place)
    found = await services.store.backfills.of_job(number, before=before, limit=limit + 1)
    if not found:
        await services.store.jobs.get(number)
    more = cursor_text(place, found[limit - 1].number) if len(found) > limit else None
    return answer(BackfillList(backfills=[_out(each) for each in found[:limit]], next_cursor=more))


@delete(
    "/jobs/{job}/backfills/{backfill}",
    Operation(
        tag="Audit",
        summary="Stop a backfill",
        about="Runs that it has made go on. Instants without a run may be backfilled again.",
        answers={204: ("Stopped.", None)},
        problems=CHANGE,
    ),
)
async def stop_backfill(job: str, backfill: str, services: Services) -> Response:
    if not backfill.isdecimal() or len(backfill) > 18:
        raise NotFound(
            f"there is no backfill '{shown(backfill)}'",
            hint="GET /v1/jobs/{jobId}/backfills lists them.",
        )
    await services.store.backfills.stop(parse_job_id(job), int(backfill), now=services.clock.now())
    return Response(status=204)


def _range(asked: BackfillIn, now: Instant) -> tuple[Instant, Instant]:
    first = parse_instant(asked.from_, field="from")
    until = now if isinstance(asked.until, UnsetType) else parse_instant(asked.until, field="until")
    if until > now:
        raise Invalid(
            f"until {format_instant(until)} is in the future",
            hint="A backfill runs the past; leave it out for everything up to now.",
            field="until",
        )
    if until < first:
        raise Invalid("until is before from", hint="Give a later until.", field="until")
    return first, until


def _out(view: BackfillView) -> BackfillOut:
    return BackfillOut(
        backfill_id=str(view.number),
        job_id=job_id(view.job),
        order="newest" if view.options.newest_first else "oldest",
        priority=view.options.priority,
        concurrency=view.options.concurrency,
        total=view.total,
        made=view.made,
        created_at=format_instant(view.created_at),
        ended_at=instant_text(view.ended_at),
    )
