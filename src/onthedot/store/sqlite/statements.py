"""The SQL of the store, by name, read once from the `.sql` files beside this module."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

_MARK = "-- name: "


def _load() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sorted((files(__package__) / "sql").iterdir(), key=lambda each: each.name):
        for part in file.read_text().split(_MARK)[1:]:
            name, _, statement = part.partition("\n")
            assert name not in found, f"two statements are called {name}"
            found[name] = statement.strip()
    return found


SQL: Final = _load()
