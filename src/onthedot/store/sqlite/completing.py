"""What functions write together with the completion of their runs, and what they read, on SQLite.

The server alone has the file, so their statements are carried out here: under an authorizer, which
keeps them inside our transaction and away from our tables, and with an end to how long they take.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from onthedot.core.model import RunRef
from onthedot.errors import StatementFailed, StoreError
from onthedot.store.refusals import lease_lost
from onthedot.store.sqlite.database import translated
from onthedot.store.sqlite.nodes import require_alive
from onthedot.store.sqlite.statements import MIGRATIONS, SQL
from onthedot.store.transactions import Statement, Table

ROWS_MAX: Final = 10_000
STEPS: Final = 100_000
STEPS_MAX: Final = 1_000
"""A statement is broken off after a hundred million steps of SQLite's machine, some seconds: the
writer is everybody's."""

_OURS: Final = frozenset(
    name
    for script in MIGRATIONS.values()
    for name in re.findall(r"create (?:table|view) (\w+)", script)
)
_NUMBERED: Final = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\")|\$(\d+)")
_FORBIDDEN: Final = frozenset(
    {
        *(sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT, sqlite3.SQLITE_PRAGMA),
        *(sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH),
    }
)
_LOOKING: Final = frozenset(
    {
        *(sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION),
        sqlite3.SQLITE_RECURSIVE,
    }
)


def complete(
    db: sqlite3.Connection,
    ref: RunRef,
    attempt: int,
    statements: Sequence[Statement],
    finish: Callable[[int], object],
) -> None:
    """`finish` writes the outcome on behalf of the node that it is given."""
    key = {"job": ref.job, "run": ref.run, "fence": ref.fence, "attempt": attempt}
    holder = db.execute(SQL["runs.holder"], key).fetchone()
    if holder is None:
        raise lease_lost()
    require_alive(db, holder[0])
    with _users_turn(db):
        for statement in statements:
            for values in statement.many:
                db.execute(_spelled(statement.sql), tuple(values))
    finish(holder[0])


def query(db: sqlite3.Connection, statement: Statement) -> Table:
    with _users_turn(db):
        found = db.execute(_spelled(statement.sql), tuple(statement.many[0]))
        rows = [list(row) for row in found.fetchmany(ROWS_MAX + 1)]
        columns = [column[0] for column in found.description or ()]
    if len(rows) > ROWS_MAX:
        raise StatementFailed(
            f"more than {ROWS_MAX} rows are read by: {_shown(statement.sql)}",
            hint="Read less at a time.",
        )
    return Table(columns, rows)


@contextmanager
def _users_turn(db: sqlite3.Connection) -> Iterator[None]:
    left = STEPS_MAX

    def tired() -> bool:
        nonlocal left
        left -= 1
        return left <= 0

    db.set_authorizer(_judge)
    db.set_progress_handler(tired, STEPS)
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OverflowError, TypeError, ValueError) as error:
        ours = translated(error) if isinstance(error, sqlite3.Error) and left > 0 else error
        if isinstance(ours, StoreError):
            raise ours from error
        why = "it takes too long" if left <= 0 else str(error)
        raise StatementFailed(
            f"the database does not take a statement: {why}",
            hint="Tables of onthedot can be read, not written; transactions and pragmas are ours.",
        ) from error
    finally:
        db.set_progress_handler(None, 0)
        db.set_authorizer(None)


def _judge(action: int, first: str | None, second: str | None, *_: Any) -> int:
    if action in _FORBIDDEN:
        return sqlite3.SQLITE_DENY
    if action not in _LOOKING and (first in _OURS or second in _OURS):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _spelled(sql: str) -> str:
    """With `?1` for `$1`, so that the same text serves both stores; what is quoted stays."""
    return _NUMBERED.sub(lambda found: found[1] or f"?{found[2]}", sql)


def _shown(sql: str) -> str:
    return sql if len(sql) <= 60 else sql[:60] + "…"
