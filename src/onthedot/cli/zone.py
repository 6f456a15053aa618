"""`onthedot zone`: the time zones that jobs are due in, and what a new tzdata has moved."""

from __future__ import annotations

from typing import Any

import click

from onthedot.cli import output
from onthedot.cli.client import connect
from onthedot.cli.values import remote


@click.group("zone")
def zone_group() -> None:
    """Time zones: by which release of the tz database jobs are due."""


@zone_group.command("list")
@remote
def list_zones(server: str | None, as_json: bool) -> None:
    """List the zones that jobs are due in, and the release of the tz database that they go by.

    \b
    Examples:
      onthedot zone list
      onthedot zone list --json
    """
    zones = connect(server).get("/zones", limit=1)["zones"]
    if as_json:
        output.data_json(zones)
        return
    if not zones:
        output.note("no zones")
        return
    output.table(("TIMEZONE", "TZDATA", "CHANGED"), [_zone(zone) for zone in zones])


@zone_group.command("moves")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@remote
def list_moves(server: str | None, as_json: bool, limit: int) -> None:
    """List the occurrences that moved when a new release changed their zone, newest first.

    \b
    Examples:
      onthedot zone moves
      onthedot zone moves --limit 1000 --json
    """
    moves = connect(server).get("/zones", limit=limit)["moves"]
    if as_json:
        output.data_json(moves)
        return
    if not moves:
        output.note("no moves")
        return
    output.table(("MOVED", "JOB", "NAME", "TIMEZONE", "WAS", "IS"), [_move(move) for move in moves])


def _zone(zone: dict[str, Any]) -> tuple[str, ...]:
    changed = zone.get("changedAt") or output.MISSING
    pending = " (under way)" if zone.get("pending") else ""
    return (str(zone["timezone"]), str(zone["tzdata"] or "unknown"), f"{changed}{pending}")


def _move(move: dict[str, Any]) -> tuple[str, ...]:
    named = ("movedAt", "jobId", "jobName", "timezone", "old")
    return (*(str(move[name]) for name in named), str(move["new"] or output.MISSING))
