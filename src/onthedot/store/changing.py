"""Edits that may turn out to have nothing to write."""

from __future__ import annotations

from collections.abc import Callable

from onthedot.core.editing import Change, CurrentJob


class Unchanged(Exception):
    """Carries out of a transaction that a job is to stay as it is."""


def unless_unchanged(
    decide: Callable[[CurrentJob], Change | None],
) -> Callable[[CurrentJob], Change]:
    def decided(current: CurrentJob) -> Change:
        change = decide(current)
        if change is None:
            raise Unchanged
        return change

    return decided
