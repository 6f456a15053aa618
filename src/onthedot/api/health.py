"""The routes for probes: is the process there, and does it do its work."""

from __future__ import annotations

from typing import Final

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from onthedot.api.answers import answer
from onthedot.api.services import Given, Services
from onthedot.observe.tzdata import tzdata_version
from onthedot.wire import HealthOut, LiveOut


@get(["/health", "/health/ready"])
async def get_health(services: Given) -> Response[bytes]:
    health = health_out(services)
    return answer(health, 200 if health.status == "ok" else 503)


@get("/health/live")
async def get_live() -> Response[bytes]:
    return answer(LiveOut())


def health_out(services: Services) -> HealthOut:
    health = services.health()
    return HealthOut(
        status="ok" if health.ok else "failing",
        version=services.version,
        node=health.node,
        roles=health.roles,
        problems=health.problems,
        tzdata=tzdata_version(),
    )


ROUTES: Final[list[HTTPRouteHandler]] = [get_health, get_live]
