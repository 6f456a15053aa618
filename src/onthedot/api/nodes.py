"""The route of nodes: who is there and who was."""

from __future__ import annotations

from onthedot.api.http import Request, Response
from onthedot.api.operation import Operation
from onthedot.api.params import CURSOR, LIMIT, cursor_of, cursor_text, limit_of
from onthedot.api.responses import answer
from onthedot.api.routing import get
from onthedot.api.services import Services
from onthedot.core.instants import MILLISECOND, format_instant
from onthedot.core.views import NodeView
from onthedot.wire import LoadOut, NodeList, NodeOut


@get(
    "/nodes",
    Operation(
        tag="Server",
        summary="List nodes, newest first",
        about="Every server process that is remembered, the dead ones too; they are "
        "forgotten with the history of their time.",
        parameters=(
            LIMIT,
            CURSOR,
        ),
        answers={200: ("One page.", NodeList)},
        problems=(401, 422, 503),
    ),
)
async def list_nodes(request: Request, services: Services) -> Response:
    limit, before = limit_of(request), cursor_of(request, "nodes")
    nodes = [
        node for node in await services.store.nodes.all() if before is None or node.number < before
    ]
    more = cursor_text("nodes", nodes[limit - 1].number) if len(nodes) > limit else None
    return answer(NodeList(nodes=[node_out(node) for node in nodes[:limit]], next_cursor=more))


def node_out(node: NodeView) -> NodeOut:
    """What the dead last said about their load is no longer so: it is not shown."""
    return NodeOut(
        node_id=str(node.number),
        host=node.facts.host,
        pid=node.facts.pid,
        roles=list(node.facts.roles),
        slots=node.facts.slots,
        queues=list(node.facts.queues),
        functions=list(node.facts.functions),
        runners=node.facts.runners,
        version=node.facts.version,
        joined_at=format_instant(node.joined_at),
        beat_at=format_instant(node.beat_at),
        alive=not node.dead,
        load=None if node.dead else LoadOut(running=node.load.running, held=node.load.held),
        clock_offset_ms=None if node.dead else node.load.offset_us / MILLISECOND,
    )
