"""The judge of clusters must bite: a sound history passes, and each broken promise is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.integration.cluster_judge import (
    SECOND,
    Cancel,
    Change,
    Edit,
    History,
    Job,
    Kind,
    Record,
    Seen,
    Trigger,
    assert_sound,
    violations,
)

STEADY, GONE = "job-steady", "job-gone"
MS = 1_000
BLUE = {"blue only": frozenset({"blue"})}


def change(kind: Kind, second: float, every: int = 1) -> Change:
    """Sent 10 ms before it is made, and answered 10 ms after."""
    at = round(second * SECOND)
    return Change(kind=kind, sent=at - 10 * MS, at=at, answered=at + 10 * MS, every=every * SECOND)


def edit(second: float, value: str = "") -> Edit:
    at = round(second * SECOND)
    return Edit(value=value, sent=at - 10 * MS, answered=at + 10 * MS)


def run(job: str, second: float, **fields: Any) -> Record:
    due = round(second * SECOND)
    made = Record(
        run_id=f"{job}@{second:g}",
        job_id=job,
        status="succeeded",
        due=due,
        started=due + MS,
        finished=due + 9 * MS,
        node="all",
    )
    return replace(made, **fields)


def skipped(first: float, until: float, count: int) -> Record:
    until_us = round(until * SECOND)
    nobody = {"started": None, "finished": None, "node": None}
    return run(STEADY, first, status="skipped", until=until_us, count=count, **nobody)


def call(record: Record, edition: int | None = 0, **fields: Any) -> Seen:
    seen = Seen(
        at=record.due + 2 * MS,
        run_id=record.run_id,
        job_id=record.job_id,
        due=record.due,
        edition=edition,
    )
    return replace(seen, **fields)


def a_history() -> History:
    """A job made at 0 that was paused at 3.5 and resumed at 6.5 and whose rhythm changed at 9.25,
    with an edit at 2.2 and a queue of its own since 5; another one that was deleted at 4.3; two
    triggers, of which one was cancelled before and one after its start.
    """
    rhythm = [1, 2, 3, 4, 7, 8, 9, 11.25, 13.25]  # 4 was claimed already when the pause came
    runs = [run(STEADY, second) for second in rhythm]
    pauses = [skipped(5, 6, 2)]
    gone = [run(GONE, second) for second in (1, 2, 3, 4)]
    early = run(STEADY, 1.6, run_id="early", status="cancelled", started=None, node=None)
    late = run(STEADY, 2.6, run_id="late", status="cancelled", finished=3_000 * MS)
    steady = Job(
        STEADY,
        [
            change("create", 0),
            change("pause", 3.5),
            change("resume", 6.5),
            change("every", 9.25, every=2),
            change("pause", 14.5, every=2),
        ],
        [edit(0), edit(2.2)],
        [edit(0, "red"), edit(5, "blue")],
    )
    deleted = Job(GONE, [change("create", 0), change("delete", 4.3)], [edit(0)], [edit(0, "red")])
    calls = [call(each, int(each.due > 2.2 * SECOND)) for each in runs]
    return History(
        jobs={STEADY: steady, GONE: deleted},
        records=[*runs, *pauses, early, late],
        seen=[*calls, *(call(each) for each in gone), call(late, None, token="t-late")],
        by_id={each.run_id: each for each in gone},
        triggers=[
            Trigger(run_id="early", job_id=STEADY, token="t-early", sent=0, answered=MS),
            Trigger(run_id="late", job_id=STEADY, token="t-late", sent=0, answered=MS),
        ],
        cancels=[
            Cancel(run_id="early", answered=1_500 * MS, code=200),
            Cancel(run_id="late", answered=2_700 * MS, code=202),
        ],
        subscriptions=BLUE,
    )


def test_a_sound_history_passes_the_judge():
    assert_sound(a_history())


Spoil = Callable[[History], History]


def without(run_id: str) -> Spoil:
    return lambda history: replace(
        history,
        records=[each for each in history.records if each.run_id != run_id],
        seen=[each for each in history.seen if each.run_id != run_id],
    )


def with_run(*runs: Record, edition: int | None = 1) -> Spoil:
    return lambda history: replace(
        history,
        records=[*history.records, *(each for each in runs if each.job_id == STEADY)],
        by_id={**history.by_id, **{each.run_id: each for each in runs if each.job_id == GONE}},
        seen=[*history.seen, *(call(each, edition) for each in runs)],
    )


def with_record(which: str, /, **fields: Any) -> Spoil:
    return lambda history: replace(
        history,
        records=[
            replace(each, **fields) if each.run_id == which else each for each in history.records
        ],
    )


def with_call(which: str, /, **fields: Any) -> Spoil:
    return lambda history: replace(
        history,
        seen=[replace(each, **fields) if each.run_id == which else each for each in history.seen],
    )


def with_cancel(which: str, /, **fields: Any) -> Spoil:
    return lambda history: replace(
        history,
        cancels=[
            replace(each, **fields) if each.run_id == which else each for each in history.cancels
        ],
    )


BROKEN: dict[str, tuple[Spoil, str]] = {
    "an occurrence is lost": (without(f"{STEADY}@8"), "unexplained"),
    "the first one is lost": (without(f"{STEADY}@1"), "unexplained"),
    "one of a deleted job is lost": (without(f"{GONE}@2"), "unexplained"),
    "a pause is not recorded": (without(f"{STEADY}@5"), "unexplained"),
    "a pause counts too few": (with_record(f"{STEADY}@5", count=1), "unexplained"),
    "an instant is run and skipped": (with_run(run(STEADY, 5, run_id="again")), "doubled"),
    "an instant is run twice": (with_run(run(STEADY, 8, run_id="again")), "doubled"),
    "a pause does not hold": (with_run(run(STEADY, 15.25), run(STEADY, 17.25)), "unexplained"),
    "the old rhythm goes on": (with_run(run(STEADY, 11)), "unexplained"),
    "the new rhythm begins too soon": (with_run(run(STEADY, 9.5)), "unexplained"),
    "a run is early": (with_call(f"{STEADY}@2", at=2 * SECOND - 1), "early"),
    "a start is early": (with_record(f"{STEADY}@2", started=2 * SECOND - 1), "early"),
    "a callback is sent twice": (
        lambda history: replace(history, seen=[*history.seen, history.seen[0]]),
        "was sent 2 times",
    ),
    "a run is listed twice": (
        lambda history: replace(history, records=[*history.records, history.records[0]]),
        "is listed 2 times",
    ),
    "what ran was not seen": (
        lambda history: replace(history, seen=history.seen[1:]),
        "the receiver never saw it",
    ),
    "what was seen is not there": (with_call(f"{GONE}@3", run_id="ghost"), "phantom"),
    "a run has not ended well": (with_record(f"{STEADY}@2", status="lost"), "wrong end"),
    "a trigger is lost": (without("early"), "lost: the acknowledged trigger"),
    "a trigger makes two runs": (
        lambda history: replace(
            history, seen=[*history.seen, call(run(GONE, 3), None, token="t-late", attempt=2)]
        ),
        "doubled: trigger",
    ),
    "a trigger ends although nobody asked": (
        lambda history: replace(history, cancels=[]),
        "cancelled by nobody",
    ),
    "a cancelled run starts": (
        lambda history: replace(
            history, seen=[*history.seen, call(run(STEADY, 1.6, run_id="early"), None)]
        ),
        "not cancelled",
    ),
    "a cancelled run has succeeded": (
        with_record("early", status="succeeded"),
        "not cancelled: early is succeeded",
    ),
    "a run goes on after it was told to end": (
        with_record("late", finished=6 * SECOND),
        "not cancelled in time",
    ),
    "a cancel fails": (with_cancel("late", code=503), "was answered 503"),
    "an old definition is sent": (with_call(f"{STEADY}@4", edition=0), "edition 0"),
    "a definition is sent before it was made": (with_call(f"{STEADY}@2", edition=1), "edition 1"),
    "a deleted job starts a run": (
        with_call(f"{GONE}@4", at=5_400 * MS),
        "after its delete",
    ),
    "a deleted job has an instant more": (
        with_run(run(GONE, 6), edition=0),
        "unexplained",
    ),
    "a worker takes a queue that is not its own": (
        with_record(f"{STEADY}@3", node="blue only"),
        "node blue only had",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_each_broken_promise_is_found(what):
    spoil, said = BROKEN[what]

    found = violations(spoil(a_history()))

    assert any(said in line for line in found), found


def test_a_worker_may_take_what_its_queue_holds_since_an_edit():
    history = with_record(f"{STEADY}@8", node="blue only")(a_history())

    assert_sound(history)


def test_a_waiting_run_moves_with_its_job_to_another_queue():
    taken = with_record(f"{STEADY}@4", node="blue only", started=5_001 * MS)

    assert_sound(taken(a_history()))


def test_a_pause_may_begin_at_once_as_well():
    history = without(f"{STEADY}@4")(without(f"{STEADY}@5")(a_history()))

    assert_sound(replace(history, records=[*history.records, skipped(4, 6, 3)]))
