"""The checker finds each broken promise about failed runs in a history doctored to break it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.checker import violations
from tests.simulation.history import History
from tests.simulation.points import play

Doctor = Callable[[History], None]


@pytest.fixture(scope="module")
def dealt_with() -> History:
    """Two runs failed: one was dismissed, the other redriven, and that one dismissed, too."""
    report, _ = play("dismiss_what_failed", None)
    return report.history


@pytest.fixture(scope="module")
def redriven() -> History:
    """A run failed and was redriven; its successor failed, too, and is a letter."""
    report, _ = play("redrive_what_failed", None)
    return report.history


@pytest.fixture(scope="module")
def told() -> History:
    """Two runs failed, and whoever asked was told."""
    report, _ = play("tell_who_asked", None)
    return report.history


@pytest.fixture(scope="module")
def quarantined() -> History:
    """A function killed every runner that it was called in; another one was never in its way."""
    report, _ = play("quarantine", None)
    return report.history


@pytest.fixture(scope="module")
def suspects() -> History:
    """A runner with two calls died, and each was called again, alone."""
    report, _ = play("lose_a_runner", None)
    return report.history


def last_letters(history: History) -> list[dict[str, Any]]:
    [page] = [asked for asked in history.asks if asked.what == "last letters"]
    letters: list[dict[str, Any]] = page.answer["deadLetters"]
    return letters


def records(history: History, of: str) -> list[dict[str, Any]]:
    """Every sight of the runs that are redrives, or are none."""
    pages = [asked.answer["runs"] for asked in history.asks if "runs" in (asked.answer or {})]
    seen = [run for page in pages for run in page if "status" in run]
    return [run for run in seen if (run["redriveOf"] is not None) == (of == "redrives")]


def lose_a_letter(history: History) -> None:
    last_letters(history).clear()


def keep_a_letter_twice(history: History) -> None:
    last_letters(history).append(deepcopy(last_letters(history)[0]))


def keep_what_was_redriven(history: History) -> None:
    old = records(history, "redrives")[0]["redriveOf"]
    last_letters(history).append({**last_letters(history)[0], "runId": old})


def redrive_twice(history: History) -> None:
    for asked in history.asks:
        if asked.what == "books":
            again = [run for run in asked.answer["runs"] if run["redriveOf"]]
            asked.answer["runs"] += [{**run, "runId": "another"} for run in again]


def forget_whose_redrive_it_is(history: History) -> None:
    for run in records(history, "redrives"):
        run["redriveOf"] = None


def redrive_what_nobody_asked_for(history: History) -> None:
    history.asks[:] = [asked for asked in history.asks if asked.what != "redrive"]


def dismiss_what_was_redriven(history: History) -> None:
    [dismissed] = [asked for asked in history.asks if asked.what == "dismiss"]
    dismissed.run_id = records(history, "redrives")[0]["redriveOf"]


def tell_nobody(history: History) -> None:
    history.told.clear()


def tell_of_a_success(history: History) -> None:
    run_id = history.told[0].run_id
    for run in records(history, "others"):
        if run["runId"] == run_id:
            run["status"] = "succeeded"


def tell_a_lie(history: History) -> None:
    history.told[0].said["attempt"] = 2


def tell_twice(history: History) -> None:
    accepted = next(each for each in history.told if each.accepted)
    again = deepcopy(accepted)
    again.at += 1
    history.told.append(again)


def tell_under_another_key(history: History) -> None:
    tell_twice(history)
    history.told[-1].key = "another"


def tell_unsigned(history: History) -> None:
    history.told[0].genuine = False


def blame_who_was_not_alone(history: History) -> None:
    died = [effect for effect in history.effects if effect.ended_at in _deaths(history)]
    for effect in died[:2]:
        history.effects.append(replace(effect, name="neighbour", run_id=history.effects[1].run_id))


def call_a_killer_again(history: History) -> None:
    last = [effect for effect in history.effects if effect.ended_at in _deaths(history)][-1]
    again = replace(last, runner="another", started_at=last.started_at + 1)
    history.effects.append(again)
    assert last.ended_at is not None
    history.runner_deaths["another"] = last.ended_at


def call_a_suspect_among_others(history: History) -> None:
    *_, first, second = history.effects
    second.runner = first.runner


def call_again_without_a_death(history: History) -> None:
    history.runner_deaths.clear()


def _deaths(history: History) -> set[int | None]:
    return set(history.runner_deaths.values())


@pytest.mark.parametrize(
    ("scene", "doctor", "sign"),
    [
        ("redriven", lose_a_letter, "is no letter, and nobody dealt with it"),
        ("redriven", keep_a_letter_twice, "a letter 2 times"),
        ("redriven", keep_what_was_redriven, "dealt with, and still a letter"),
        ("redriven", redrive_twice, "redriven twice"),
        ("redriven", forget_whose_redrive_it_is, "which does not name it"),
        ("redriven", redrive_what_nobody_asked_for, "which nobody asked for"),
        ("dealt_with", dismiss_what_was_redriven, "dismissed and redriven"),
        ("quarantined", blame_who_was_not_alone, "though it was alone in"),
        ("quarantined", call_a_killer_again, "not stopped: "),
        ("suspects", call_a_suspect_among_others, "a suspect among others"),
        ("suspects", call_again_without_a_death, "repeated: attempt 1"),
        ("told", tell_nobody, "nobody was told"),
        ("told", tell_of_a_success, "which is succeeded"),
        ("told", tell_a_lie, "told otherwise than it was"),
        ("told", tell_twice, "told twice"),
        ("told", tell_under_another_key, "told differently"),
        ("told", tell_unsigned, "without a signature that holds"),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_a_broken_promise_is_found(
    request: pytest.FixtureRequest, scene: str, doctor: Doctor, sign: str
):
    sound: History = request.getfixturevalue(scene)
    history = deepcopy(sound)

    doctor(history)

    assert violations(sound) == []
    assert any(sign in found for found in violations(history)), violations(history)
