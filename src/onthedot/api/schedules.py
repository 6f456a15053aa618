"""The route of schedules: try one out before a job has it."""

from __future__ import annotations

from typing import Final

from onthedot.api.answers import answer
from onthedot.api.http import Request, Response
from onthedot.api.routing import Route, post
from onthedot.api.services import Services
from onthedot.store.calendars import named
from onthedot.wire import PreviewIn, preview_of, read


@post("/schedules/preview")
async def preview_schedule(request: Request, services: Services) -> Response:
    asked = read(await request.body(), PreviewIn)
    calendar = await named(services.store, asked.calendar)
    return answer(preview_of(asked, now=services.clock.now(), calendar=calendar))


ROUTES: Final[list[Route]] = [preview_schedule]
