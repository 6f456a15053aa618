"""The rules about starts: when handlers were called, how often, and whether their word counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.simulation.books import FOREVER, OVER, Books, reads
from tests.simulation.history import Effect, History
from tests.simulation.oracle import SECOND, micros
from tests.simulation.suspicion import Suspicion, ended_with_its_runner

LEASE = 15 * SECOND
AFTERMATH = 30 * SECOND
HEARTBEAT_MAX = 12 * SECOND + SECOND // 2
STOPPING = 4 * SECOND
KILLING = 2 * SECOND
"""A function that does not stop within five seconds is killed with its runner."""

OTHERS = 66 * SECOND
"""But not before the others in there have ended, or had a minute."""

OBEYED_AFTER = 2 * SECOND
TIMER_SLACK = SECOND // 100
WAITING = "waiting for a runner"


def nothing_starts_early(books: Books) -> Iterator[str]:
    """I3: by the database's clock, at the handler and in the ledger."""
    slack = books.history.slack
    for effect in books.history.effects:
        early = effect.scheduled_for - effect.started
        if early > slack:
            yield f"early: {effect.run_id} started {early} µs before its instant"
    for _, run in reads(books.history):
        if run["startedAt"] is not None:
            early = micros(run["scheduledFor"]) - micros(run["startedAt"])
            if early > slack:
                yield f"early: {run['runId']} says it started {early} µs before its instant"


def what_started_is_in_the_books(books: Books) -> Iterator[str]:
    """I4: no start without a record, of the same job, instant and one of its attempts."""
    for run_id, starts in books.effects.items():
        run = books.runs.get(run_id)
        if run is None:
            yield f"phantom: {run_id} was started and nobody has heard of it"
            continue
        for effect in starts:
            if (run["jobId"], micros(run["scheduledFor"])) != (
                effect.job_id,
                effect.scheduled_for,
            ):
                yield f"phantom: {run_id} was started as another's"
            if not 1 <= effect.attempt <= run["attempt"]:
                yield f"phantom: attempt {effect.attempt} of {run_id}, which has {run['attempt']}"


def attempts_are_limited(books: Books) -> Iterator[str]:
    """I11: not more than the job allows, and not fewer before a run fails for good."""
    for run_id, run in books.runs.items():
        book = books.jobs.get(run["jobId"])
        if book is None:
            yield f"phantom: {run_id} of {run['jobId']}, which nobody made"
            continue
        retries = [version.job["retries"] for version in book.versions] + book.retries_asked
        if run["attempt"] > max(retries) + 1:
            yield f"too many attempts: {run['attempt']} of {run_id}"
        if run["status"] == "failed" and run["attempt"] <= min(retries):
            refused = any(e.end == "refused" for e in _of(books, run_id, run["attempt"]))
            refused = refused or is_quarantined(run)  # whether it deserves that is another rule
            if not refused and book.deleting_from > micros(run["scheduledFor"]):
                yield f"gave up early: {run_id} after {run['attempt']} of {min(retries) + 1}"


def the_last_owner_has_the_last_word(books: Books) -> Iterator[str]:
    """I7: what is written is what the latest start of that attempt came to, and nothing older."""
    for run_id, run in books.runs.items():
        if run["status"] not in ("succeeded", "failed"):
            continue
        starts = _of(books, run_id, run["attempt"])
        if not starts and _timed_out_unheard(books, run):
            continue
        if not starts:
            yield f"unseen: {run_id} {run['status']} at attempt {run['attempt']}, never started"
            continue
        latest = starts[-1]
        while len(starts) > 1 and starts[-1].on_threshold:
            starts.pop()  # it could not know that the run was another's meanwhile
        words = {each.name: each.end for each in (latest, starts[-1])}
        said = run["output"] if run["status"] == "succeeded" else _named(run["error"])
        ends = ("ok",) if run["status"] == "succeeded" else ("failed", "refused")
        if said is not None and words.get(said) not in ends:
            yield f"stale: {run_id} has the word of {said}, its latest start was {latest.name}"


def who_timed_out_had_his_time(books: Books) -> Iterator[str]:
    """From the start of the handler on: who waits for a runner process is not under way."""
    for run_id, run in books.runs.items():
        book, starts = books.jobs.get(run["jobId"]), _of(books, run_id, run["attempt"])
        error = run["error"] or ""
        if book is None or not starts or not error.startswith("timed out"):
            continue
        if error.endswith(WAITING) and died_with(books.history, starts[-1], FOREVER):
            continue
        last, timeout = starts[-1], round(book.first["timeout"] * SECOND)
        took = (last.ended_at or FOREVER) - last.started_at
        if took >= timeout - TIMER_SLACK or run["status"] != "failed":
            continue
        if not was_troubled(books.history, last.process, last.started_at, last.started_at + took):
            yield f"timed out early: {run_id} after {took} µs as {last.name}"


def nothing_starts_after_the_end(books: Books) -> Iterator[str]:
    """I10: once a run was seen to end, it never starts; unless on the threshold of a stall."""
    seen: dict[str, int] = {}
    for asked, run in reads(books.history):
        if run["status"] in OVER and asked.answered_at is not None:
            seen.setdefault(run["runId"], asked.answered_at)
    for run_id, starts in books.effects.items():
        for effect in starts:
            if effect.started_at > seen.get(run_id, effect.started_at):
                if not effect.on_threshold:
                    yield f"started after its end: {run_id} by {effect.name}"


def nobody_starts_without_a_heartbeat(books: Books) -> Iterator[str]:
    """A process that the database has not answered for longer than 12 s starts nothing."""
    for trouble in books.history.troubles:
        if trouble.what != "is cut off":
            continue
        since, until = trouble.at + HEARTBEAT_MAX, trouble.at + trouble.for_us
        until = min(until, books.history.healed_at)
        for effect in books.history.effects:
            if effect.process == trouble.process and since < effect.started_at < until:
                if not effect.on_threshold:
                    yield f"without a heartbeat: {effect.run_id} by {effect.name}"


def a_start_is_repeated_only_in_need(books: Books) -> Iterator[str]:
    """The same attempt again only after something befell whoever had started it, or by one that a
    stall held on the threshold.
    """
    for run_id, starts in books.effects.items():
        by_attempt: dict[int, list[Effect]] = defaultdict(list)
        for effect in starts:
            by_attempt[effect.attempt].append(effect)
        for attempt, same in by_attempt.items():
            for before, after in pairwise(same):
                since, until = before.started_at - LEASE, after.started_at
                if after.on_threshold or died_with(books.history, before, until):
                    continue
                if not was_troubled(books.history, before.process, since, until):
                    yield f"repeated: attempt {attempt} of {run_id}, {before.name}, {after.name}"
    for run_id, starts in books.effects.items():
        book = books.jobs.get(starts[0].job_id)
        if book is not None and book.first["guarantee"] == "at_most_once" and len(starts) > 1:
            yield f"started {len(starts)} times, at most once was promised: {run_id}"


def every_hold_has_a_higher_fence(books: Books) -> Iterator[str]:
    """Every lease raises it, and so does every rescue, retry and return: two calls under one fence
    would both be believed.
    """
    for run_id, starts in books.effects.items():
        fenced = [each for each in starts if each.fence is not None and not each.on_threshold]
        for before, after in pairwise(fenced):
            assert before.fence is not None
            assert after.fence is not None
            raised, rescues = after.fence - before.fence, after.rescues - before.rescues
            if raised < 1 + rescues:
                yield f"fence: {run_id} rose by {raised} in {rescues} rescues and a lease"


def what_is_lost_was_in_doubt(books: Books) -> Iterator[str]:
    """Only what may start once is ever lost, and only after something befell who had it: the node,
    or the runner process that it was in.
    """
    for run_id, run in books.runs.items():
        if run["status"] != "lost":
            continue
        book = books.jobs.get(run["jobId"])
        if book is None or book.first["guarantee"] != "at_most_once":
            yield f"lost, and it could have been tried again: {run_id}"
        starts = books.effects.get(run_id, [])
        if starts and ended_with_its_runner(books.history, starts[0]):
            continue
        since = starts[0].started_at - LEASE if starts else 0
        if starts and not was_troubled(books.history, starts[0].process, since, FOREVER):
            yield f"lost without need: {run_id}, started by {starts[0].process}"
        if not books.history.troubles and (starts or not books.history.runner_deaths):
            yield f"lost, and nothing went wrong: {run_id}"


def a_cancel_holds(books: Books) -> Iterator[str]:
    """I13: after a 200 nothing starts; after a 202 no further attempt."""
    for asked in books.history.asks:
        if asked.what != "cancel" or asked.status not in (200, 202):
            continue
        starts = books.effects.get(asked.run_id or "", [])
        assert asked.answered_at is not None
        later = [effect for effect in starts if effect.started_at > asked.answered_at]
        if asked.status == 200:
            for effect in later:
                if not effect.on_threshold:
                    yield f"cancelled, and started: {asked.run_id} by {effect.name}"
            continue
        before = [effect for effect in starts if effect.started_at <= asked.sent_at]
        held = before[-1].attempt if before and _runs_at(before[-1], asked.answered_at) else None
        for effect in later:
            if held is not None and effect.attempt > held:
                yield f"to be cancelled, and tried again: {asked.run_id} by {effect.name}"
        if len({effect.attempt for effect in later}) > 1:
            yield f"to be cancelled, and tried twice: {asked.run_id}"


def a_deleted_job_stays_down(books: Books) -> Iterator[str]:
    """What nobody holds never starts; what is held hears of it soon."""
    for effect in books.history.effects:
        book = books.jobs.get(effect.job_id)
        if book is None or book.deleted_by is None:
            continue
        late = effect.started_at - book.deleted_by
        since = book.deleted_by - LEASE
        troubled = was_troubled(books.history, effect.process, since, effect.started_at)
        if late > (LEASE + AFTERMATH if troubled else OBEYED_AFTER):
            if not effect.on_threshold:
                yield f"deleted, and started: {effect.run_id} by {effect.name}, {late} µs after"


def calm_times_are_prompt(books: Books) -> Iterator[str]:
    """I15: where nothing goes wrong and there is room, everything starts in time and stops in
    time.
    """
    history = books.history
    prompt, suspicion = round(history.prompt_s * SECOND), Suspicion(books)
    asked_at = {
        asked.answer["runId"]: asked.answered
        for asked in history.asks
        if asked.status == 202 and asked.what in ("trigger", "probe")
    }
    for asked in history.asks:
        if asked.status == 202 and asked.what in ("redrive", "redrive all"):
            made = asked.answer.get("runs", [asked.answer])
            asked_at |= {run["runId"]: asked.answered for run in made}
    probes = {a.answer["runId"] for a in history.asks if a.what == "probe" and a.status == 202}
    for run_id, run in books.runs.items():
        if run_id not in probes and not history.calm:
            continue
        starts = books.effects.get(run_id)
        due = micros(run["scheduledFor"])
        since = max(due, asked_at.get(run_id) or 0)
        book = books.jobs.get(run["jobId"])
        if book is not None:
            naming = [version.low for version in book.versions if version.has(due)]
            since = max(since, min(naming, default=book.versions[0].low))
            limit = round(book.first["timeout"] * SECOND) + STOPPING
            for effect in starts or ():
                killed = _killing(history, effect, effect.started_at + limit)
                if (effect.ended_at or effect.started_at) - effect.started_at > limit + killed:
                    yield f"overdue: {effect.name} of {run_id} was not stopped in time"
        if not starts and run["status"] not in ("cancelled", "skipped", "missed"):
            yield f"never started: {run_id}"
        elif starts and starts[0].started - since > prompt and _had_room(history, starts[0]):
            if not suspicion.excuses(starts[0], since):
                yield f"late: {run_id} by {starts[0].started - since} µs in calm times"


def _killing(history: History, effect: Effect, since: int) -> int:
    """How long after that it may take to end a call whose time is over."""
    if effect.runner is None:
        return 0
    beside = any(
        other.runner == effect.runner
        and other is not effect
        and _runs_at(other, since)
        and (other.asked_at is None or other.asked_at > since - STOPPING)
        for other in history.effects
    )
    return OTHERS if beside else KILLING


def retries_wait(books: Books) -> Iterator[str]:
    """A failed attempt waits for at least half of its delay (seen exactly in calm times only)."""
    if not books.history.calm:
        return
    for run_id, starts in books.effects.items():
        book = books.jobs.get(starts[0].job_id)
        for before, after in pairwise(starts):
            if book is None or after.attempt != before.attempt + 1 or before.ended is None:
                continue
            delay = book.first["backoff"]
            wait_s = min(delay["max"], delay["initial"] * delay["factor"] ** (before.attempt - 1))
            if after.started - before.ended < wait_s / 2 * SECOND - SECOND // 10:
                yield f"hasty: {run_id} tried again {after.started - before.ended} µs later"


def _timed_out_unheard(books: Books, run: dict[str, Any]) -> bool:
    """A function whose runner died before it heard of the call: it waited in vain for another, or
    its node stood still.
    """
    book = books.jobs.get(run["jobId"])
    functions = book is not None and any(version.job["handler"] for version in book.versions)
    return functions and (run["error"] or "").startswith("timed out")


def is_quarantined(run: dict[str, Any]) -> bool:
    return run["status"] == "failed" and (run["error"] or "").startswith("quarantined")


def _had_room(history: History, late: Effect) -> bool:
    """Whether a process had a free slot all the time that this start was late."""
    since = late.started_at - (late.started - late.scheduled_for)
    meanwhile = [
        effect
        for effect in history.effects
        if effect.started_at <= late.started_at and (effect.ended_at or FOREVER) >= since
    ]
    moments = (max(since, effect.started_at) for effect in meanwhile)
    busy = (sum(_runs_at(each, moment) for each in meanwhile) for moment in moments)
    return max(busy, default=0) < history.slots


def _named(error: str | None) -> str | None:
    """The effect that an error names; None if it was stopped and could say nothing."""
    return error.rpartition(" ")[2] if error is not None and "HTTP 500" in error else None


def _of(books: Books, run_id: str, attempt: int) -> list[Effect]:
    return [effect for effect in books.effects.get(run_id, ()) if effect.attempt == attempt]


def _runs_at(effect: Effect, at: int) -> bool:
    return effect.started_at <= at and (effect.ended_at is None or effect.ended_at > at)


def died_with(history: History, effect: Effect, until: int) -> bool:
    """Whether its runner process was gone before this moment."""
    return effect.runner is not None and history.runner_deaths.get(effect.runner, FOREVER) <= until


def was_troubled(history: History, process: str, since: int, until: int) -> bool:
    return any(
        trouble.process == process
        and trouble.at <= until
        and trouble.at + trouble.for_us + AFTERMATH >= since
        for trouble in history.troubles
    )


EFFECT_RULES: tuple[Callable[[Books], Iterator[str]], ...] = (
    nothing_starts_early,
    what_started_is_in_the_books,
    attempts_are_limited,
    the_last_owner_has_the_last_word,
    who_timed_out_had_his_time,
    nothing_starts_after_the_end,
    nobody_starts_without_a_heartbeat,
    a_start_is_repeated_only_in_need,
    every_hold_has_a_higher_fence,
    what_is_lost_was_in_doubt,
    a_cancel_holds,
    a_deleted_job_stays_down,
    calm_times_are_prompt,
    retries_wait,
)
