"""The checker finds each broken promise in a history that was doctored to break it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.simulation.checker import violations
from tests.simulation.history import Ask, History
from tests.simulation.oracle import SECOND
from tests.simulation.points import play

Doctor = Callable[[History], None]


@pytest.fixture(scope="module")
def sound() -> History:
    """A job of every 1.5 s, for four seconds and a pause, with nothing going wrong."""
    report, _ = play("fire", None)
    return report.history


def test_a_sound_history_is_found_sound(sound: History):
    assert violations(sound) == []


def books(history: History, what: str = "books") -> list[dict[str, Any]]:
    (listed,) = [asked for asked in history.asks if asked.what == what and asked.job_id]
    runs: list[dict[str, Any]] = listed.answer["runs"]
    return runs


def lose_a_run(history: History) -> None:
    run = books(history)[1]["runId"]
    for what in ("books", "books again", "look"):
        books(history, what)[:] = [each for each in books(history, what) if each["runId"] != run]
    history.effects[:] = [effect for effect in history.effects if effect.run_id != run]


def list_a_run_twice(history: History) -> None:
    books(history).append(deepcopy(books(history)[0]))


def record_an_instant_twice(history: History) -> None:
    books(history).append({**books(history)[0], "runId": "another"})


def run_off_the_beat(history: History) -> None:
    another = {**books(history)[0], "runId": "another", "scheduledFor": "2026-05-12T10:00:01.5Z"}
    books(history).append(another)


def run_while_it_is_paused(history: History) -> None:
    last = books(history)[0]
    later = last["scheduledFor"].replace(":0", ":1")
    books(history).append({**last, "runId": "another", "scheduledFor": later})


def miss_what_was_young(history: History) -> None:
    run = books(history)[0]
    run |= {"status": "missed", "attempt": 0, "startedAt": None}
    history.effects[:] = [each for each in history.effects if each.run_id != run["runId"]]


def start_early(history: History) -> None:
    history.effects[0].started = history.effects[0].scheduled_for - 1


def start_what_nobody_knows(history: History) -> None:
    history.effects[0].run_id = "nobody's"


def start_an_attempt_again(history: History) -> None:
    again = deepcopy(history.effects[0])
    again.started_at += 1
    history.effects.insert(1, again)


def believe_an_older_start(history: History) -> None:
    again = deepcopy(history.effects[0])
    again.name, again.started_at = "e99", again.started_at + 1
    history.effects.insert(1, again)


def try_too_often(history: History) -> None:
    books(history)[0]["attempt"] = 3


def change_an_end(history: History) -> None:
    books(history, "books again")[0]["status"] = "failed"


def leave_a_run_behind(history: History) -> None:
    books(history)[0]["status"] = "running"


def start_what_was_cancelled(history: History) -> None:
    effect = history.effects[-1]
    cancelled = Ask("cancel", 0, effect.started_at - 2, "POST", "/v1/runs/x/cancel")
    cancelled.run_id, cancelled.status = effect.run_id, 200
    cancelled.answered = cancelled.answered_at = effect.started_at - 1
    history.asks.append(cancelled)


def start_what_was_deleted(history: History) -> None:
    effect = history.effects[-1]
    deleted = Ask("delete", effect.started, 0, "DELETE", "/v1/jobs/x")
    deleted.job_id, deleted.status = effect.job_id, 204
    deleted.answered_at = effect.started_at - 3 * SECOND
    history.asks.append(deleted)


def fail_at_a_request(history: History) -> None:
    history.asks[0].status = 500


def make_two_of_one_key(history: History) -> None:
    again = deepcopy(next(asked for asked in history.asks if asked.what == "create"))
    again.answer["jobId"] = "job-99"
    history.asks.append(again)


def lose_a_job(history: History) -> None:
    for asked in history.asks:
        if asked.what == "jobs":
            asked.answer["jobs"] = []


def be_late_in_calm_times(history: History) -> None:
    history.calm = True
    history.effects[0].started += 3 * SECOND
    history.effects[0].started_at += 3 * SECOND


def lose_what_could_be_tried_again(history: History) -> None:
    for what in ("books", "books again"):
        books(history, what)[0]["status"] = "lost"


def promise_one_start(history: History) -> None:
    for asked in history.asks:
        for job in [asked.answer] if asked.what == "create" else []:
            job["guarantee"] = "at_most_once"


def lose_what_may_start_once(history: History) -> None:
    promise_one_start(history)
    lose_what_could_be_tried_again(history)


def start_twice_what_may_start_once(history: History) -> None:
    promise_one_start(history)
    start_an_attempt_again(history)


def do_not_drain(history: History) -> None:
    history.settled = False


def lose_a_node(history: History) -> None:
    history.processes = 3


@pytest.mark.parametrize(
    ("doctor", "sign"),
    [
        (lose_a_run, "lost: job-1"),
        (list_a_run_twice, "is listed 2 times"),
        (record_an_instant_twice, "has 2 records"),
        (run_off_the_beat, "phantom: another"),
        (run_while_it_is_paused, "phantom: another"),
        (miss_what_was_young, "missed too soon"),
        (start_early, "early: "),
        (start_what_nobody_knows, "phantom: nobody's"),
        (start_an_attempt_again, "repeated: attempt 1"),
        (believe_an_older_start, "stale: "),
        (try_too_often, "too many attempts"),
        (change_an_end, "not final: "),
        (leave_a_run_behind, "not over: "),
        (start_what_was_cancelled, "cancelled, and started"),
        (start_what_was_deleted, "deleted, and started"),
        (fail_at_a_request, "answered 500"),
        (make_two_of_one_key, "doubled: key-director.1"),
        (lose_a_job, "which nobody deleted"),
        (be_late_in_calm_times, "late: "),
        (lose_what_could_be_tried_again, "could have been tried again"),
        (lose_what_may_start_once, "nothing went wrong"),
        (start_twice_what_may_start_once, "at most once was promised"),
        (do_not_drain, "not drained"),
        (lose_a_node, "idle: 2 nodes"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_broken_promise_is_found(sound: History, doctor: Doctor, sign: str):
    history = deepcopy(sound)

    doctor(history)

    assert any(sign in found for found in violations(history)), violations(history)
