"""A minute of everything at once, on real processes: no promise is broken. The long form is
`python3 dev.py chaos`.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from tests.crash.chaos import Crew, on_postgres
from tests.crash.form import CLUSTER_TIMEOUT_S, SEED
from tests.crash.planning import DATABASE, ON_POSTGRES, ON_SQLITE, PROCESS, plan

SECONDS = 60.0
STRIKES_MIN = 5
# Every runner is a process to start, and starts again with its node.
SMALL = Crew(functions=5, runners=1)


@pytest.mark.timeout(CLUSTER_TIMEOUT_S)
def test_no_promise_is_broken_whatever_befalls_the_cluster(tmp_path):
    print(f"ONTHEDOT_CRASH_SEED={SEED}")

    report = on_postgres(tmp_path, SEED, SECONDS, print, crew=SMALL)

    print(report.summary())
    assert not report.wrong, "\n".join(report.wrong[:30])
    assert report.faults.strikes() >= STRIKES_MIN
    assert report.faults.tally()["kill runner"] > 0
    assert any(redrive.made for redrive in report.history.redrives)
    assert report.stale > 0, "no write of a node that was given up was refused: it shows nothing"


# The plan itself


def test_a_seed_plans_the_same_faults_again():
    assert plan(ON_POSTGRES, 3, 600, seed=7) == plan(ON_POSTGRES, 3, 600, seed=7)
    assert plan(ON_POSTGRES, 3, 600, seed=7) != plan(ON_POSTGRES, 3, 600, seed=8)


@pytest.mark.parametrize("seed", range(20))
def test_ten_minutes_have_a_hundred_kills_and_stops_and_every_kind_of_fault(seed):
    faults = plan(ON_POSTGRES, 3, 600, seed)

    tally = Counter(fault.kind for fault in faults)
    assert sum(tally[name] for name, kind in ON_POSTGRES.items() if kind.strikes) >= 100
    assert len(tally) >= len(ON_POSTGRES) - 2
    assert tally["freeze"] + tally["sever"] >= 10


@pytest.mark.parametrize("seed", range(20))
def test_while_a_node_is_frozen_another_and_the_database_are_left_in_peace(seed):
    faults = plan(ON_POSTGRES, 3, 600, seed, first=["freeze"])

    assert (faults[0].kind, faults[0].node) == ("freeze", 0)
    for freeze in faults:
        if freeze.kind != "freeze":
            continue
        end = freeze.at_s + freeze.lasts_s
        during = [each for each in faults if freeze.at_s < each.at_s < end]
        witness = (freeze.node + 1) % 3
        assert not [each for each in during if ON_POSTGRES[each.kind].place == DATABASE]
        assert not [
            each
            for each in during
            if each.node == witness and ON_POSTGRES[each.kind].place != DATABASE
        ]


@pytest.mark.parametrize("seed", range(20))
def test_what_a_fault_befell_is_left_alone_until_it_has_recovered(seed):
    faults = plan(ON_SQLITE, 1, 600, seed)

    for place in (PROCESS, DATABASE):
        here = [each for each in faults if ON_SQLITE[each.kind].place == place]
        for one, next_one in pairwise(here):
            rest_s = ON_SQLITE[one.kind].rest_s
            assert next_one.at_s >= one.at_s + one.lasts_s + rest_s
