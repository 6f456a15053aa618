"""How the tests are shared out when several processes run them (`-n 2`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiers import DAY, QUICK, is_for_proof_only

CRASHES = Path(__file__).parent / "crash"
HOSTILE = Path(__file__).parent / "hostile"
TIMED = ("test_cluster_freeze", "test_cluster_kill", "test_drain", "test_freeze", "test_kill")


def pytest_report_header() -> str:
    replayed = f"repeat it with TEST_TIER=quick TEST_DAY={DAY}"
    return f"tier: quick, day {DAY} ({replayed})" if QUICK else "tier: all tests"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file stays together unless its tests are `alone`, and so do the crash suites: two of them
    at once would fight for the processors. Those that measure how soon the work goes on come last,
    when most others are over.
    """
    if QUICK:
        left_out = [item for item in items if is_for_proof_only(item)]
        items[:] = [item for item in items if not is_for_proof_only(item)]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=_place)  # and otherwise the order stays
    for item in items:
        together = "crash" if _place(item) != OTHERS else str(item.path)
        if item.get_closest_marker("alone"):
            together = item.nodeid
        item.add_marker(pytest.mark.xdist_group(f"{together} {_place(item)}"))


FIRST, OTHERS, LAST = range(3)


def _place(item: pytest.Item) -> int:
    if HOSTILE in item.path.parents:  # they measure lateness, too
        return FIRST
    if CRASHES not in item.path.parents:
        return OTHERS
    return LAST if item.path.stem in TIMED else FIRST
