"""Every route of the API, in the order in which the document has them."""

from __future__ import annotations

from typing import Final

from onthedot.api import (
    audit,
    backfills,
    calendars,
    dead_letters,
    health,
    jobs,
    metrics,
    nodes,
    overview,
    runs,
    schedules,
    why,
    zones,
)
from onthedot.api.routing import Route, routes_in

ROUTES: Final[tuple[Route, ...]] = routes_in(
    *(jobs, schedules, runs, dead_letters, why, calendars, audit, backfills),
    *(zones, nodes, overview, metrics, health),
)
