"""SQL by name, read once from the `.sql` files of a store."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files

_MARK = "-- name: "


def load(package: str) -> dict[str, str]:
    """The statements in the folder `sql` of a package; each begins with a line that names it."""
    found: dict[str, str] = {}
    for file in sorted((files(package) / "sql").iterdir(), key=lambda each: each.name):
        for part in file.read_text().split(_MARK)[1:]:
            name, _, statement = part.partition("\n")
            assert name not in found, f"two statements are called {name}"
            found[name] = statement.strip()
    return found


def migrations(package: str) -> dict[int, str]:
    """The numbered scripts in the folder `migrations`; the highest is the schema that we speak."""
    folder = files(package) / "migrations"
    return {int(file.name.removesuffix(".sql")): file.read_text() for file in folder.iterdir()}


def functions(package: str) -> str:
    """All scripts in the folder `functions`, as one: they are applied as a whole."""
    folder = files(package) / "functions"
    scripts = (file for file in folder.iterdir() if file.name.endswith(".sql"))
    return "\n".join(file.read_text() for file in sorted(scripts, key=lambda each: each.name))


def fingerprint(script: str) -> str:
    """What a database keeps of each migration that was applied to it."""
    return hashlib.sha256(script.encode()).hexdigest()


def edited(applied: Mapping[int, str], scripts: Mapping[int, str]) -> int | None:
    """The first migration that was applied in another form than ours; None if there is none."""
    for number, found in sorted(applied.items()):
        if number in scripts and fingerprint(scripts[number]) != found:
            return number
    return None
