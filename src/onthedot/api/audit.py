"""The routes of the audit: the books of one job, and of all."""

from __future__ import annotations

from typing import Final

from onthedot.api.http import Request, Response
from onthedot.api.params import cursor_numbers, cursor_text
from onthedot.api.responses import answer
from onthedot.api.routing import Route, get
from onthedot.api.services import Services
from onthedot.core.audit import FAULTS_MAX
from onthedot.ids import job_id, parse_job_id
from onthedot.usecases.audit_walk import START, WalkPosition, audit_all, audit_job
from onthedot.wire.audit import audit_out, fault_out

PART: Final = 20_000
"""Instants that one request goes through; the cursor leads on from there."""


@get("/jobs/{job}/audit")
async def audit_one(job: str, request: Request, services: Services) -> Response:
    number = parse_job_id(job)
    place = f"audit.{number:x}"
    # The end stays what it was at the beginning, so that the parts make one whole.
    after, until = cursor_numbers(request, place, 2) or (0, services.clock.now())
    balance, reached = await audit_job(services.store, number, after=after, until=until, most=PART)
    faults = [fault_out(fault, job) for fault in balance.listed]
    cursor = None if reached is None else cursor_text(place, reached, until)
    jobs = int(reached is None)
    gaps = await services.store.upkeep.gaps()
    return answer(audit_out(balance, faults, gaps, jobs=jobs, until=until, cursor=cursor))


@get("/audit")
async def audit_everything(request: Request, services: Services) -> Response:
    numbers = cursor_numbers(request, "audit", 3)
    until = services.clock.now() if numbers is None else numbers[2]
    place = START if numbers is None else WalkPosition(*numbers[:2])
    part = await audit_all(services.store, place, until=until, most=PART)
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


ROUTES: Final[list[Route]] = [audit_one, audit_everything]
