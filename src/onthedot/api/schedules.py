"""The route of schedules: try one out before a job has it."""

from __future__ import annotations

from typing import Final

from onthedot.api.http import Request, Response
from onthedot.api.operation import Operation
from onthedot.api.responses import answer
from onthedot.api.routing import post
from onthedot.api.services import Services
from onthedot.slices import in_slices, others_first
from onthedot.usecases.calendars import named
from onthedot.wire import PreviewIn, PreviewOut, read
from onthedot.wire.previews import instants_of, preview_of, preview_out

INSTANT_STEPS: Final = 3
"""What it takes to show one, beside finding it."""


@post(
    "/schedules/preview",
    Operation(
        tag="Jobs",
        summary="Try a schedule out",
        about="What it says in words, its normal form, and the next instants, with marks.",
        body=PreviewIn,
        example={"cronExpr": "30 2 * * *", "timezone": "Europe/Berlin", "count": 3},
        answers={200: ("The schedule explained.", PreviewOut)},
        problems=(400, 401, 403, 413, 422),
    ),
)
async def preview_schedule(request: Request, services: Services) -> Response:
    asked = read(await request.body(), PreviewIn)
    calendar = await named(services.store, asked.calendar)
    preview = preview_of(asked, now=services.clock.now(), calendar=calendar)
    await others_first()
    instants = [each async for each in in_slices(instants_of(preview), steps=INSTANT_STEPS)]
    return answer(preview_out(preview, instants))
