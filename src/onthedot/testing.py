"""The testing kit, under its public name: `from onthedot.testing import node`."""

from onthedot.sdk.testing import AsyncNode, BlockingNode, Enqueued, Ran, node

__all__ = ["AsyncNode", "BlockingNode", "Enqueued", "Ran", "node"]
