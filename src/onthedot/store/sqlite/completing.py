"""What functions write together with the completion of their runs, and what they read, on SQLite.

The server alone has the file, so their statements are carried out here, as far as `permitting.py`
allows them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

from onthedot.core.model import RunRef
from onthedot.errors import StatementFailed, StoreError, StoreFull
from onthedot.store.refusals import lease_lost
from onthedot.store.sqlite.connecting import translated
from onthedot.store.sqlite.nodes import require_alive
from onthedot.store.sqlite.permitting import Turn, turn
from onthedot.store.sqlite.statements import SQL
from onthedot.store.transactions import Statement, Table

ROWS_MAX: Final = 10_000
BYTES_MAX: Final = 16 * 1024 * 1024
"""Of what is read at once: it goes to the runner process as one message."""
BATCH: Final = 100
SHOWN_MAX: Final = 100

_NUMBERED: Final = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\")|\$(\d+)")


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
    carry_out(db, statements)
    finish(holder[0])


def carry_out(db: sqlite3.Connection, statements: Sequence[Statement]) -> None:
    """Raises StatementFailed; then the transaction may be over, too."""
    with turn(db, reading=False) as its_turn:
        for statement in statements:
            with _of_the_user(its_turn, statement):
                for values in statement.many:
                    db.execute(_spelled(statement.sql), tuple(values))


def query(db: sqlite3.Connection, statement: Statement) -> Table:
    with (
        turn(db, reading=True) as its_turn,
        _of_the_user(its_turn, statement),
        closing(db.execute(_spelled(statement.sql), tuple(statement.many[0]))) as found,
    ):
        columns = [column[0] for column in found.description or ()]
        return Table(columns, _all_of(found, statement))


def _all_of(found: sqlite3.Cursor, statement: Statement) -> list[list[Any]]:
    rows: list[list[Any]] = []
    size = 0
    while some := found.fetchmany(BATCH):
        rows += map(list, some)
        size += sum(len(value) for row in some for value in row if isinstance(value, str | bytes))
        if len(rows) > ROWS_MAX or size > BYTES_MAX:
            raise StatementFailed(
                f"more than {ROWS_MAX} rows, or {BYTES_MAX // 1024**2} MB, are read by:"
                f" {_shown(statement.sql)}",
                hint="Read less at a time.",
            )
    return rows


@contextmanager
def _of_the_user(its_turn: Turn, statement: Statement) -> Iterator[None]:
    """Whatever fails here is the statement's fault, unless the file does not answer. SQLite also
    says that it is full when a table has no number left.
    """
    its_turn.begin()
    try:
        yield
    except StatementFailed:
        raise
    except Exception as error:
        at_fault = translated(error) if isinstance(error, sqlite3.Error) else error
        full = isinstance(at_fault, StoreFull)
        if isinstance(at_fault, StoreError) and not full and not its_turn.spent:
            raise at_fault from error
        why = its_turn.spent or (its_turn.refused and f"it may not {its_turn.refused}")
        raise StatementFailed(
            f"the database does not take a statement: {why or error}, in: {_shown(statement.sql)}",
            hint="Functions may read everything, and change tables and indexes of their own.",
        ) from error


def _spelled(sql: str) -> str:
    """With `?1` for `$1`, so that the same text serves both stores; what is quoted stays."""
    return _NUMBERED.sub(lambda found: found[1] or f"?{found[2]}", sql)


def _shown(sql: str) -> str:
    return sql if len(sql) <= SHOWN_MAX else sql[:SHOWN_MAX] + "…"
