"""The routes of the audit: the books of one job, and of all."""

from __future__ import annotations

from typing import Final

from onthedot.api.http import Request, Response
from onthedot.api.operation import READ, Operation
from onthedot.api.params import CURSOR, cursor_numbers, cursor_text
from onthedot.api.responses import answer
from onthedot.api.routing import get
from onthedot.api.services import Services
from onthedot.core.audit import FAULTS_MAX
from onthedot.ids import job_id, parse_job_id
from onthedot.usecases import audit_walk
from onthedot.wire.audit import AuditOut, audit_out, fault_out

PART: Final = 20_000
"""Instants that one request goes through; the cursor leads on from there."""


@get(
    "/jobs/{job}/audit",
    Operation(
        tag="Audit",
        summary="Prove that every due occurrence of a job is accounted for",
        about="What was due is worked out again over all versions of the job, a deleted one "
        "too, since its creation or as far as history is kept, and each instant is looked up. One "
        "request goes through 20,000 instants: follow `nextCursor` for the rest, and add up.",
        parameters=(CURSOR,),
        answers={200: ("One part of the books.", AuditOut)},
        problems=READ,
    ),
)
async def audit_job(job: str, request: Request, services: Services) -> Response:
    number = parse_job_id(job)
    place = f"audit.{number:x}"
    # The end stays what it was at the beginning, so that the parts make one whole.
    after, until = cursor_numbers(request, place, 2) or (0, services.clock.now())
    balance, reached = await audit_walk.audit_job(
        services.store, number, after=after, until=until, most=PART
    )
    faults = [fault_out(fault, job) for fault in balance.listed]
    cursor = None if reached is None else cursor_text(place, reached, until)
    jobs = int(reached is None)
    gaps = await services.store.upkeep.gaps()
    return answer(audit_out(balance, faults, gaps, jobs=jobs, until=until, cursor=cursor))


@get(
    "/audit",
    Operation(
        tag="Audit",
        summary="The same for all jobs",
        about="Deleted ones, too. Follow `nextCursor` for the rest, and add up.",
        parameters=(CURSOR,),
        answers={200: ("One part of the books.", AuditOut)},
        problems=(401, 422, 503),
    ),
)
async def audit_all(request: Request, services: Services) -> Response:
    numbers = cursor_numbers(request, "audit", 3)
    until = services.clock.now() if numbers is None else numbers[2]
    place = audit_walk.START if numbers is None else audit_walk.WalkPosition(*numbers[:2])
    part = await audit_walk.audit_all(services.store, place, until=until, most=PART)
    faults = [
        fault_out(fault, job_id(number))
        for number, balance in part.faulty.items()
        for fault in balance.listed
    ]
    cursor = None if part.place is None else cursor_text("audit", *part.place, until)
    gaps = await services.store.upkeep.gaps()
    audited = audit_out(
        part.balance, faults[:FAULTS_MAX], gaps, jobs=part.jobs, until=until, cursor=cursor
    )
    return answer(audited)
