"""The checker bites: each hand-made history with one fault in it is reported as that fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.crash.checker import violations
from tests.crash.history import (
    SECOND,
    Ask,
    Cancel,
    Dismissal,
    Edit,
    History,
    Job,
    Pause,
    Record,
    Redrive,
    Seen,
)

START = 1_800_000_000 * SECOND
BEAT = Job(
    job_id="beat",
    retries=1,
    status="succeeded",
    attempts=1,
    every=SECOND,
    created=START,
    pause_sent=START + 3 * SECOND,
    pause_answered=START + 3 * SECOND + 10,
)
ASKED = Job(job_id="asked", retries=1, status="succeeded", attempts=1)
ONCE = Job(job_id="once", retries=0, status="succeeded", attempts=1, runs=1)
FAILS = Job(job_id="fails", retries=0, status="failed", attempts=1)


def ran(job: Job, run_id: str, due: int) -> Record:
    return Record(
        run_id=run_id,
        job_id=job.job_id,
        status="succeeded",
        scheduled_for=due,
        started=due + 100,
        finished=due + 900,
        attempt=1,
        rescues=0,
    )


def sent(record: Record, token: str | None = None) -> Seen:
    return Seen(
        at=record.scheduled_for + 500,
        run_id=record.run_id,
        job_id=record.job_id,
        attempt=record.attempt,
        scheduled_for=record.scheduled_for,
        key=record.run_id,
        token=token,
    )


def sound() -> History:
    beats = [ran(BEAT, f"beat-{n}", START + n * SECOND) for n in (1, 2, 3)]
    rescued = replace(ran(ASKED, "asked-1", START + 5), rescues=1, finished=START + 3 * SECOND)
    once = ran(ONCE, "once-1", START + 7)
    records = [*beats, rescued, once]
    seen = [*map(sent, beats), sent(rescued, "t1"), sent(once, "t2")]
    again_after_the_crash = replace(sent(rescued, "t1"), at=START + 2 * SECOND)
    return History(
        jobs={job.job_id: job for job in (BEAT, ASKED, ONCE)},
        records=records,
        records_again=list(records),
        seen=[*seen, again_after_the_crash],
        breaks=[START + 3 * SECOND // 2],
        asks=[
            Ask(what="trigger", token="t1", made="asked-1"),
            Ask(what="one-off", token="t2", made="once"),
            Ask(what="trigger", token="t3"),
        ],
        jobs_named={"t2": ["once"]},
    )


def with_records(history: History, *records: Record) -> History:
    return replace(history, records=records, records_again=records)


def changed(history: History, run_id: str, **how: object) -> History:
    """The same history, with another thing said about one run."""
    swapped = [replace(r, **how) if r.run_id == run_id else r for r in history.records]  # type: ignore[arg-type]
    return with_records(history, *swapped)


def arriving(history: History, run_id: str, **how: object) -> History:
    swapped = [replace(s, **how) if s.run_id == run_id else s for s in history.seen]  # type: ignore[arg-type]
    return replace(history, seen=swapped)


def without(history: History, run_id: str) -> History:
    """As if the run had never been."""
    kept = [record for record in history.records if record.run_id != run_id]
    seen = [seen for seen in history.seen if seen.run_id != run_id]
    return replace(with_records(history, *kept), seen=seen)


def one_more(history: History, record: Record) -> History:
    return replace(
        with_records(history, *history.records, record), seen=[*history.seen, sent(record)]
    )


def one_more_call(history: History, **how: object) -> History:
    call = replace(sent(history.records[0]), **how)  # type: ignore[arg-type]
    return replace(history, seen=[*history.seen, call])


def cancelled(history: History, run_id: str, *, status: int = 200, at: int = START) -> History:
    cancel = Cancel(run_id=run_id, status=status, answered=at)
    return replace(history, cancels=[*history.cancels, cancel])


def edited(history: History, *, asked: int) -> History:
    edit = Edit(job_id="beat", edition=1, sent=asked, answered=asked + 10)
    return replace(history, edits=[edit])


def paused(history: History, since: int, until: int) -> History:
    pause = Pause(sent=since, answered=since + 10, resuming=until, resumed=until + 10)
    return replace(history, jobs={**history.jobs, "beat": replace(BEAT, pauses=(pause,))})


def dealt_with() -> History:
    """Three runs failed: one was redriven, which failed again, one dismissed, one left alone."""
    first, second, third = (
        replace(ran(FAILS, f"fails-{n}", START + n), status="failed") for n in (1, 2, 3)
    )
    again = replace(first, run_id="fails-4", redrive_of="fails-1")
    records = [first, second, third, again]
    history = replace(sound(), seen=[*sound().seen, *map(sent, records)])
    return replace(
        with_records(history, *sound().records, *records),
        jobs={**history.jobs, "fails": FAILS},
        redrives=[
            Redrive(run_id="fails-1", status=202, made=(("fails-1", "fails-4"),)),
            Redrive(run_id="fails-1", status=409),
        ],
        dismissals=[Dismissal(run_id="fails-2", status=204)],
        letters={"fails": ["fails-3", "fails-4"]},
    )


LETTERS: dict[str, tuple[str, Callable[[History], History]]] = {
    "redriven twice": (
        "doubled:",
        lambda h: one_more(h, replace(h.records[-1], run_id="fails-5")),
    ),
    "redriven by nobody": ("redriven:", lambda h: replace(h, redrives=[])),
    "a redrive that is gone": ("lost:", lambda h: without(h, "fails-4")),
    "a redrive that does not say so": ("lost:", lambda h: changed(h, "fails-4", redrive_of=None)),
    "a redrive of what did not fail": (
        "redriven:",
        lambda h: changed(h, "fails-4", redrive_of="beat-1"),
    ),
    "a redrive at another instant": (
        "redriven:",
        lambda h: changed(h, "fails-4", scheduled_for=START),
    ),
    "dismissed twice": (
        "dismissed 2 times:",
        lambda h: replace(h, dismissals=[*h.dismissals, *h.dismissals]),
    ),
    "dismissed and redriven": (
        "redriven:",
        lambda h: replace(h, dismissals=[Dismissal(run_id="fails-1", status=204)]),
    ),
    "still a letter": ("dealt with", lambda h: replace(h, letters={"fails": ["fails-1"]})),
    "a lost letter": ("lost:", lambda h: replace(h, letters={"fails": ["fails-4"]})),
}

FAULTS: dict[str, tuple[str, Callable[[History], History]]] = {
    "a lost occurrence": ("lost:", lambda h: without(h, "beat-2")),
    "a missed occurrence": ("lost:", lambda h: changed(h, "beat-2", status="missed")),
    "a range": ("not run:", lambda h: changed(h, "beat-2", until=START + 2 * SECOND)),
    "a doubled record": ("doubled:", lambda h: with_records(h, *h.records, h.records[0])),
    "a doubled occurrence": (
        "doubled:",
        lambda h: one_more(h, ran(BEAT, "beat-other", START + SECOND)),
    ),
    "off the beat": ("phantom:", lambda h: one_more(h, ran(BEAT, "beat-x", START + SECOND + 1))),
    "before the first": ("phantom:", lambda h: one_more(h, ran(BEAT, "beat-0", START))),
    "ran though paused": (
        "ran while paused:",
        lambda h: one_more(h, ran(BEAT, "beat-5", START + 5 * SECOND)),
    ),
    "a job nobody made": (
        "phantom:",
        lambda h: one_more(h, replace(h.records[0], run_id="ghost-1", job_id="ghost")),
    ),
    "an early start": ("early:", lambda h: changed(h, "beat-2", started=START)),
    "an early arrival": ("early:", lambda h: arriving(h, "beat-2", at=START + 2 * SECOND - 1)),
    "a phantom run": ("phantom:", lambda h: one_more_call(h, run_id="ghost", key="ghost")),
    "a phantom attempt": ("phantom:", lambda h: one_more_call(h, attempt=2)),
    "another instant": ("phantom:", lambda h: arriving(h, "beat-2", scheduled_for=START)),
    "a success nobody saw": (
        "unseen:",
        lambda h: replace(h, seen=[seen for seen in h.seen if seen.run_id != "beat-2"]),
    ),
    "a burnt attempt": ("wrong end:", lambda h: changed(h, "asked-1", attempt=2)),
    "too many attempts": ("too many attempts:", lambda h: changed(h, "beat-2", attempt=3)),
    "a failure for no reason": ("wrong end:", lambda h: changed(h, "beat-2", status="failed")),
    "sent twice for no reason": (
        "sent twice:",
        lambda h: one_more_call(h, at=START + SECOND + 400_000),
    ),
    "sent again, not rescued": ("sent 2 times", lambda h: changed(h, "asked-1", rescues=0)),
    "sent again long after a waking": (
        "sent twice:",
        lambda h: replace(one_more_call(h, at=START + SECOND + 400_000), wakings=[START]),
    ),
    "rescued though nobody was lost": ("rescued 1 times after 0", lambda h: replace(h, breaks=[])),
    "rescued once too often": (
        "rescued 2 times after 1",
        lambda h: changed(h, "asked-1", rescues=2),
    ),
    "rescued after its end": (
        "rescued 1 times after 0",
        lambda h: replace(h, breaks=[START + 3 * SECOND + 1]),
    ),
    "rescued from somebody lost before it was due": (
        "rescued 1 times after 0",
        lambda h: replace(h, breaks=[START - 2 * SECOND]),
    ),
    "two keys for one run": ("keys:", lambda h: one_more_call(h, key="other")),
    "one key for two runs": ("keys:", lambda h: arriving(h, "beat-2", key="beat-1")),
    "a live run": ("not over:", lambda h: changed(h, "beat-2", status="running")),
    "an end that changed": (
        "not final:",
        lambda h: replace(h, records_again=changed(h, "beat-2", status="failed").records),
    ),
    "an end that went away": ("not final:", lambda h: replace(h, records_again=h.records[1:])),
    "a lost trigger": ("lost:", lambda h: without(h, "asked-1")),
    "a lost job": ("lost:", lambda h: replace(h, jobs_named={})),
    "half a one-off": ("half:", lambda h: without(h, "once-1")),
    "a trigger that ran twice": (
        "doubled:",
        lambda h: replace(h, seen=[*h.seen, replace(sent(h.records[0]), token="t1")]),
    ),
    "a job that was made twice": (
        "doubled:",
        lambda h: replace(h, jobs_named={"t2": ["once", "once-more"]}),
    ),
    "a cancel that did not hold": ("cancel:", lambda h: cancelled(h, "asked-1")),
    "sent after a cancel": (
        "cancel:",
        lambda h: cancelled(changed(h, "asked-1", status="cancelled"), "asked-1"),
    ),
    "a cancel that was answered 500": (
        "cancel:",
        lambda h: cancelled(h, "asked-1", status=500),
    ),
    "a cancelled run that is gone": ("lost:", lambda h: cancelled(h, "ghost-1", status=202)),
    "cancelled by nobody": ("wrong end:", lambda h: changed(h, "asked-1", status="cancelled")),
    "an edit that did not hold": ("edit:", lambda h: edited(h, asked=START)),
    "an edit that nobody had made yet": (
        "edit:",
        lambda h: edited(arriving(h, "beat-2", edition=1), asked=START + 3 * SECOND),
    ),
    "ran in a pause": (
        "ran while paused:",
        lambda h: paused(h, START + SECOND // 2, START + 3 * SECOND),
    ),
    "skipped before a pause": (
        "not run:",
        lambda h: paused(
            changed(h, "beat-1", status="skipped"), START + 3 * SECOND // 2, START + 2 * SECOND
        ),
    ),
}


def test_a_sound_history_has_no_violations():
    assert violations(sound()) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checker_reports_a_planted_fault(fault):
    words, plant = FAULTS[fault]

    found = violations(plant(sound()))

    assert any(line.startswith(words) for line in found), found


@pytest.mark.parametrize("fault", LETTERS)
def test_the_checker_reports_what_is_done_wrong_with_a_letter(fault):
    words, plant = LETTERS[fault]
    assert violations(dealt_with()) == []

    found = violations(plant(dealt_with()))

    assert any(line.startswith(words) for line in found), found


def test_a_change_of_mind_breaks_no_promise():
    """One occurrence falls into a pause, the next is sent as edited; a trigger is cancelled."""
    changes = changed(sound(), "beat-2", status="skipped")
    changes = changed(changes, "asked-1", status="cancelled")
    calls = [call for call in changes.seen if call.run_id not in ("beat-2", "asked-1")]
    changes = arriving(replace(changes, seen=calls), "beat-3", edition=1)

    changes = paused(changes, START + SECOND + 1, START + 2 * SECOND)
    changes = edited(cancelled(changes, "asked-1"), asked=START + SECOND)

    assert violations(changes) == []


def test_what_a_stopped_process_had_begun_may_end_when_it_wakes():
    """Stopped before the instant of the run, which was rescued; the second request is its own."""
    rescued = changed(sound(), "beat-2", rescues=1)
    late = replace(sent(rescued.records[1]), at=START + 5 * SECOND)
    twice = replace(rescued, seen=[*rescued.seen, late])

    woken = replace(twice, wakings=[START + 5 * SECOND - 100_000])

    assert [line.partition(":")[0] for line in violations(twice)] == ["sent twice"]
    assert violations(woken) == []
