"""The power check: a simulation that finds no planted bug says nothing when it finds none at all.

All of them, with the seeds that each one needs: python3 dev.py simulate --planted
"""

from __future__ import annotations

import pytest

from tests.simulation.bugs import Bug
from tests.simulation.planted import BUGS
from tests.simulation.planting import broken, hunt, misplaced
from tests.tiers import QUICK, share

SEEDS_MAX = 600
"""The slowest takes some two hundred; after most changes of the product another number."""

HUNTED = share([bug for bug in BUGS if bug.ci], 5) if QUICK else BUGS


@pytest.mark.alone
@pytest.mark.timeout(900)
@pytest.mark.parametrize("bug", HUNTED, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found(bug: Bug):
    found = hunt(bug, seeds=SEEDS_MAX)

    assert found.tries is not None, f"{bug.name} was not found in {SEEDS_MAX} seeds {found.sign}"


def test_every_bug_has_its_place():
    faults = [fault for bug in BUGS for fault in (*misplaced(bug), *broken(bug))]

    assert not faults, "\n".join(["plant these again:", *faults])


def test_there_are_enough_bugs_and_each_has_a_name_of_its_own():
    assert len(BUGS) >= 30
    assert len({bug.name for bug in BUGS}) == len(BUGS)
    assert sum(bug.ci for bug in BUGS) == 10
