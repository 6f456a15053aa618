"""The SQL of the store on SQLite, by name."""

from __future__ import annotations

from typing import Final

from onthedot.store.statements import load, migrations

SQL: Final = load("sqlite")
MIGRATIONS: Final = migrations("onthedot.store.sqlite")
