"""`onthedot node`: the servers that work together."""

from __future__ import annotations

from typing import Any

import click

from onthedot.cli import output
from onthedot.cli.client import connect
from onthedot.cli.values import remote
from onthedot.cli.watch import rows_max, watching
from onthedot.cli.watch import show as show_again
from onthedot.clock import SystemClock

NAMES_MAX = 3
_LAST = ("HEARTBEAT", "CLOCK", "VERSION")


@click.group("node")
def node_group() -> None:
    """Nodes: the server processes on one database."""


@node_group.command("list")
@click.option("--all", "everyone", is_flag=True, help="Those that are gone, too.")
@watching
@remote
def list_nodes(server: str | None, as_json: bool, everyone: bool, watch: bool) -> None:
    """List the nodes that are alive, newest first, with what they do and how busy they are.

    \b
    Examples:
      onthedot node list
      onthedot node list --all
      onthedot node list --watch
      onthedot node list --json
    """
    client = connect(server)

    def draw() -> None:
        nodes = list(client.items("/nodes", "nodes"))
        _list(nodes, [node for node in nodes if everyone or node.get("alive")], as_json, watch)

    show_again(draw, watch=watch, as_json=as_json)


def _list(
    nodes: list[dict[str, Any]], shown: list[dict[str, Any]], as_json: bool, watch: bool
) -> None:
    if as_json:
        output.data_json(shown)
        return
    now = SystemClock().now()
    headings = ("NODE", "HOST", "PID", "ROLES", "SLOTS", "FUNCTIONS", *_LAST)
    fitting = shown[: rows_max(len(shown), watch=watch)] if shown else []
    output.table(headings, [_row(node, now) for node in fitting])
    gone = len(nodes) - len(shown)
    if gone:
        output.note(f"{gone} more {'is' if gone == 1 else 'are'} gone: onthedot node list --all")


def _row(node: dict[str, Any], now: int) -> tuple[str, ...]:
    beat = output.instant_of(node.get("beatAt"))
    return (
        str(node.get("nodeId")),
        str(node.get("host")),
        str(node.get("pid")),
        ",".join(map(str, node.get("roles") or ())),
        _slots(node),
        _functions(node),
        output.MISSING if beat is None else output.relative(beat, now),
        _offset(node),
        str(node.get("version")),
    )


def _slots(node: dict[str, Any]) -> str:
    """How many are taken; runs that wait in the node's memory are named apart."""
    load = node.get("load")
    if not node.get("alive"):
        return "gone"
    if "worker" not in (node.get("roles") or ()) or not isinstance(load, dict):
        return output.MISSING
    held = f" +{load['held']}" if load.get("held") else ""
    return f"{load.get('running')}/{node.get('slots')}{held}"


def _functions(node: dict[str, Any]) -> str:
    """The first few by name, and in how many processes they run."""
    names = [str(name) for name in node.get("functions") or ()]
    if not names:
        return output.MISSING
    more = f" +{len(names) - NAMES_MAX}" if len(names) > NAMES_MAX else ""
    runners = node.get("runners") or 0
    where = f" in {runners} runner{'' if runners == 1 else 's'}" if runners else ""
    return ", ".join(names[:NAMES_MAX]) + more + where


def _offset(node: dict[str, Any]) -> str:
    offset = node.get("clockOffsetMs")
    return f"{offset:+.0f} ms" if isinstance(offset, int | float) else output.MISSING
