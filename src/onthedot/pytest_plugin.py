"""Found by pytest where onthedot is installed. Nothing of it is loaded until a test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from onthedot.sdk.app import App
    from onthedot.testing import BlockingNode


@pytest.fixture
def onthedot_node() -> Iterator[Callable[..., BlockingNode]]:
    """`onthedot_node(app)` gives a node in memory for a `def` test, closed when the test is over.

    An `async def` test writes `async with onthedot.testing.node(app) as node:`.
    """
    with ExitStack() as stack:

        def open_node(app: App, **options: Any) -> BlockingNode:
            from onthedot.testing import node

            return stack.enter_context(node(app, **options))

        yield open_node
