"""The checker finds each broken promise about exactly-once runs in a doctored history."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.simulation.checker import violations
from tests.simulation.history import History, Kept
from tests.simulation.points import play

Doctor = Callable[[History], None]


@pytest.fixture(scope="module")
def written() -> History:
    """Three runs have written what they were to write, one of them at its second attempt."""
    report, _ = play("write_exactly_once", None)
    return report.history


def records(history: History) -> list[dict[str, Any]]:
    pages = [asked.answer["runs"] for asked in history.asks if "runs" in (asked.answer or {})]
    return [run for page in pages for run in page]


def retried(history: History) -> str:
    """The run that failed first."""
    return next(effect.run_id for effect in history.effects if effect.attempt == 2)


def keep_twice(history: History) -> None:
    history.kept.append(history.kept[0])


def keep_nothing(history: History) -> None:
    del history.kept[0]


def keep_what_failed(history: History) -> None:
    for run in records(history):
        if run["runId"] == history.kept[0].run_id:
            run["status"] = "cancelled"


def keep_of_nobody(history: History) -> None:
    history.kept.append(Kept("5151515151-1-1", "e1"))


def keep_by_the_first_attempt(history: History) -> None:
    run_id = retried(history)
    first = next(effect.name for effect in history.effects if effect.run_id == run_id)
    [place] = [n for n, each in enumerate(history.kept) if each.run_id == run_id]
    history.kept[place] = Kept(run_id, first)


def keep_though_it_failed(history: History) -> None:
    next(each for each in history.effects if each.name == history.kept[0].effect).end = "failed"


@pytest.mark.parametrize(
    ("doctor", "sign"),
    [
        (keep_twice, "kept 2 times"),
        (keep_nothing, "succeeded, and nothing is kept"),
        (keep_what_failed, "kept, and not succeeded"),
        (keep_though_it_failed, "though its function failed"),
        (keep_of_nobody, "kept, and not succeeded"),
        (keep_by_the_first_attempt, "kept by another"),
    ],
)
def test_a_broken_promise_is_found(written: History, doctor: Doctor, sign: str):
    history = deepcopy(written)

    doctor(history)

    assert violations(written) == []
    assert any(sign in fault for fault in violations(history)), violations(history)
