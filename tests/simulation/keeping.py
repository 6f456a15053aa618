"""The rules about what functions wrote in the transaction of their run: there once, with its
success, or not at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from tests.simulation.books import Books

EXACTLY = "exactly_once"


def what_is_kept_came_with_a_success(books: Books) -> Iterator[str]:
    """Once, for a run that succeeded, by a start of the attempt that did."""
    kept: dict[str, list[str]] = defaultdict(list)
    for each in books.history.kept:
        kept[each.run_id].append(each.effect)
    for run_id, effects in kept.items():
        run = books.runs.get(run_id)
        if len(effects) > 1:
            yield f"kept {len(effects)} times: {run_id} by {effects}"
        if run is None or run["status"] != "succeeded":
            yield f"kept, and not succeeded: {run_id} is {run and run['status']}, by {effects}"
            continue
        starts = {effect.name: effect for effect in books.effects.get(run_id, ())}
        first = starts.get(effects[0])
        if first is not None and first.end in ("failed", "refused"):
            yield f"kept, though its function failed: {run_id} by {effects}"
        if first is None or first.attempt != run["attempt"]:
            yield f"kept by another: {run_id} succeeded at {run['attempt']}, kept by {effects}"


def a_success_is_kept(books: Books) -> Iterator[str]:
    kept = {each.run_id for each in books.history.kept}
    for run_id, run in books.runs.items():
        book = books.jobs.get(run["jobId"])
        if book is not None and book.first["guarantee"] == EXACTLY:
            if run["status"] == "succeeded" and run_id not in kept:
                yield f"succeeded, and nothing is kept: {run_id}"


KEEPING_RULES: tuple[Callable[[Books], Iterator[str]], ...] = (
    what_is_kept_came_with_a_success,
    a_success_is_kept,
)
