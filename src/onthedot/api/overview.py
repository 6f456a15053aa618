"""What the page at `/` asks for every second, in one answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from onthedot.api.health import health_out
from onthedot.api.http import Response
from onthedot.api.nodes import node_out
from onthedot.api.operation import Operation
from onthedot.api.responses import answer, run_fields
from onthedot.api.routing import get
from onthedot.api.services import Services
from onthedot.core.instants import HOUR, MILLISECOND, Instant, format_instant
from onthedot.core.views import NodeView, RunView
from onthedot.ids import job_id
from onthedot.store.values import Overview
from onthedot.wire import LatenessOut, OverviewOut, OverviewRun, UpcomingOut

LIMIT: Final = 50
DEAD_SHOWN_US: Final = HOUR


@get(
    "/overview",
    Operation(
        tag="Server",
        summary="What the page at / shows",
        about="For the page: it changes with the page, without notice.",
        answers={200: ("The state of things.", OverviewOut)},
        problems=(401, 503),
    ),
)
async def get_overview(services: Services) -> Response:
    now = services.clock.now()
    overview = await services.store.ledger.overview(limit=LIMIT, now=now)
    nodes = await services.store.nodes.all()
    return answer(overview_out(overview, nodes, services, now))


def overview_out(
    overview: Overview, nodes: Sequence[NodeView], services: Services, now: Instant
) -> OverviewOut:
    names = overview.names

    def shown(views: list[RunView]) -> list[OverviewRun]:
        return [_run(view, names, services.installation) for view in views]

    late = [us for view in overview.recent if (us := lateness_us(view)) is not None]
    return OverviewOut(
        now=format_instant(now),
        health=health_out(services.health(), services.version),
        jobs=overview.jobs,
        queued=overview.queued,
        set_aside=overview.set_aside,
        live=shown(overview.live),
        failed=shown(overview.failed),
        recent=shown(overview.recent),
        upcoming=[
            UpcomingOut(
                job_id=job_id(coming.job),
                job_name=_name(names, coming.job),
                due=format_instant(coming.due),
            )
            for coming in overview.upcoming
        ],
        lateness=lateness_out(late),
        nodes=[node_out(node) for node in shown_nodes(nodes, now)],
    )


def shown_nodes(nodes: Sequence[NodeView], now: Instant) -> list[NodeView]:
    """The living, and those that died lately: what is long gone concerns nobody on call."""
    lately = now - DEAD_SHOWN_US
    shown = [node for node in nodes if not node.dead or node.beat_at >= lately]
    return sorted(shown, key=lambda node: node.dead)[:LIMIT]


def lateness_us(view: RunView) -> int | None:
    """How late a run began. A retry or redrive is late on purpose: only other first attempts
    count.
    """
    if view.started_at is None or view.attempt != 1 or view.redrive_of is not None:
        return None
    return view.started_at - view.due


def lateness_out(late: Sequence[int]) -> LatenessOut:
    ordered = sorted(late)
    return LatenessOut(
        count=len(ordered),
        p50_ms=_percentile(ordered, 0.50),
        p95_ms=_percentile(ordered, 0.95),
        max_ms=_percentile(ordered, 1.0),
    )


def _percentile(ordered: Sequence[int], part: float) -> float | None:
    """The nearest rank: always a lateness that was really seen."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] / MILLISECOND


def _run(view: RunView, names: dict[int, str], installation: str) -> OverviewRun:
    late = lateness_us(view)
    # The page is asked for every second, and has no room for more.
    short = replace(view, output=None, error=view.error and view.error.partition("\n")[0])
    return OverviewRun(
        **run_fields(short, installation),
        job_name=_name(names, view.job),
        at=format_instant(view.at),
        lateness_ms=None if late is None else late / MILLISECOND,
    )


def _name(names: dict[int, str], job: int) -> str:
    """The history of a deleted job is still shown, under its id."""
    return names.get(job) or job_id(job)
