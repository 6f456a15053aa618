"""The rules about fixed delays: each occurrence counts from the end of the last, and comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.simulation.books import FOREVER, Books, JobBook
from tests.simulation.oracle import SECOND, micros

PROMPT = 20 * SECOND
"""So soon after it is due a run is there, when all is healed and the server has caught up."""


def a_fixed_delay_rests(books: Books) -> Iterator[str]:
    """No two at once: the next is due one delay after the end of the last, or later."""
    for book in _resting(books):
        delay = min(version.schedule[1] for version in book.versions)
        for earlier, later in pairwise(_occurrences(book)):
            rest = micros(later["scheduledFor"]) - micros(earlier["finishedAt"])
            if rest < delay - books.history.slack:
                yield f"no rest: {later['runId']} is due {rest} µs after the end of the last"


def a_fixed_delay_goes_on(books: Books) -> Iterator[str]:
    """Until the auditor paused it, long after all was healed, there was always a next one."""
    for book in _resting(books):
        last, before = book.versions[-1], book.versions[-2:-1]
        by_auditor = last.paused and _was_active_to_the_end(books, book.job_id)
        if not by_auditor or not before or before[0].paused or book.deleting_from != FOREVER:
            continue
        patience = before[0].schedule[1] + PROMPT + books.history.slack
        signs = [before[0].high, *(micros(run["finishedAt"]) for run in _occurrences(book))]
        if max(signs) < last.low - patience:
            yield f"broken: {book.job_id} has no run since {max(signs)}, {last.low} at its end"


def _was_active_to_the_end(books: Books, job_id: str) -> bool:
    """Whether the auditor, who reads all jobs before it pauses them, found it active. One that a
    client had paused, perhaps in the middle of a fault, was over when nobody could know it yet.
    """
    active = False
    for asked in books.history.asks:
        if asked.what == "jobs" and asked.status == 200:
            for job in asked.answer["jobs"]:
                active = not job["paused"] if job["jobId"] == job_id else active
        if (asked.what, asked.expected, asked.job_id) == ("pause", None, job_id):
            return active
    return False


def _resting(books: Books) -> Iterator[JobBook]:
    """Jobs that never had another schedule, of which all is known."""
    for book in books.jobs.values():
        certain = book.listed is not None and not book.gaps and not book.doubtful_triggers
        if certain and all(version.schedule[0] == "rest" for version in book.versions):
            yield book


def _occurrences(book: JobBook) -> list[dict[str, Any]]:
    found = [run for run in book.listed or [] if run["runId"] not in book.triggered]
    return sorted((run for run in found if run["finishedAt"]), key=lambda run: run["scheduledFor"])


RESTING_RULES: tuple[Callable[[Books], Iterator[str]], ...] = (
    a_fixed_delay_rests,
    a_fixed_delay_goes_on,
)
