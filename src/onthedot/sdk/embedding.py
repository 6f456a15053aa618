"""What `async with app.node(...) as node:` gives."""

from __future__ import annotations

from dataclasses import dataclass

from onthedot.sdk.client import Client


@dataclass(frozen=True, slots=True)
class Embedded:
    """A node that has joined, with its own `number` among the nodes. `url` is where its API
    answers, None unless it has the role; `client` is that API without a socket.
    """

    number: int
    url: str | None
    client: Client
