"""The quick tier leaves nothing out for good."""

from __future__ import annotations

import pytest

from tests import tiers


def test_every_test_that_the_quick_tier_leaves_out_exists():
    assert tiers.misnamed() == []


@pytest.mark.parametrize("parts", [1, 3, 10])
def test_over_some_days_the_quick_tier_takes_all_of_a_list(monkeypatch, parts):
    monkeypatch.setattr(tiers, "QUICK", True)
    taken: list[int] = []
    for day in range(parts):
        monkeypatch.setattr(tiers, "DAY", day)
        taken += tiers.share(range(100), parts)

    assert sorted(taken) == list(range(100))


def test_otherwise_all_of_a_list_is_taken(monkeypatch):
    monkeypatch.setattr(tiers, "QUICK", False)

    assert tiers.share("abc", 10) == "abc"
