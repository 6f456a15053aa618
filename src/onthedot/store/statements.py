"""SQL by name, read once from the `.sql` files of a store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib.resources import files

_MARK = "-- name: "
_DIALECT = re.compile(r"-- (postgres|sqlite): ")
_NAMED = re.compile(r"(?<![:\w]):([a-z]\w*)")


def load(store: str) -> dict[str, str]:
    """The statements of a store and those that it shares with the others, from the folders `sql` of
    its package and of `shared`; each begins with a line that names it.
    """
    found: dict[str, str] = {}
    for package in ("onthedot.store.shared", f"onthedot.store.{store}"):
        for file in sorted((files(package) / "sql").iterdir(), key=lambda each: each.name):
            for part in file.read_text().split(_MARK)[1:]:
                name, _, statement = part.partition("\n")
                assert name not in found, f"two statements are called {name}"
                found[name] = _only_for(store, statement).strip()
    return found


def _only_for(store: str, statement: str) -> str:
    """Without the lines that are for other stores."""
    lines = []
    for line in statement.splitlines():
        dialect = _DIALECT.match(line)
        if dialect is None:
            lines.append(line)
        elif dialect[1] == store:
            lines.append(line[dialect.end() :])
    return "\n".join(lines)


def numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    """A statement with `$1` for the first of its values that are written as `:name`, and so on; and
    their names in this order.
    """
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"${names.setdefault(found[1], len(names) + 1)}"

    return _NAMED.sub(number, statement), tuple(names)


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
