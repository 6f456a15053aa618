"""The SQL of the store on PostgreSQL, by name."""

from __future__ import annotations

from typing import Final

from onthedot.store.statements import functions, load, migrations, numbered

_NUMBERED = {name: numbered(text) for name, text in load("postgres").items()}
SQL: Final = {name: text for name, (text, _) in _NUMBERED.items()}
PARAMETERS: Final = {name: parameters for name, (_, parameters) in _NUMBERED.items()}
"""The values of shared statements, in the order of their numbers."""
MIGRATIONS: Final = migrations("onthedot.store.postgres")
FUNCTIONS: Final = functions("onthedot.store.postgres")
