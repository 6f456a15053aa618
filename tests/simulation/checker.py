"""Judges a history by the promises, knowing nothing of our code and nothing of our tables.

Each rule yields one line for every promise it finds broken. The letters I1, I2 … are those of the
list in docs/internals/how-it-is-tested.md.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.simulation.books import FOREVER, OVER, Books, JobBook, Version, open_books, reads
from tests.simulation.effects import EFFECT_RULES
from tests.simulation.failures import FAILURE_RULES
from tests.simulation.history import History
from tests.simulation.keeping import KEEPING_RULES
from tests.simulation.oracle import instants, micros
from tests.simulation.resting import RESTING_RULES

Seen = dict[str, Any]
"""A run as the API shows it."""

RANGES = frozenset({"skipped", "missed"})
EXPECTED = frozenset({0, 200, 201, 202, 204, 404, 409, 503, 507})


def violations(history: History) -> list[str]:
    """Every broken promise, one line each."""
    found = [f"accident: {each}" for each in history.accidents]
    if not history.settled and not found:
        found.append("not drained: there is work left long after everything was healed")
    books = open_books(history)
    rules = (*RULES, *EFFECT_RULES, *FAILURE_RULES, *KEEPING_RULES, *RESTING_RULES)
    return found + [fault for rule in rules for fault in rule(books)]


# Occurrences


def every_instant_is_accounted_for(books: Books) -> Iterator[str]:
    """I1, I2: whatever version was in force, if all that may have been name it, it has a fate."""
    for book in _readable(books):
        runs, ranges = _fates(book)
        for due in _instants_in_doubt(book):
            ruling = book.may_rule(due)
            if not ruling or not all(_names(version, due) for version in ruling):
                continue
            if due > book.deleting_from or book.in_gap(due):
                continue
            if any(version.paused and not book.pause_ends(version) for version in ruling):
                continue
            fates = {run["status"] for run in ranges if _covers(run, due)}
            if due in runs:
                fates.add("run")
            if not fates:
                yield f"lost: {book.job_id} has nothing for {due}"
            elif runs.get(due) in books.effects and all(version.paused for version in ruling):
                yield f"ran while paused: {book.job_id} at {due}"
            elif fates == {"skipped"} and not any(version.paused for version in ruling):
                yield f"skipped without a pause: {book.job_id} at {due}"
        yield from _one_offs_of_the_past(book, runs, ranges)


def _one_offs_of_the_past(book: JobBook, runs: dict[int, str], ranges: list[Seen]) -> Iterator[str]:
    """An instant that had passed when it was named runs at once."""
    before: Version | None = None
    for version in book.versions:
        moved = before is None or before.schedule != version.schedule
        before = version
        if version.schedule[0] != "once" or version.paused or not moved:
            continue
        due = version.schedule[1]
        if due <= version.low and due not in runs and not any(_covers(r, due) for r in ranges):
            yield f"lost: {book.job_id} was to run once at {due}, and did not"


def no_instant_has_two_fates(books: Books) -> Iterator[str]:
    """I2: no run is listed twice, no instant ran twice, no range holds what ran."""
    for book in _readable(books):
        listed = book.listed or []
        for run_id, count in Counter(run["runId"] for run in listed).items():
            if count > 1:
                yield f"doubled: {run_id} is listed {count} times"
        occurrences = [run for run in listed if run["runId"] not in book.triggered]
        for due, count in Counter(run["scheduledFor"] for run in occurrences).items():
            if count > 1 and not book.doubtful_triggers:
                yield f"doubled: {book.job_id} has {count} records for {due}"
        runs, ranges = _fates(book)
        once = {v.schedule[1] for v in book.versions if v.schedule[0] == "once"}
        for record in ranges:
            for due in runs:
                if _covers(record, due) and due not in once and _is_instant(book, due):
                    yield f"doubled: {book.job_id} ran at {due} and has it {record['status']}"
        yield from _overlaps(book, ranges, once)


def _overlaps(book: JobBook, ranges: list[Seen], once: set[int]) -> Iterator[str]:
    spans = sorted((micros(r["scheduledFor"]), _until(r)) for r in ranges)
    spans = [span for span in spans if span[0] not in once]
    for (_, until), (first, _) in pairwise(spans):
        if first <= until:
            yield f"doubled: {book.job_id} has two ranges that hold {first}"


def only_due_instants_are_recorded(books: Books) -> Iterator[str]:
    """I2: nothing ran that no version named, none while it was paused or after it was edited."""
    for book in _readable(books):
        doubtful = len(book.doubtful_triggers)
        for run in book.listed or []:
            if run["runId"] in book.triggered or run["status"] in RANGES:
                continue
            due = micros(run["scheduledFor"])
            if not _is_allowed(book, due):
                doubtful -= 1
                if doubtful < 0:
                    yield f"phantom: {run['runId']} of {book.job_id} at {due}"


def ranges_hold_what_they_say(books: Books) -> Iterator[str]:
    """I2: a range begins and ends with a due instant and counts those between."""
    for book in _readable(books):
        _, ranges = _fates(book)
        for record in ranges:
            first, until = micros(record["scheduledFor"]), _until(record)
            count = 1 if record["until"] is None else record["count"]
            counts = [
                len(instants(version.schedule, version.anchor, first, until))
                for version in book.versions
                if version.has(first) and version.has(until)
            ]
            certain = all(version.anchored for version in book.versions) and not book.gaps
            if any(version.schedule[0] == "rest" for version in book.versions):
                certain, counts = certain and first == until, [1]
            if certain and count is not None and count not in counts:
                yield f"wrong range: {book.job_id} {first}..{until} counts {count}, not {counts}"


def what_is_missed_was_too_late(books: Books) -> Iterator[str]:
    """I2: nothing younger than the window is missed; `all` misses nothing, `latest` runs one."""
    for book in _readable(books):
        runs, ranges = _fates(book)
        window = round(book.first["catchUpWindow"] * 1_000_000)
        for record in ranges:
            if record["status"] != "missed":
                continue
            until, decided = _until(record), micros(record["finishedAt"])
            if decided - until < window - books.history.slack:
                yield f"missed too soon: {book.job_id} {until}, {decided - until} µs late"
            if book.first["catchUp"] == "all":
                yield f"missed although all are caught up: {book.job_id} {until}"
            elif book.first["catchUp"] == "latest" and len(book.may_rule(until)) == 1:
                (version,) = book.may_rule(until)
                if decided < version.end_low and not any(until < due <= decided for due in runs):
                    yield f"none was caught up: {book.job_id} after {until}"
            if books.history.calm:
                yield f"missed in calm times: {book.job_id} {until}"


# Runs and answers


def an_end_is_final(books: Books) -> Iterator[str]:
    """I1, I10: every run ends, and no end is ever seen to change."""
    for run_id, run in books.runs.items():
        if run["status"] not in OVER:
            yield f"not over: {run_id} is {run['status']}"
    ends: dict[str, tuple[Any, ...]] = {}
    seen_at: dict[str, int] = {}
    for asked, run in reads(books.history):
        name, answered_at = run["runId"], asked.answered_at or 0
        if run["status"] in OVER:
            end = (run["status"], run["attempt"], run["finishedAt"], run["output"], run["until"])
            if ends.setdefault(name, end) != end:
                yield f"not final: {name} was {ends[name]}, then {end}"
            seen_at[name] = min(answered_at, seen_at.get(name, answered_at))
    for asked, run in reads(books.history):
        if run["status"] not in OVER and seen_at.get(run["runId"], FOREVER) < asked.sent_at:
            yield f"not final: {run['runId']} was over and is {run['status']}"


def answers_are_sound(books: Books) -> Iterator[str]:
    """A server may refuse or be unavailable; it never fails, and never refuses what is right."""
    for asked in books.history.asks:
        if asked.status is not None and asked.status not in EXPECTED:
            yield f"answered {asked.status}: {asked.method} {asked.path} {asked.answer}"


def an_edit_is_of_the_version_it_names(books: Books) -> Iterator[str]:
    """Of two edits of the same version, one is refused."""
    made: dict[tuple[str, int], str] = {}
    for asked in books.history.asks:
        if asked.status != 200 or asked.method != "PATCH":
            continue
        job, number = asked.answer["jobId"], asked.answer["version"]
        if asked.expected is not None and number not in (asked.expected, asked.expected + 1):
            yield f"blind edit: {job} was {asked.expected} and became {number}"
        if asked.answer["name"] != made.setdefault((job, number), asked.answer["name"]):
            yield f"blind edit: two edits became version {number} of {job}"


def what_was_acknowledged_is_there(books: Books) -> Iterator[str]:
    """A 2xx is durable."""
    there = {
        job["jobId"]: job
        for asked in books.history.asks
        if asked.what == "jobs" and asked.status == 200
        for job in asked.answer["jobs"]
    }
    for asked in books.history.asks:
        said = asked.answer
        if asked.what in ("create", "edit", "pause", "resume") and asked.status in (200, 201):
            book = books.jobs[said["jobId"]]
            if said["jobId"] in there:
                if there[said["jobId"]]["version"] < said["version"]:
                    yield f"lost: version {said['version']} of {said['jobId']}"
            elif book.deleting_from == FOREVER:
                yield f"lost: {said['jobId']}, which nobody deleted"
        if asked.what in ("trigger", "probe") and asked.status == 202:
            if said["runId"] not in books.runs:
                yield f"lost: the triggered run {said['runId']}"
            elif books.runs[said["runId"]]["scheduledFor"] != said["scheduledFor"]:
                yield f"changed: {said['runId']} is due at another instant than answered"


def what_was_asked_once_happened_once(books: Books) -> Iterator[str]:
    """The same Idempotency-Key has the same answer, and one token makes one thing."""
    answers: dict[str, set[str]] = defaultdict(set)
    for asked in books.history.asks:
        if asked.key is not None and asked.status in (201, 202):
            answers[asked.key].add(asked.answer.get("runId", asked.answer["jobId"]))
    yield from (f"doubled: {key} made {sorted(m)}" for key, m in answers.items() if len(m) > 1)
    made: dict[str, set[str]] = defaultdict(set)
    for book in books.jobs.values():
        made[book.first["payload"]["token"]].add(book.job_id)
    for run_id, starts in books.effects.items():
        for effect in starts:
            triggered = run_id in books.jobs[effect.job_id].triggered
            if triggered and run_id not in books.redriven:
                made[effect.payload["token"]].add(run_id)
    yield from (f"doubled: {token} made {sorted(m)}" for token, m in made.items() if len(m) > 1)


def every_process_does_its_part(books: Books) -> Iterator[str]:
    """After all is healed, each process is a living node: none is dead and does not know it."""
    for asked in books.history.asks:
        if asked.what == "nodes" and asked.status == 200:
            living = [node for node in asked.answer["nodes"] if node["alive"]]
            if len(living) != books.history.processes:
                yield f"idle: {len(living)} nodes live of {books.history.processes} processes"


# Reading the books


def _readable(books: Books) -> list[JobBook]:
    return [book for book in books.jobs.values() if book.listed is not None]


def _fates(book: JobBook) -> tuple[dict[int, str], list[Seen]]:
    """The instants that ran, and the ranges that did not."""
    runs = {
        micros(run["scheduledFor"]): run["runId"]
        for run in book.listed or []
        if run["status"] not in RANGES and run["runId"] not in book.triggered
    }
    return runs, [run for run in book.listed or [] if run["status"] in RANGES]


def _instants_in_doubt(book: JobBook) -> list[int]:
    """Every instant that any version may account for."""
    last = max(version.low for version in book.versions)
    found: set[int] = set()
    for version in book.versions:
        if version.anchored:
            end = min(version.end_high, last)
            found.update(instants(version.schedule, version.anchor, version.low + 1, end))
    return sorted(found)


def _names(version: Version, due: int) -> bool:
    return version.anchored and version.has(due)


def _is_instant(book: JobBook, due: int) -> bool:
    return any(version.has(due) for version in book.versions)


def _is_allowed(book: JobBook, due: int) -> bool:
    for version in book.versions:
        if not version.anchored and version.may_rule(due):
            return True
        if version.schedule[0] == "once" and version.has(due):
            return True
        if version.schedule[0] == "rest" and due >= version.low + version.schedule[1]:
            return True  # no oracle knows when runs end; `resting` judges what can be judged
        if version.may_rule(due) and not version.paused and version.has(due):
            return True
    return book.in_gap(due)


def _covers(record: Seen, due: int) -> bool:
    return micros(record["scheduledFor"]) <= due <= _until(record)


def _until(record: Seen) -> int:
    return micros(record["until"] or record["scheduledFor"])


RULES: tuple[Callable[[Books], Iterator[str]], ...] = (
    every_instant_is_accounted_for,
    no_instant_has_two_fates,
    only_due_instants_are_recorded,
    ranges_hold_what_they_say,
    what_is_missed_was_too_late,
    an_end_is_final,
    answers_are_sound,
    an_edit_is_of_the_version_it_names,
    what_was_acknowledged_is_there,
    what_was_asked_once_happened_once,
    every_process_does_its_part,
)
