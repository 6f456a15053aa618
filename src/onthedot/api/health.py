"""The routes for probes: is the process there, and does it do its work."""

from __future__ import annotations

from onthedot.api.http import Response
from onthedot.api.operation import Operation
from onthedot.api.responses import answer
from onthedot.api.routing import get
from onthedot.api.services import Services
from onthedot.observe.health import Health
from onthedot.observe.tzdata import tzdata_version
from onthedot.wire import HealthOut, LiveOut


@get(
    "/health",
    Operation(
        prefix="",
        tag="Server",
        summary="Is the node up, and are its roles working",
        answers={200: ("All is well.", HealthOut), 503: ("`problems` says why not.", HealthOut)},
    ),
)
async def get_health(services: Services) -> Response:
    return _health(services)


@get(
    "/health/ready",
    Operation(
        prefix="",
        tag="Server",
        summary="The same, for readiness probes",
        answers={200: ("Ready.", HealthOut), 503: ("`problems` says why not.", HealthOut)},
    ),
)
async def get_readiness(services: Services) -> Response:
    return _health(services)


@get(
    "/health/live",
    Operation(
        prefix="",
        tag="Server",
        summary="Does the process answer",
        answers={200: ("It does.", LiveOut)},
    ),
)
async def get_liveness() -> Response:
    return answer(LiveOut())


def _health(services: Services) -> Response:
    health = health_out(services.health(), services.version)
    return answer(health, 200 if health.status == "ok" else 503)


def health_out(health: Health, version: str) -> HealthOut:
    return HealthOut(
        status="ok" if health.ok else "failing",
        version=version,
        node=health.node,
        roles=health.roles,
        problems=health.problems,
        tzdata=tzdata_version(),
    )
