"""The SQL of the store on PostgreSQL, by name."""

from __future__ import annotations

from typing import Final

from onthedot.store.statements import functions, load, migrations

SQL: Final = load("onthedot.store.postgres")
MIGRATIONS: Final = migrations("onthedot.store.postgres")
FUNCTIONS: Final = functions("onthedot.store.postgres")
