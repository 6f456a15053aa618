"""Edits that may turn out to have nothing to write."""

from __future__ import annotations

from collections.abc import Callable

from onthedot.core.editing import Change, Standing


class Unchanged(Exception):
    """Carries out of a transaction that a job is to stay as it is."""


def unless_unchanged(
    decide: Callable[[Standing], Change | None],
) -> Callable[[Standing], Change]:
    def decided(standing: Standing) -> Change:
        change = decide(standing)
        if change is None:
            raise Unchanged
        return change

    return decided
