"""The operations of time: calendars, the audit, and running what never ran."""

from __future__ import annotations

from typing import Final

from onthedot.api.operation import CHANGE, READ, WRITE, Operation
from onthedot.wire import AuditOut
from onthedot.wire.backfills import BackfillIn, BackfillList, BackfillPlanned
from onthedot.wire.calendars import CalendarEditOut, CalendarIn, CalendarList, CalendarOut
from onthedot.wire.zones import ZoneList

OF_TIME: Final = (
    Operation(
        id="putCalendar",
        method="put",
        path="/v1/calendars/{name}",
        tag="Calendars",
        summary="Make or change a calendar",
        description="All of its rules: what is left out is gone. Every change is a new version, "
        "and every job that follows it gets one, too: the first thousand before the answer, the "
        "others soon after it.",
        parameters=("name", "ifMatch", "dryRun"),
        body=CalendarIn,
        example={"require": ["mon-fri"], "exclude": ["12-25", "01-01"]},
        answers={
            200: ("The calendar; with `dryRun`, what would move.", CalendarOut),
            201: ("The calendar, which is new.", CalendarOut),
        },
        or_answer=CalendarEditOut,
        problems=(*WRITE, 409),
    ),
    Operation(
        id="listCalendars",
        method="get",
        path="/v1/calendars",
        tag="Calendars",
        summary="List calendars by name",
        parameters=("limit", "cursor"),
        answers={200: ("One page.", CalendarList)},
        problems=(401, 422, 503),
    ),
    Operation(
        id="getCalendar",
        method="get",
        path="/v1/calendars/{name}",
        tag="Calendars",
        summary="Read a calendar",
        parameters=("name",),
        answers={200: ("The calendar; its version is also the `ETag`.", CalendarOut)},
        problems=READ,
    ),
    Operation(
        id="deleteCalendar",
        method="delete",
        path="/v1/calendars/{name}",
        tag="Calendars",
        summary="Delete a calendar that no job follows",
        description="While jobs follow it, it is refused, and they are named.",
        parameters=("name", "ifMatch"),
        answers={204: ("Deleted.", None)},
        problems=(*CHANGE, 422),
    ),
    Operation(
        id="auditJob",
        method="get",
        path="/v1/jobs/{jobId}/audit",
        tag="Audit",
        summary="Prove that every due occurrence of a job is accounted for",
        description="What was due is worked out anew over all versions of the job, a deleted one "
        "too, since its creation or as far as history is kept, and each instant is looked up. One "
        "request goes through 20,000 instants: follow `nextCursor` for the rest, and add up.",
        parameters=("jobId", "cursor"),
        answers={200: ("One part of the books.", AuditOut)},
        problems=READ,
    ),
    Operation(
        id="auditAll",
        method="get",
        path="/v1/audit",
        tag="Audit",
        summary="The same for all jobs",
        description="Deleted ones, too. Follow `nextCursor` for the rest, and add up.",
        parameters=("cursor",),
        answers={200: ("One part of the books.", AuditOut)},
        problems=(401, 422, 503),
    ),
    Operation(
        id="backfillJob",
        method="post",
        path="/v1/jobs/{jobId}/backfill",
        tag="Audit",
        summary="Run what never ran in a range of the past",
        description="What was missed or skipped, or was never due because the job did not exist "
        "yet; what a backfill has already is left out. The runs are new ones, due at these "
        "instants; no record of an occurrence changes. At most 10,000 instants a request. Works "
        "while the job is paused.",
        parameters=("jobId",),
        body=BackfillIn,
        example={"from": "2027-01-01T00:00:00Z", "dryRun": True},
        answers={
            200: ("A dry run, or nothing is missing.", BackfillPlanned),
            202: ("It has begun.", BackfillPlanned),
        },
        problems=(*WRITE, 404),
    ),
    Operation(
        id="listBackfills",
        method="get",
        path="/v1/jobs/{jobId}/backfills",
        tag="Audit",
        summary="How far the backfills of a job have come, newest first",
        parameters=("jobId", "limit", "cursor"),
        answers={200: ("One page.", BackfillList)},
        problems=READ,
    ),
    Operation(
        id="stopBackfill",
        method="delete",
        path="/v1/jobs/{jobId}/backfills/{backfillId}",
        tag="Audit",
        summary="Stop a backfill",
        description="Runs that it has made go on. Instants without a run may be backfilled again.",
        parameters=("jobId", "backfillId"),
        answers={204: ("Stopped.", None)},
        problems=CHANGE,
    ),
    Operation(
        id="listZones",
        method="get",
        path="/v1/zones",
        tag="Server",
        summary="By which tzdata jobs are due, and what moved when it changed",
        parameters=("limit",),
        answers={200: ("All zones in use, and the newest moves.", ZoneList)},
        problems=(401, 422, 503),
    ),
)
