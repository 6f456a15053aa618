"""The promise of the house: whatever happens, each due instant is in the ledger exactly once."""

from __future__ import annotations

from random import Random

import pytest

from onthedot.core.states import Status
from tests.support.accounts import Story, found
from tests.support.builders import a_node

JOBS = 20  # more than shards, so that some share a horizon
STEPS = 80


@pytest.mark.parametrize("seed", range(10))
async def test_every_occurrence_is_accounted_for_exactly_once_whatever_happens(store, clock, seed):
    story = Story(store, clock, await a_node(store, clock), Random(seed))
    await story.begin(JOBS)

    for _ in range(STEPS):
        await story.step()
    await story.end()

    for number, account in story.accounts.items():
        expected = {due: (version, paused) for due, version, paused in account.expected()}
        views = await found(store, clock, number, account)
        assert sorted(view.due for view in views) == sorted(expected)
        assert {view.due: view.version for view in views} == {
            due: version for due, (version, _) in expected.items()
        }
        for view in views:
            paused = expected[view.due][1]
            assert (view.status is Status.SKIPPED and view.reason == "paused") == paused, view
