"""Running the past: which instants of a job never ran.

Instants are those of the audit, worked out from the definitions. Before a job was created, its
first version says what would have been due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from onthedot.core.audit import (
    AuditBalance,
    AuditSnapshot,
    RecordedOccurrence,
    Version,
    Walk,
    due_instants,
    still_to_come,
)
from onthedot.core.effort import SLICE, spent
from onthedot.core.instants import Instant
from onthedot.core.model import Definition, Once
from onthedot.core.schedules import FixedDelay
from onthedot.core.states import Status
from onthedot.errors import Invalid

BACKFILL_MAX: Final = 10_000
CONCURRENCY_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillOptions:
    """How a backfill is run: `concurrency` at a time, beside everything else that runs."""

    priority: int = 0
    concurrency: int = 5
    newest_first: bool = False


def refuse_fixed_delay(definition: Definition) -> None:
    """Its instants follow from its runs, one from the other: none of them can be missing."""
    if isinstance(definition.schedule, FixedDelay):
        raise Invalid(
            "the job has a fixed delay: its instants follow from its runs, so none is missing",
            hint="Trigger the job, as often as needed.",
            field="from",
        )


class Missing(NamedTuple):
    """Instants that never ran, oldest first, as far as `reached`; `looked_at` is the work done."""

    dues: list[Instant]
    reached: Instant
    looked_at: int


def missing(
    books: AuditSnapshot,
    fates: Sequence[RecordedOccurrence],
    *,
    after: Instant,
    until: Instant,
    most: int,
) -> Missing:
    """What was due in (after, until] and was missed or skipped, or was never recorded; what is
    under way or still to come is not missing.
    """
    walk, ignored = Walk(fates, after), AuditBalance()
    found: list[Instant] = []
    looked_at, begun = 0, spent()
    for due, version, _ in due_instants(reaching_back(books, after), after, until):
        if looked_at >= most or (looked_at and spent() - begun >= 2 * SLICE):
            return Missing(found, due - 1, looked_at)
        looked_at += 1
        fate = walk.at(due, ignored)
        if fate is not None:
            lost = fate.status in (Status.MISSED, Status.SKIPPED)
        else:
            lost = due not in books.live and still_to_come(books, due, version) is None
        if lost:
            found.append(due)
    return Missing(found, until, looked_at)


def reaching_back(books: AuditSnapshot, after: Instant) -> AuditSnapshot:
    """The books as if the first version had always been there."""
    first, *others = books.versions
    if books.created_at >= books.edge:
        books = replace(books, edge=0)  # what was forgotten was not this job's
    if first.number != 1 or first.since <= after or isinstance(first.schedule, Once | FixedDelay):
        return books
    versions: list[Version] = [replace(first, since=after), *others]
    return replace(books, versions=versions)
