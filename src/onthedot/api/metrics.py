"""The route for Prometheus: counters of this process, gauges of the whole cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from onthedot.api.http import Response
from onthedot.api.operation import Operation
from onthedot.api.routing import get
from onthedot.api.services import Services
from onthedot.core.instants import SECOND, Instant
from onthedot.core.views import NodeView
from onthedot.errors import StoreError
from onthedot.observe.events import warn
from onthedot.observe.metrics import MEDIA_TYPE, Gauges, Scrape, render
from onthedot.store.values import Backlog

FRESH_S: Final = 1.0
"""However many scrape, the store is asked no more often than this."""

COUNT_MAX: Final = 100_000
"""Nothing is counted further: a gauge that says so is alarming enough."""

QUEUES_MAX: Final = 100
OTHER_QUEUES: Final = "(other)"


@get(
    "/metrics",
    Operation(
        prefix="",
        tag="Server",
        summary="Metrics for Prometheus",
        about="In the text format 0.0.4: what this process has counted, and the state of the "
        "whole cluster, read from the database at most once a second.",
        answers={200: ("Text, not JSON.", None)},
        problems=(401,),
    ),
)
async def get_metrics(services: Services) -> Response:
    reading = services.reading
    async with reading.turn:
        if services.clock.monotonic() - reading.read_at >= FRESH_S:
            reading.gauges = await _gauges(services)
            reading.read_at = services.clock.monotonic()
    scrape = Scrape(services.tally, services.version, services.health().ok, reading.gauges)
    return Response(render(scrape), media_type=MEDIA_TYPE)


async def _gauges(services: Services) -> Gauges | None:
    """None if the database does not answer: what this process counts is told all the same."""
    now = services.clock.now()
    try:
        backlog = await services.store.ledger.backlog(most=COUNT_MAX, now=now)
        return gauges_of(backlog, await services.store.nodes.all(), now)
    except StoreError as error:
        warn("api.store", method="GET", path="/metrics", error=error.message)
        return None


def gauges_of(backlog: Backlog, nodes: Iterable[NodeView], now: Instant) -> Gauges:
    queued: dict[str, int] = {}
    oldest: dict[str, float] = {}
    # The longest ones have names; who has more queues than that is told the sum of the rest.
    for place, depth in enumerate(sorted(backlog.queues, key=lambda each: -each.runs)):
        name = depth.queue if place < QUEUES_MAX else OTHER_QUEUES
        queued[name] = queued.get(name, 0) + depth.runs
        oldest[name] = max(oldest.get(name, 0.0), (now - depth.oldest) / SECOND)
    everyone = list(nodes)
    alive = [node for node in everyone if not node.dead]
    workers = [node for node in alive if "worker" in node.facts.roles]
    return Gauges(
        queued=queued or {"default": 0},
        oldest_s=oldest or {"default": 0.0},
        waiting=backlog.waiting,
        dead_letters=backlog.dead_letters,
        set_aside=backlog.set_aside,
        notices=backlog.notices,
        notices_given_up=backlog.notices_given_up,
        nodes={"alive": len(alive), "dead": len(everyone) - len(alive)},
        slots=sum(node.facts.slots for node in workers),
        slots_used=sum(node.load.running for node in workers),
    )
