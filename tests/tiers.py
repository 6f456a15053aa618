"""How much of the tests is run.

`python3 dev.py test` runs the quick tier: every level, each in a thinned form. `python3 dev.py
proof` runs all of it, and so does pytest when it is called with paths. What the quick tier takes
of a long list changes with the day, so that all of it has its turn; a failure names what to repeat.

TEST_TIER=quick   the quick tier
TEST_DAY=739940   what the quick tier took on another day
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import pytest

T = TypeVar("T")

TESTS: Final = Path(__file__).parent
QUICK: Final = os.environ.get("TEST_TIER") == "quick"
DAY: Final = int(os.environ.get("TEST_DAY") or datetime.now(UTC).toordinal())

PROOF_ONLY: Final = (
    *("crash/test_chaos.py", "crash/test_cluster_database.py", "crash/test_cluster_freeze.py"),
    *("crash/test_drain.py", "crash/test_freeze.py", "crash/test_full_disk.py"),
    "crash/test_guarantees.py",
    *("hostile/test_bursts.py", "hostile/test_clock_jumps.py", "hostile/test_replaced_file.py"),
    *("hostile/test_rollback.py", "hostile/test_silent_host.py", "hostile/test_stuck_functions.py"),
    *("hostile/test_standard_streams.py", "hostile/test_writer.py", "hostile/test_listener.py"),
    *("integration/test_cli_bench.py", "integration/test_cluster_changes.py"),
    *("integration/test_cluster_sharing.py", "integration/test_poolers.py"),
    *("integration/test_cli_nodes.py", "integration/test_nasty_functions.py"),
    *("integration/test_lines.py", "integration/test_sightings.py", "integration/test_peers.py"),
    *("integration/test_server_catch_up.py", "integration/test_enqueue_within.py"),
    "races/test_removals.py",
    "simulation/test_determinism.py",
)
"""Files, and single tests, that take long and are close to what another one shows in less."""


def share(all_of_it: Sequence[T], parts: int) -> Sequence[T]:
    """In the quick tier today's part of a list, otherwise all of it."""
    return all_of_it[DAY % parts :: parts] if QUICK else all_of_it


def is_for_proof_only(item: pytest.Item) -> bool:
    place = item.nodeid.partition("[")[0].removeprefix("tests/")
    return place in PROOF_ONLY or place.partition("::")[0] in PROOF_ONLY


def misnamed() -> list[str]:
    """Entries of the list above for which there is no test."""
    return [each for each in PROOF_ONLY if not _exists(*each.partition("::")[::2])]


def _exists(file: str, test: str) -> bool:
    path = TESTS / file
    return path.exists() and (not test or f"def {test}(" in path.read_text())
