"""Runs that are no occurrences, made on SQLite: triggers, enqueues and redrives."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from onthedot.core.instants import Instant
from onthedot.core.model import NUMBER_MAX, Job, NewRun, created_run, lane_of, traits_of
from onthedot.store.sqlite.jobs import get_job, insert_waiting, keep_answer, kept_answer
from onthedot.store.sqlite.statements import SQL
from onthedot.store.values import Created, EnqueueRequest, Receipt


def enqueue(
    db: sqlite3.Connection,
    job: int,
    asked: Sequence[EnqueueRequest],
    now: Instant,
    receipt: Receipt | None,
) -> Created:
    repeat = kept_answer(db, receipt)
    if repeat is not None:
        return Created(repeat=repeat)
    found = get_job(db, job)
    numbers = tuple(_make(db, found, each, now) for each in asked)
    keep_answer(db, receipt, found, numbers, now)
    return Created(job=found, runs=numbers)


def _make(db: sqlite3.Connection, job: Job, asked: EnqueueRequest, now: Instant) -> int:
    definition = job.definition
    due, payload = asked
    number = free_number(db, job.id, now)
    run = NewRun(
        *(job.id, number, job.version, lane_of(definition), traits_of(definition)),
        *(definition.priority, due, due, payload),
    )
    if due > now:
        insert_waiting(db, run)
    else:
        db.execute(SQL["runs.insert_live"], (*run[:8], 1, 0, 0, payload, None, None))
    return number


def free_number(db: sqlite3.Connection, job: int, now: Instant) -> int:
    """The number after the highest that this microsecond has given to the job."""
    at = now
    while True:  # bounded: each microsecond holds a thousand numbers
        bounds = {"job": job, "first": created_run(at, 1), "last": created_run(at, NUMBER_MAX)}
        (highest,) = db.execute(SQL["runs.highest"], bounds).fetchone()
        if highest is None:
            return created_run(at, 1)
        if highest < bounds["last"]:
            return int(highest) + 1
        at += 1
