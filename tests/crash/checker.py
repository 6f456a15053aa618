"""Judges what happened by what the outside could see: the receiver's ledger and the public API.

It knows nothing of our code and nothing of our tables. Instants are microseconds since the epoch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tests.crash.history import HOLDS_AFTER, SECOND, Edit, History, Job, Record

RAN = frozenset({"succeeded", "failed"})
LIVE = frozenset({"scheduled", "queued", "running"})
SHOWN_MAX = 30
# What a killed process had sent may be read a little later. No Python process is up that quickly.
LAST_WORDS = SECOND // 5
# One that was stopped ends what it had begun as soon as it wakes; a busy machine wakes it slowly.
AWAKE = SECOND
# A node holds runs that are due up to a second later.
AHEAD = SECOND


def violations(history: History) -> list[str]:
    """Every broken promise, one line each."""
    return [fault for rule in RULES for fault in rule(history)]


def assert_sound(history: History) -> None:
    found = violations(history)
    lines = "\n".join(found[:SHOWN_MAX])
    assert not found, f"{len(found)} broken promises, the first of them:\n{lines}"


def repeats(history: History) -> int:
    """Requests that were sent again for an attempt that had been sent before."""
    return len(history.seen) - len({(seen.run_id, seen.attempt) for seen in history.seen})


def each_occurrence_ran(history: History) -> Iterator[str]:
    records = _by_job(history.records)
    for job in history.jobs.values():
        if job.every is None:
            continue
        ran = {record.scheduled_for for record in records[job.job_id] if record.status in RAN}
        for due in range(job.created + job.every, job.pause_sent + 1, job.every):
            if due not in ran and not job.may_skip(due):
                yield f"lost: {job.job_id} has no run for {due}"


def nothing_is_recorded_twice(history: History) -> Iterator[str]:
    for run_id, count in Counter(record.run_id for record in history.records).items():
        if count > 1:
            yield f"doubled: run {run_id} is listed {count} times"
    for job_id, records in _by_job(history.records).items():
        if _job(history, job_id).every is None:
            continue
        for due, count in Counter(record.scheduled_for for record in records).items():
            if count > 1:
                yield f"doubled: {job_id} has {count} records for {due}"


def only_due_instants_are_recorded(history: History) -> Iterator[str]:
    for record in history.records:
        job = history.jobs.get(record.job_id)
        if job is None:
            yield f"phantom: run {record.run_id} of {record.job_id}, which was never made"
        elif job.every is not None:
            steps, off = divmod(record.scheduled_for - job.created, job.every)
            if off or steps < 1:
                yield f"phantom: run {record.run_id} is due off the beat of {job.job_id}"


def a_range_is_only_a_pause(history: History) -> Iterator[str]:
    """With `catchUp: all` nothing is missed, and only a pause skips."""
    for record in history.records:
        job = _job(history, record.job_id)
        if record.status == "skipped" and job.may_skip(record.scheduled_for):
            continue
        if record.until is not None or record.status in ("skipped", "missed", "lost"):
            yield f"not run: {record.status} {record.run_id} of {record.job_id}"


def a_pause_holds(history: History) -> Iterator[str]:
    for record in history.records:
        job = _job(history, record.job_id)
        if job.every is None or record.status not in RAN:
            continue
        if job.must_not_run(record.scheduled_for):
            yield f"ran while paused: {record.run_id}, due at {record.scheduled_for}"


def nothing_starts_early(history: History) -> Iterator[str]:
    for record in history.records:
        if record.started is not None and record.started < record.scheduled_for:
            early = record.scheduled_for - record.started
            yield f"early: run {record.run_id} started {early} µs before its instant"
    for seen in history.seen:
        if seen.at < seen.scheduled_for:
            yield f"early: run {seen.run_id} arrived {seen.scheduled_for - seen.at} µs too soon"


def what_ran_was_seen(history: History) -> Iterator[str]:
    attempts = {(seen.run_id, seen.attempt) for seen in history.seen}
    for record in history.records:
        if record.status in RAN and (record.run_id, record.attempt) not in attempts:
            yield f"unseen: {record.status} run {record.run_id}, attempt {record.attempt}"


def what_was_seen_is_recorded(history: History) -> Iterator[str]:
    records = {record.run_id: record for record in history.records}
    for seen in history.seen:
        record = records.get(seen.run_id)
        if record is None:
            yield f"phantom: the receiver saw run {seen.run_id}, the ledger has none"
        elif (record.job_id, record.scheduled_for) != (seen.job_id, seen.scheduled_for):
            yield f"phantom: run {seen.run_id} was sent as of another job or instant"
        elif not 1 <= seen.attempt <= record.attempt:
            yield f"phantom: attempt {seen.attempt} of {seen.run_id} is not in the ledger"


def each_run_ends_as_its_handler_says(history: History) -> Iterator[str]:
    """Which also says that no crash uses up an attempt."""
    cancelled = {cancel.run_id for cancel in history.cancels}
    for record in history.records:
        job = _job(history, record.job_id)
        if record.status == "skipped":
            continue
        if record.status == "cancelled" and record.run_id in cancelled:
            continue
        if record.attempt > job.retries + 1:
            yield f"too many attempts: {record.attempt} of run {record.run_id}"
        if (record.status, record.attempt) != (job.status, job.attempts):
            yield (
                f"wrong end: run {record.run_id} {record.status} at attempt {record.attempt},"
                f" not {job.status} at {job.attempts}"
            )


def an_attempt_is_repeated_only_after_a_break(history: History) -> Iterator[str]:
    """A stopped process may be in the middle of sending: what it had begun, it ends when it wakes,
    although others have done it meanwhile.
    """
    rescues = {record.run_id: record.rescues for record in history.records}
    functions = {job.job_id for job in history.jobs.values() if job.function}
    in_runners = {record.run_id for record in history.records if record.job_id in functions}
    arrivals: dict[tuple[str, int], list[int]] = defaultdict(list)
    for seen in history.seen:
        arrivals[seen.run_id, seen.attempt].append(seen.at)
    for (run_id, attempt), times in arrivals.items():
        for before, after in pairwise(sorted(times)):
            broke = _losses(history, before - LAST_WORDS, after - 1)
            woke = any(each <= after <= each + AWAKE for each in history.wakings)
            if not broke and not woke:
                yield f"sent twice: attempt {attempt} of {run_id}, {after - before} µs apart"
        if run_id in in_runners:
            continue  # what was in a runner that died is called again by its own node
        if len(times) - 1 > rescues.get(run_id, 0):
            yield f"sent {len(times)} times, not rescued as often: attempt {attempt} of {run_id}"


def only_what_was_lost_is_rescued(history: History) -> Iterator[str]:
    """Once for every process that was lost while the run was held. Nobody who lives is given up."""
    for record in history.records:
        if not record.rescues or record.finished is None:
            continue
        held_from, held_to = record.scheduled_for - AHEAD, record.finished
        lost = _losses(history, held_from, held_to)
        if record.rescues > lost:
            yield f"rescued {record.rescues} times after {lost} losses: run {record.run_id}"


def one_run_has_one_key(history: History) -> Iterator[str]:
    keys: dict[str, set[str]] = defaultdict(set)
    runs: dict[str, set[str]] = defaultdict(set)
    for seen in history.seen:
        keys[seen.run_id].add(seen.key)
        runs[seen.key].add(seen.run_id)
    yield from (f"keys: run {run} came with {sorted(k)}" for run, k in keys.items() if len(k) > 1)
    yield from (f"keys: {key} is shared by {sorted(r)}" for key, r in runs.items() if len(r) > 1)


def an_end_is_final(history: History) -> Iterator[str]:
    again = {record.run_id: record for record in history.records_again}
    for record in history.records:
        if record.status in LIVE:
            yield f"not over: run {record.run_id} is {record.status}"
        elif record.status != "skipped" and again.pop(record.run_id, None) != record:
            yield f"not final: run {record.run_id} was {record.status} and then changed"


def what_was_acknowledged_is_there(history: History) -> Iterator[str]:
    listed = {job_id for ids in history.jobs_named.values() for job_id in ids}
    known = {record.run_id for record in history.records} | listed
    for ask in history.asks:
        if ask.made is not None and ask.made not in known:
            yield f"lost: the acknowledged {ask.what} {ask.made} is not there"


def what_was_asked_happened_at_most_once(history: History) -> Iterator[str]:
    """Whole or not at all, answered or not, however often the same request was repeated."""
    runs: dict[str, set[str]] = defaultdict(set)
    for seen in history.seen:
        if seen.token is not None:
            runs[seen.token].add(seen.run_id)
    for ask in history.asks:
        if len(runs[ask.token]) > 1:
            yield f"doubled: the {ask.what} {ask.token} made runs {sorted(runs[ask.token])}"
        if len(history.jobs_named.get(ask.token, ())) > 1:
            yield f"doubled: the {ask.what} {ask.token} made several jobs"
    counts = Counter(record.job_id for record in history.records)
    for job in history.jobs.values():
        if job.runs is not None and counts[job.job_id] != job.runs:
            yield f"half: {job.job_id} has {counts[job.job_id]} runs, not {job.runs}"


def a_cancel_holds(history: History) -> Iterator[str]:
    """After a 200 it is over, and nothing starts. After a 202 it was told; it may have ended."""
    ended = {each.run_id: each.answered for each in history.cancels if each.status == 200}
    told = {each.run_id for each in history.cancels if each.status in (200, 202, 409, 0)}
    records = {record.run_id: record for record in history.records}
    for cancel in history.cancels:
        if cancel.run_id not in told:
            yield f"cancel: answered {cancel.status} for run {cancel.run_id}"
        elif cancel.run_id not in records:
            yield f"lost: run {cancel.run_id}, which was to be cancelled, is not there"
    for run_id in ended:
        if run_id in records and records[run_id].status != "cancelled":
            yield f"cancel: run {run_id} was cancelled and is {records[run_id].status}"
    for seen in history.seen:
        if seen.at > ended.get(seen.run_id, seen.at) + LAST_WORDS:
            yield f"cancel: run {seen.run_id} was sent after it was cancelled"


def an_edit_holds(history: History) -> Iterator[str]:
    """For what is due a second after its answer; and nobody knows of it before it was asked for. A
    run that waits in between, or is taken over, takes the newest one.
    """
    edits: dict[str, list[Edit]] = defaultdict(list)
    for edit in history.edits:
        edits[edit.job_id].append(edit)
    for seen in history.seen:
        edition = seen.edition or 0
        for edit in edits.get(seen.job_id, ()):
            if seen.scheduled_for > edit.answered + HOLDS_AFTER and edition < edit.edition:
                yield f"edit: run {seen.run_id} came as edition {edition}, not {edit.edition}"
            if seen.at < edit.sent and edition >= edit.edition:
                yield f"edit: run {seen.run_id} came as edition {edition} before it was made"


def a_letter_is_redriven_once(history: History) -> Iterator[str]:
    """By one new run, which names the failed one, is due when that was, and was asked for."""
    records = {record.run_id: record for record in history.records}
    again: dict[str, list[Record]] = defaultdict(list)
    for record in history.records:
        if record.redrive_of is not None:
            again[record.redrive_of].append(record)
    for old, made in again.items():
        failed = records.get(old)
        if len(made) > 1:
            yield f"doubled: run {old} was redriven {len(made)} times"
        if failed is None or failed.status != "failed":
            yield f"redriven: run {old}, which did not fail"
        elif made[0].scheduled_for != failed.scheduled_for:
            yield f"redriven: run {made[0].run_id} is due at another instant than {old}"
        job_id = made[0].job_id
        if not any(old == each.run_id or job_id == each.job_id for each in history.redrives):
            yield f"redriven: run {old}, which nobody asked for"
    for redrive in history.redrives:
        for old, new in redrive.made:
            if new not in records or records[new].redrive_of != old:
                yield f"lost: the acknowledged redrive {new} of run {old} is not there"


def a_letter_is_dealt_with_once(history: History) -> Iterator[str]:
    """It is redriven or dismissed, once, and no letter any more; until then it is one."""
    redriven = {record.redrive_of for record in history.records} - {None}
    dismissed = Counter(each.run_id for each in history.dismissals if each.status == 204)
    unsure = {each.run_id for each in history.dismissals if each.status == 0}
    for run_id, times in dismissed.items():
        if times > 1:
            yield f"dismissed {times} times: run {run_id}"
        if run_id in redriven:
            yield f"redriven: run {run_id}, which was dismissed"
    for job_id, letters in history.letters.items():
        for run_id in letters:
            if run_id in redriven or run_id in dismissed:
                yield f"dealt with, and still a letter: run {run_id}"
        gone = redriven | set(dismissed) | unsure | set(letters)
        for record in history.records:
            if record.job_id == job_id and record.status == "failed" and record.run_id not in gone:
                yield f"lost: run {record.run_id} failed and is no letter"


def _losses(history: History, since: int, until: int) -> int:
    """How many processes were, or may have been, lost to the others in this time."""
    broke = sum(since <= each <= until for each in history.breaks)
    return broke + sum(begin <= until and since <= end for begin, end in history.cuts)


def _by_job(records: Sequence[Record]) -> defaultdict[str, list[Record]]:
    grouped: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        grouped[record.job_id].append(record)
    return grouped


def _job(history: History, job_id: str) -> Job:
    """A stand-in for a job that nobody made: `only_due_instants_are_recorded` reports it."""
    unknown = Job(job_id=job_id, retries=0, status="unknown", attempts=0)
    return history.jobs.get(job_id, unknown)


RULES: Sequence[Callable[[History], Iterator[str]]] = (
    each_occurrence_ran,
    nothing_is_recorded_twice,
    only_due_instants_are_recorded,
    a_range_is_only_a_pause,
    a_pause_holds,
    nothing_starts_early,
    what_ran_was_seen,
    what_was_seen_is_recorded,
    each_run_ends_as_its_handler_says,
    an_attempt_is_repeated_only_after_a_break,
    only_what_was_lost_is_rescued,
    one_run_has_one_key,
    an_end_is_final,
    what_was_acknowledged_is_there,
    what_was_asked_happened_at_most_once,
    a_cancel_holds,
    an_edit_holds,
    a_letter_is_redriven_once,
    a_letter_is_dealt_with_once,
)
