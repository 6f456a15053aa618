"""Statements that two stores share, as each of them reads them."""

from __future__ import annotations

import pytest

from onthedot.store.postgres import statements as postgres
from onthedot.store.shared.steps import rows
from onthedot.store.sqlite import statements as sqlite
from onthedot.store.statements import numbered


def test_values_are_numbered_in_the_order_in_which_they_first_occur():
    text = "select :b, x::bigint from t where a = :a and y[1:n] = :b -- why: no name"

    assert numbered(text) == (
        "select $1, x::bigint from t where a = $2 and y[1:n] = $1 -- why: no name",
        ("b", "a"),
    )


@pytest.mark.parametrize(("store", "ours"), [(sqlite, False), (postgres, True)])
def test_a_line_for_one_store_is_not_seen_by_another(store, ours):
    assert ("for no key update" in store.SQL["calendars.lock"]) is ours


def test_a_verb_yields_statements_and_is_sent_their_rows():
    steps = rows("calendars.behind", limit=3)

    assert next(steps) == ("calendars.behind", {"limit": 3})
    with pytest.raises(StopIteration) as end:
        steps.send([(1, 2)])
    assert end.value.value == [(1, 2)]
