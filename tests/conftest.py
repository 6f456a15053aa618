"""How the tests are shared out when several processes run them (`-n 2`)."""

from __future__ import annotations

from pathlib import Path

import pytest

CRASHES = Path(__file__).parent / "crash"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file stays together, and so do all crash suites: two of them at once would be fighting for
    the processors that the promised times are about.
    """
    for item in items:
        together = "crash" if CRASHES in item.path.parents else str(item.path)
        item.add_marker(pytest.mark.xdist_group(together))
