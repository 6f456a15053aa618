"""The route of time zones: what all nodes go by, and what moved when it changed."""

from __future__ import annotations

from onthedot.api.http import Request, Response
from onthedot.api.operation import Operation
from onthedot.api.params import LIMIT, limit_of
from onthedot.api.responses import answer
from onthedot.api.routing import get
from onthedot.api.services import Services
from onthedot.core.instants import format_instant
from onthedot.core.zoning import KnownZone
from onthedot.ids import job_id
from onthedot.store.zones import Move
from onthedot.wire.zones import ZoneList, ZoneMoveOut, ZoneOut


@get(
    "/zones",
    Operation(
        tag="Server",
        summary="By which tzdata jobs are due, and what moved when it changed",
        parameters=(LIMIT,),
        answers={200: ("All zones in use, and the newest moves.", ZoneList)},
        problems=(401, 422, 503),
    ),
)
async def list_zones(request: Request, services: Services) -> Response:
    known = await services.store.zones.all()
    moves = await services.store.zones.moves(limit=limit_of(request))
    return answer(ZoneList(zones=[*map(zone_out, known)], moves=[*map(move_out, moves)]))


def zone_out(zone: KnownZone) -> ZoneOut:
    return ZoneOut(
        timezone=zone.name,
        tzdata=zone.release,
        changed_at=None if zone.told_at is None else format_instant(zone.told_at),
        pending=zone.pending,
    )


def move_out(move: Move) -> ZoneMoveOut:
    return ZoneMoveOut(
        job_id=job_id(move.job),
        job_name=move.name,
        version=move.version,
        timezone=move.zone,
        tzdata=move.release,
        moved_at=format_instant(move.at),
        old=format_instant(move.old),
        new=None if move.new is None else format_instant(move.new),
    )
