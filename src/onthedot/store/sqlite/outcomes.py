"""How runs leave the live tables for history. Every other module ends runs through these."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from onthedot.core.ending import EndedRun
from onthedot.core.instants import Instant
from onthedot.core.model import Record, occurrence
from onthedot.core.states import Status
from onthedot.core.traits import is_chained
from onthedot.store.codec import STATUS_CODES
from onthedot.store.sqlite.chains import advance_chain
from onthedot.store.sqlite.outbox import note_failures
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
    started: Instant | None
    payload: str | None
    traits: int

    def ended(self, status: Status, *, reason: str, now: Instant) -> EndedRun:
        """As one that was not started, or of which nobody knows."""
        return EndedRun(
            job=self.job,
            run=self.run,
            attempt=self.attempt,
            fence=self.fence,
            version=self.version,
            status=status,
            due=self.due,
            started=None,
            finished=now,
            node=self.owner,
            rescues=self.rescues,
            error=None,
            output=None,
            reason=reason,
            payload=self.payload,
            traits=self.traits,
        )


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


def end_runs(db: sqlite3.Connection, ended: Sequence[EndedRun]) -> Instant | None:
    """The end of runs, whoever ends them and for whatever reason. The caller has deleted their live
    or waiting rows. History, dead letters, requests to cancel and what follows are written here and
    nowhere else; returns when the first run that follows is due.

    Only plain successes go another way (`finish_plainly`): nothing but history is kept of them.
    """
    db.executemany(SQL["runs.append"], map(_history_row, ended))
    letters = [_dead_letter_row(each) for each in ended if each.is_failure]
    db.executemany(SQL["runs.insert_dead_letter"], letters)
    if db.execute(SQL["runs.any_signal"]).fetchone()[0]:
        requests = [(each.node, each.job, each.run) for each in ended]
        db.executemany(SQL["runs.drop_signal"], requests)
    return after_end(db, [each for each in ended if each.is_followed])


def after_end(db: sqlite3.Connection, ended: Sequence[EndedRun]) -> Instant | None:
    """What follows the end of runs, one kind of consequence after the other and each in the order
    of job and run, as on PostgreSQL. Returns when the first run that was made is due.
    """
    ordered = sorted(ended, key=itemgetter(0, 1))
    note_failures(db, [each for each in ordered if each.is_failure])
    links = [each for each in ordered if is_chained(each.traits)]
    dues = [advance_chain(db, each.job, each.run, each.finished) for each in links]
    return min((due for due in dues if due is not None), default=None)


def _history_row(ended: EndedRun) -> tuple[object, ...]:
    return (*ended[:5], STATUS_CODES[ended.status], *ended[6:14], None, None)


def _dead_letter_row(ended: EndedRun) -> tuple[object, ...]:
    return (
        *(ended.job, ended.run, ended.version, ended.attempt, ended.due),
        *(ended.finished, ended.error, ended.payload),
    )


def end_unstarted(
    db: sqlite3.Connection, run: HeldRun, status: Status, *, reason: str, now: Instant
) -> None:
    """End a run that nobody is executing."""
    db.execute(SQL["runs.leave_waiting"], (run.job, run.run))
    db.execute(SQL["runs.leave_live"], (run.job, run.run))
    end_runs(db, [run.ended(status, reason=reason, now=now)])


def lose(db: sqlite3.Connection, run: HeldRun, now: Instant) -> None:
    """End an at-most-once run of a dead owner, who may have started it: nobody starts it again,
    whatever else was wished.
    """
    words = f"node {run.owner} died: whether it started this run, and how that ended, is unknown"
    db.execute(SQL["runs.leave_live"], (run.job, run.run))
    lost = run.ended(Status.LOST, reason="node died", now=now)
    end_runs(db, [lost._replace(started=run.started, error=words)])


def signal_for(db: sqlite3.Connection, node: int, job: int, run: int) -> str | None:
    """The reason why this run shall end, if somebody has asked its owner for that."""
    row = db.execute(SQL["runs.signal_of"], (node, job, run)).fetchone()
    return None if row is None else str(row[0])
