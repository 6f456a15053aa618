"""Notices of failed runs on SQLite, as they are made."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from onthedot.core.ending import EndedRun
from onthedot.store.sqlite.statements import SQL


def note_failures(db: sqlite3.Connection, failures: Iterable[EndedRun]) -> None:
    """Of runs whose end is in history by now; those whose job asks for it get a notice."""
    keys = [(failure.job, failure.run, failure.attempt) for failure in failures]
    db.executemany(SQL["outbox.note"], keys)
