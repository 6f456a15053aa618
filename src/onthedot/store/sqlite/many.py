"""Statements that take many rows at once.

Row by row, the writer would have to wait for the interpreter, which the event loop has, before each
of them; and as JSON each value costs a third of a microsecond to be found. So such a statement has
one row of question marks after `values`, and is given as many of them as there are rows.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import cache
from itertools import chain

ROWS_MAX = 256

_ROW = re.compile(r"(?<=\(values )\(\?(?:, \?)*\)")


def execute_many(
    db: sqlite3.Connection,
    statement: str,
    rows: Sequence[Sequence[object]],
    given: Sequence[object] = (),
) -> int:
    """How many rows it changed. `given` are values that stand before the rows, the same for all."""
    changed = done = 0
    while done < len(rows):
        # By powers of two, so that few texts are made, and all of them stay prepared.
        count = min(ROWS_MAX, 1 << ((len(rows) - done).bit_length() - 1))
        values = chain(given, *rows[done : done + count])
        changed += db.execute(_widened(statement, count), tuple(values)).rowcount
        done += count
    return changed


@cache
def _widened(statement: str, rows: int) -> str:
    """The statement for so many rows. Bounded: few statements are such, each in nine sizes."""
    widened, found = _ROW.subn(lambda row: ", ".join([row[0]] * rows), statement)
    assert found == 1, f"one row of question marks is to be repeated: {statement}"
    return widened
