"""How runs leave the live tables for history. Every other module ends runs through these."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from onthedot.core.instants import Instant
from onthedot.core.model import Record, occurrence
from onthedot.core.states import Status
from onthedot.store.codec import STATUS_CODES
from onthedot.store.sqlite.chains import advance_chain
from onthedot.store.sqlite.statements import SQL


class HeldRun(NamedTuple):
    """A live or waiting row, as far as ending it needs to know."""

    job: int
    run: int
    version: int
    attempt: int
    rescues: int
    fence: int
    due: Instant
    owner: int | None


def record_ranges(db: sqlite3.Connection, records: Iterable[Record], now: Instant) -> None:
    """Missed and skipped ranges: attempt 0, since nothing was ever tried. A single instant that
    has a run or a fate already, from another schedule of the same job, is accounted for.
    """
    db.executemany(
        SQL["runs.append"],
        [
            (
                *(record.job, occurrence(record.first), 0, 0, record.version),
                *(STATUS_CODES[record.status], record.first, None, now, None, 0),
                *(None, None, record.reason, record.last, record.count),
            )
            for record in records
            if (record.count or 1) > 1 or not is_taken(db, record.job, occurrence(record.first))
        ],
    )


def is_taken(db: sqlite3.Connection, job: int, run: int) -> bool:
    """Whether this number has a run or a fate already. An instant of one schedule may have been
    an instant of another one of the same job before: whoever came first accounts for it.
    """
    return bool(db.execute(SQL["runs.is_taken"], {"job": job, "run": run}).fetchone()[0])


def end_unstarted(
    db: sqlite3.Connection, run: HeldRun, status: Status, *, reason: str, now: Instant
) -> None:
    """End a run that nobody is executing: its row goes, its fate is appended, a chain goes on."""
    db.execute(SQL["runs.leave_waiting"], (run.job, run.run))
    db.execute(SQL["runs.leave_live"], (run.job, run.run))
    db.execute(
        SQL["runs.append"],
        (
            *(run.job, run.run, run.attempt, run.fence, run.version, STATUS_CODES[status]),
            *(run.due, None, now, run.owner, run.rescues, None, None, reason, None, None),
        ),
    )
    if run.owner is not None:
        db.execute(SQL["runs.drop_signal"], (run.owner, run.job, run.run))
    advance_chain(db, run.job, run.run, now)


def lose(db: sqlite3.Connection, run: HeldRun, now: Instant) -> None:
    """End an at-most-once run of a dead owner, who may have started it: nobody starts it again,
    whatever else was wished.
    """
    words = f"node {run.owner} died: whether it started this run, and how that ended, is unknown"
    facts = {"job": run.job, "run": run.run, "now": now, "error": words}
    db.execute(SQL["runs.lose"], facts)
    db.execute(SQL["runs.insert_lost_dead_letters"], facts)
    db.execute(SQL["outbox.note"], (run.job, run.run, run.attempt))
    db.execute(SQL["runs.leave_live"], (run.job, run.run))
    db.execute(SQL["runs.drop_signal"], (run.owner, run.job, run.run))
    advance_chain(db, run.job, run.run, now)


def signal_for(db: sqlite3.Connection, node: int, job: int, run: int) -> str | None:
    """The reason why this run shall end, if somebody has asked its owner for that."""
    row = db.execute(SQL["runs.signal_of"], (node, job, run)).fetchone()
    return None if row is None else str(row[0])
