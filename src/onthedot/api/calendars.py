"""The routes of calendars: make or change one, see what that would move, list, read, delete."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from onthedot.api.http import Request, Response
from onthedot.api.operation import CHANGE, READ, WRITE, Operation
from onthedot.api.params import (
    CURSOR,
    DRY_RUN,
    IF_MATCH,
    LIMIT,
    expected_version,
    fitting,
    is_dry_run,
    limit_of,
    name_after,
    name_cursor,
)
from onthedot.api.responses import answer
from onthedot.api.routing import delete, get, put
from onthedot.api.services import Services
from onthedot.core.editing import CurrentJob
from onthedot.core.instants import Instant, format_instant
from onthedot.core.schedules import Calendar
from onthedot.errors import NotFound
from onthedot.ids import job_id
from onthedot.slices import in_slices, others_first
from onthedot.store.calendars import Behind, CalendarView
from onthedot.store.refusals import calendar_conflict
from onthedot.usecases.calendars import named, take_over
from onthedot.wire import read
from onthedot.wire.calendars import (
    CalendarEditOut,
    CalendarIn,
    CalendarList,
    CalendarOut,
    calendar_name,
    calendar_of,
    move_of,
)

GROUPS_MAX: Final = 20
"""So many groups of jobs take a calendar over before the answer; a janitor sees to the rest."""

MOVES_MAX: Final = 100


@put(
    "/calendars/{name}",
    Operation(
        tag="Calendars",
        summary="Make or change a calendar",
        about="All of its rules: what is left out is gone. Every change is a new version, "
        "and every job that follows it gets one, too: the first thousand before the answer, the "
        "others soon after it.",
        parameters=(
            IF_MATCH,
            DRY_RUN,
        ),
        body=CalendarIn,
        example={"require": ["mon-fri"], "exclude": ["12-25", "01-01"]},
        answers={
            200: ("The calendar; with `dryRun`, what would move.", CalendarOut),
            201: ("The calendar, which is new.", CalendarOut),
        },
        or_answer=CalendarEditOut,
        problems=(*WRITE, 409),
    ),
)
async def put_calendar(name: str, request: Request, services: Services) -> Response:
    given = read(await request.body(), CalendarIn)
    expected = expected_version(request, None if given.version is UNSET else given.version)
    calendar, now = calendar_of(given), services.clock.now()
    calendar_name(name)
    if is_dry_run(request):
        return answer(await _moved(services, name, calendar, expected, now))
    known = await named(services.store, name)
    put = await services.store.calendars.put(name, calendar, now=now, expected=expected)
    if put.behind:
        for _ in range(GROUPS_MAX):
            _, more = await take_over(services.store, now=now)
            if not more:
                break
        services.wake_scheduler()
        put = await services.store.calendars.get(name)
    return _answered(put, 201 if known is None else 200)


@get(
    "/calendars",
    Operation(
        tag="Calendars",
        summary="List calendars by name",
        parameters=(
            LIMIT,
            CURSOR,
        ),
        answers={200: ("One page.", CalendarList)},
        problems=(401, 422, 503),
    ),
)
async def list_calendars(request: Request, services: Services) -> Response:
    limit, after = limit_of(request), name_after(request, "calendars")
    found = await services.store.calendars.page(after=after, limit=limit + 1)
    page = found[: min(limit, fitting(_length(each) for each in found))]
    more = name_cursor("calendars", page[-1].name) if len(found) > len(page) else None
    return answer(CalendarList(calendars=[_out(each) for each in page], next_cursor=more))


@get(
    "/calendars/{name}",
    Operation(
        tag="Calendars",
        summary="Read a calendar",
        answers={200: ("The calendar; its version is also the `ETag`.", CalendarOut)},
        problems=READ,
    ),
)
async def get_calendar(name: str, services: Services) -> Response:
    return _answered(await services.store.calendars.get(calendar_name(name)))


@delete(
    "/calendars/{name}",
    Operation(
        tag="Calendars",
        summary="Delete a calendar that no job follows",
        about="While jobs follow it, it is refused, and they are named.",
        parameters=(IF_MATCH,),
        answers={204: ("Deleted.", None)},
        problems=(*CHANGE, 422),
    ),
)
async def delete_calendar(name: str, request: Request, services: Services) -> Response:
    expected = expected_version(request)
    await services.store.calendars.delete(calendar_name(name), expected=expected)
    return Response(status=204)


async def _moved(
    services: Services, name: str, calendar: Calendar, expected: int | None, now: Instant
) -> CalendarEditOut:
    """Nothing is locked: it is what would be, if nobody did anything meanwhile."""
    try:
        found: CalendarView | None = await services.store.calendars.get(name)
    except NotFound:
        found = None
    version = None if found is None else found.version
    if expected is not None and version != expected:
        raise calendar_conflict(name, version, expected)
    moves = []
    jobs = await services.store.calendars.followers(name, limit=MOVES_MAX) if found else []
    async for job in in_slices(jobs):
        would_be = CalendarView(name, (version or 0) + 1, calendar, now, now).named
        current = CurrentJob(job=job, horizon=0, waiting=False, now=now)
        change = Behind(job.id, would_be).decide(current)
        if change is not None and change.job is not None:
            await others_first()
            moves.append(move_of(job_id(job.id), job, change.job, now=now))
    return CalendarEditOut(
        name=name,
        version=version,
        exclude=calendar.exclude,
        require=calendar.require,
        jobs=0 if found is None else found.jobs,
        moves=[move for move in moves if move is not None],
    )


def _length(view: CalendarView) -> int:
    return sum(map(len, view.calendar.exclude + view.calendar.require))


def _out(view: CalendarView) -> CalendarOut:
    return CalendarOut(
        name=view.name,
        version=view.version,
        exclude=view.calendar.exclude,
        require=view.calendar.require,
        jobs=view.jobs,
        behind=view.behind,
        created_at=format_instant(view.created_at),
        updated_at=format_instant(view.updated_at),
    )


def _answered(view: CalendarView, status: int = 200) -> Response:
    return answer(_out(view), status, headers={"ETag": f'"{view.version}"'})
