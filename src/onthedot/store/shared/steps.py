"""How a verb is written once for every store.

A verb is a generator: it yields statements by name, with their values, is sent the rows, and
returns its result. SQLite's writer drives it in one thread, PostgreSQL's driver awaits each
statement; neither is seen here. Statements are in `shared/sql`, with values as `:name`; a line
that begins with `-- postgres:` or `-- sqlite:` belongs to that store only.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Row: TypeAlias = Any


class Ask(NamedTuple):
    """A statement by its name."""

    statement: str
    values: Mapping[str, object]


Steps: TypeAlias = Generator[Ask, list[Row], T]


class Session(Protocol):
    """What a store offers to shared verbs."""

    async def write(self, verb: Callable[[], Steps[T]]) -> T:
        """Run a verb in a transaction; it may be begun again if nothing of it was written."""
        ...

    async def read(self, verb: Callable[[], Steps[T]]) -> T:
        """Run a verb that only reads: all its statements see the same moment."""
        ...

    async def rows(self, statement: str, **values: object) -> list[Row]:
        """Run one statement that only reads."""
        ...


def rows(statement: str, **values: object) -> Steps[list[Row]]:
    return (yield Ask(statement, values))


def row(statement: str, **values: object) -> Steps[Row]:
    """The first row; None if there is none."""
    found = yield Ask(statement, values)
    return found[0] if found else None


def value(statement: str, **values: object) -> Steps[Any]:
    """The first column of the first row; None if there is none."""
    found = yield Ask(statement, values)
    return found[0][0] if found else None
