"""The history put in order: which versions a job had and when, which runs it has, who started them.

Nobody outside can know the microsecond at which an edit took effect. It lies between the instant
the answer names and a second after somebody first saw the edit; all that is required or allowed
around it follows from that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.simulation.history import Ask, Effect, History
from tests.simulation.oracle import SECOND, instants, micros, schedule_of

HOLDS_AFTER = SECOND
FOREVER = 1 << 62
OVER = frozenset({"succeeded", "failed", "cancelled", "skipped", "missed", "lost"})
READS = frozenset({"books", "books again", "read", "list", "look"})


@dataclass(slots=True)
class Version:
    """One version of a job. It began in [low, high] and accounts for what is due after that."""

    number: int
    job: dict[str, Any]
    low: int
    high: int
    end_low: int = FOREVER
    end_high: int = FOREVER
    anchor: int = 0
    anchored: bool = True

    @property
    def schedule(self) -> tuple[Any, ...]:
        return schedule_of(self.job)

    @property
    def paused(self) -> bool:
        return bool(self.job["paused"])

    def may_rule(self, due: int) -> bool:
        return self.low < due <= self.end_high

    def has(self, due: int) -> bool:
        return bool(instants(self.schedule, self.anchor, due, due))


@dataclass(slots=True)
class JobBook:
    """`listed`: its runs as the books show them, None if they could not be read. `gaps`: where a
    version may have ruled that nobody ever saw. `muted`: somebody may have changed who is told of
    its failures.
    """

    job_id: str
    versions: list[Version] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    deleting_from: int = FOREVER
    deleted_by: int | None = None
    listed: list[dict[str, Any]] | None = None
    retries_asked: list[int] = field(default_factory=list)
    triggered: set[str] = field(default_factory=set)
    doubtful_triggers: list[Ask] = field(default_factory=list)
    muted: bool = False

    @property
    def first(self) -> dict[str, Any]:
        return self.versions[0].job

    def may_rule(self, due: int) -> list[Version]:
        return [version for version in self.versions if version.may_rule(due)]

    def in_gap(self, due: int) -> bool:
        return any(low < due <= high for low, high in self.gaps)

    def pause_ends(self, version: Version) -> bool:
        return any(
            later.number > version.number
            and (not later.paused or later.schedule != version.schedule)
            for later in self.versions
        )


@dataclass(slots=True)
class Books:
    """`redriven`: runs that do a failed one again, and that one."""

    history: History
    jobs: dict[str, JobBook]
    runs: dict[str, dict[str, Any]]
    again: dict[str, dict[str, Any]]
    effects: dict[str, list[Effect]]
    redriven: dict[str, str]


def open_books(history: History) -> Books:
    seen = _jobs_seen(history)
    books = {name: _job_book(name, snapshots, history) for name, snapshots in seen.items()}
    runs: dict[str, dict[str, Any]] = {}
    again: dict[str, dict[str, Any]] = {}
    for asked in history.asks:
        if asked.status == 200 and asked.what in ("books", "books again"):
            shelf = runs if asked.what == "books" else again
            shelf.update({run["runId"]: run for run in _runs_in(asked.answer)})
            if asked.what == "books" and asked.job_id in books:
                book = books[asked.job_id]
                book.listed = (book.listed or []) + asked.answer["runs"]
    effects: dict[str, list[Effect]] = defaultdict(list)
    for effect in history.effects:
        effects[effect.run_id].append(effect)
    redriven = {name: run["redriveOf"] for name, run in runs.items() if run["redriveOf"]}
    for name in redriven:
        if runs[name]["jobId"] in books:
            books[runs[name]["jobId"]].triggered.add(name)
    own = {name: starts for name, starts in effects.items() if name not in redriven}
    _attribute_triggers(history, books, own)
    return Books(history, books, runs, again, dict(effects), redriven)


def reads(history: History) -> Iterator[tuple[Ask, dict[str, Any]]]:
    """Every sight of a run that anybody had."""
    for asked in history.asks:
        if asked.status == 200 and asked.what in READS:
            for run in _runs_in(asked.answer):
                yield asked, run


def _runs_in(answer: dict[str, Any]) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = answer.get("runs", [answer])
    return runs


# Versions


def _jobs_seen(history: History) -> dict[str, dict[int, tuple[dict[str, Any], int]]]:
    """Each version of each job as it was seen, and when it was seen first."""
    seen: dict[str, dict[int, tuple[dict[str, Any], int]]] = defaultdict(dict)
    for asked in history.asks:
        if asked.status not in (200, 201) or asked.answered is None:
            continue
        for job in _jobs_in(asked.answer):
            versions = seen[job["jobId"]]
            if job["version"] not in versions or asked.answered < versions[job["version"]][1]:
                versions[job["version"]] = (job, asked.answered)
    return seen


def _jobs_in(answer: Any) -> list[dict[str, Any]]:
    if isinstance(answer, dict) and "jobs" in answer:
        jobs: list[dict[str, Any]] = answer["jobs"]
        return jobs
    return [answer] if isinstance(answer, dict) and "handlerUrl" in answer else []


def _job_book(
    name: str, snapshots: Mapping[int, tuple[dict[str, Any], int]], history: History
) -> JobBook:
    book = JobBook(name)
    slack = history.slack
    for number in sorted(snapshots):
        job, seen = snapshots[number]
        seen = min(at for later, (_, at) in snapshots.items() if later >= number)
        created = micros(job["createdAt"])
        low, high = micros(job["updatedAt"]) - slack, seen + HOLDS_AFTER + slack
        low, high = (created, created) if number == 1 else (max(low, created), high)
        book.versions.append(Version(number, job, low, high))
    for before, after in pairwise(book.versions):
        before.end_low, before.end_high = after.low, after.high
        if after.number > before.number + 1:
            book.gaps.append((before.low, after.high))
    _anchor(book)
    _note_deletion(book, history)
    book.muted = any(
        asked.method == "PATCH" and asked.job_id == name and "onFailure" in asked.said
        for asked in history.asks
    )
    book.retries_asked = [
        asked.said["retries"]
        for asked in history.asks
        if asked.method == "PATCH" and asked.job_id == name and "retries" in asked.said
    ]
    return book


def _anchor(book: JobBook) -> None:
    """An interval is counted from the creation, or from the edit that brought it."""
    before: Version | None = None
    for version in book.versions:
        version.anchor = micros(version.job["updatedAt"])
        if before is None:
            version.anchor = micros(version.job["createdAt"])
            version.anchored = version.number == 1
        elif version.schedule == before.schedule:
            version.anchor, version.anchored = before.anchor, before.anchored
        elif version.number != before.number + 1:
            version.anchored = False
        before = version


def _note_deletion(book: JobBook, history: History) -> None:
    for asked in history.asks:
        if asked.what == "delete" and asked.job_id == book.job_id:
            if asked.status not in (404, 409, 0):
                book.deleting_from = min(book.deleting_from, asked.sent - history.slack)
            if asked.status == 204 and asked.answered_at is not None:
                known = book.deleted_by
                book.deleted_by = min(known or FOREVER, asked.answered_at)


# Triggers


def _attribute_triggers(
    history: History, books: Mapping[str, JobBook], effects: Mapping[str, list[Effect]]
) -> None:
    """Which runs were asked for: by the answer, or by the token that the handler was sent."""
    by_token = {
        starts[0].payload["token"]: run for run, starts in effects.items() if starts[0].payload
    }
    answered = {
        asked.key for asked in history.asks if asked.what in TRIGGERS and asked.status == 202
    }
    for asked in history.asks:
        if asked.what not in TRIGGERS or asked.job_id is None or asked.job_id not in books:
            continue
        book = books[asked.job_id]
        token = asked.said["payload"]["token"]
        if asked.status == 202:
            book.triggered.add(asked.answer["runId"])
        elif token in by_token:
            book.triggered.add(by_token[token])
        elif asked.status in (None, 503, 507) and asked.key not in answered:
            book.doubtful_triggers.append(asked)


TRIGGERS = ("trigger", "probe")
