"""The route of schedules: try one out before a job has it."""

from __future__ import annotations

from typing import Final

from litestar import Response, post
from litestar.handlers import HTTPRouteHandler

from onthedot.api.answers import answer
from onthedot.api.asking import AnyRequest, body_of
from onthedot.api.services import Given
from onthedot.store.calendars import named
from onthedot.wire import PreviewIn, preview_of, read


@post("/schedules/preview")
async def preview_schedule(request: AnyRequest, services: Given) -> Response[bytes]:
    asked = read(await body_of(request), PreviewIn)
    calendar = await named(services.store, asked.calendar)
    return answer(preview_of(asked, now=services.clock.now(), calendar=calendar))


ROUTES: Final[list[HTTPRouteHandler]] = [preview_schedule]
