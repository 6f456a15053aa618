"""The application: every route twice, with `/v1` and without, behind the gates."""

from __future__ import annotations

from typing import Final

from litestar import Litestar, Router
from litestar.di import Provide

from onthedot.api import (
    audit,
    backfills,
    calendars,
    health,
    jobs,
    letters,
    metrics,
    nodes,
    overview,
    pages,
    runs,
    schedules,
    why,
    zones,
)
from onthedot.api.auth import RequireKey
from onthedot.api.browsers import Manners
from onthedot.api.problems import HANDLERS
from onthedot.api.services import Services

BODY_BYTES_MAX: Final = 256 * 1024


def build(services: Services) -> Litestar:
    """The ASGI application. It owns nothing: whoever made the services closes them."""
    rooms = (
        jobs,
        schedules,
        calendars,
        runs,
        letters,
        why,
        audit,
        backfills,
        nodes,
        zones,
        health,
        metrics,
        overview,
        pages,
    )
    routes = [route for room in rooms for route in room.ROUTES]
    app = Litestar(
        [Router(prefix, route_handlers=routes) for prefix in ("/", "/v1")],
        dependencies={"services": Provide(lambda: services, sync_to_thread=False)},
        exception_handlers=HANDLERS,
        logging_config=None,
        openapi_config=None,
        request_max_body_size=BODY_BYTES_MAX,
    )
    # Litestar's own middleware stands behind its router, where unknown paths never come.
    gate = app.asgi_handler
    if services.api_key is not None:
        gate = RequireKey(gate, services.api_key)
    app.asgi_handler = Manners(gate)
    return app
