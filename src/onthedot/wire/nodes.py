"""A node on the wire: who is there, what it does, and how it is doing."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from onthedot.wire.fields import InstantText


class LoadOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """What a node had in hand at its last heartbeat."""

    running: Annotated[int, Meta(description="Attempts under way; each takes a slot.")]
    held: Annotated[int, Meta(description="Claimed runs that wait in its memory to be started.")]


class NodeOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """A server process from its start to its end. After a restart it is another node."""

    node_id: Annotated[str, Meta(examples=["7"])]
    host: str
    pid: int
    roles: Annotated[list[str], Meta(examples=[["scheduler", "worker"]])]
    slots: Annotated[int, Meta(description="How many callbacks it runs at a time, as a worker.")]
    queues: Annotated[
        list[str], Meta(description="From which it takes runs, as a worker; none: from all.")
    ]
    functions: Annotated[list[str], Meta(description="The Python functions that it has.")]
    runners: Annotated[int, Meta(description="The processes in which it calls them.")]
    version: str
    joined_at: InstantText
    beat_at: Annotated[InstantText, Meta(description="Its last heartbeat, every 3 seconds.")]
    alive: Annotated[bool, Meta(description="False for good once it has left or been given up.")]
    load: Annotated[LoadOut | None, Meta(description="Null when it is no longer alive.")]
    clock_offset_ms: Annotated[
        float | None,
        Meta(description="How far the database's clock is ahead of its own; null when not alive."),
    ]


class NodeList(Struct, kw_only=True, frozen=True, rename="camel"):
    """Newest first. `nextCursor` is null on the last page."""

    nodes: list[NodeOut]
    next_cursor: str | None
