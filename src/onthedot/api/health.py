"""The routes for probes: is the process there, and does it do its work."""

from __future__ import annotations

from typing import Final

from onthedot.api.http import Response
from onthedot.api.responses import answer
from onthedot.api.routing import Route, get
from onthedot.api.services import Services
from onthedot.observe.health import Health
from onthedot.observe.tzdata import tzdata_version
from onthedot.wire import HealthOut, LiveOut


@get("/health", "/health/ready")
async def get_health(services: Services) -> Response:
    health = health_out(services.health(), services.version)
    return answer(health, 200 if health.status == "ok" else 503)


@get("/health/live")
async def get_live() -> Response:
    return answer(LiveOut())


def health_out(health: Health, version: str) -> HealthOut:
    return HealthOut(
        status="ok" if health.ok else "failing",
        version=version,
        node=health.node,
        roles=health.roles,
        problems=health.problems,
        tzdata=tzdata_version(),
    )


ROUTES: Final[list[Route]] = [get_health, get_live]
