"""Notices of failed runs on SQLite, as they are made."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from onthedot.core.model import Outcome
from onthedot.store.sqlite.statements import SQL


def note_failures(db: sqlite3.Connection, outcomes: Iterable[Outcome]) -> None:
    """Of runs whose end is in history by now; those whose job asks for it get a notice."""
    keys = [(outcome.job, outcome.run, outcome.attempt) for outcome in outcomes]
    db.executemany(SQL["outbox.note"], keys)
