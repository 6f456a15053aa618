"""What functions may do with the file, and how much of it: an authorizer, which SQLite asks while
it compiles a statement, and limits.

Allowed is what is listed here: reading everything, and writing, creating, altering and dropping
tables and indexes in `main` that are not ours. So nothing temporary, attached or virtual, no view,
no trigger, no pragma, no transaction, and no function but those that compute. It guards against
mistakes; code that is hostile can open the file itself.
"""

from __future__ import annotations

import resource
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from typing import Any, Final

from onthedot.clock import thread_seconds
from onthedot.store.sqlite.connecting import MEMORY, connect
from onthedot.store.sqlite.migrations import migrate
from onthedot.store.sqlite.statements import SQL

STEPS: Final = 500
STEPS_MAX: Final = 100_000_000
SECONDS_MAX: Final = 3.0
"""Of the processor, for all statements of a function together: the writer is everybody's."""
MEMORY_MAX: Final = 256 * 1024 * 1024
VALUE_MAX: Final = 1_000_000
"""Bytes. SQLite's own limit is a thousand times that, and it asks nobody while it makes a value."""
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: VALUE_MAX,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: VALUE_MAX,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024

RESERVED: Final = b"onthedot_"
"""So begin the names of tables that a later version may need."""
SCHEMA: Final = frozenset({b"sqlite_master", b"sqlite_schema"})
"""SQLite names it when tables are made, and lets nobody else write to it."""

FUNCTIONS: Final = frozenset(
    b"""
    -> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling changes char coalesce concat
    concat_ws cos cosh count cume_dist current_date current_time current_timestamp date datetime
    degrees dense_rank exp first_value floor format glob group_concat hex if ifnull iif instr json
    json_array json_array_insert json_array_length json_error_position json_extract json_group_array
    json_group_object json_insert json_object json_patch json_pretty json_quote json_remove
    json_replace json_set json_type json_valid jsonb jsonb_array jsonb_array_insert jsonb_extract
    jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove
    jsonb_replace jsonb_set julianday lag last_insert_rowid last_value lead length like likelihood
    likely ln log log10 log2 lower ltrim max median min mod nth_value ntile nullif octet_length
    percent_rank percentile percentile_cont percentile_disc pi pow power printf quote radians random
    randomblob rank replace round row_number rtrim sign sin sinh soundex sqlite_version sqrt
    strftime string_agg substr substring subtype sum tan tanh time timediff total total_changes trim
    trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely upper zeroblob
    """.split()
)

_FREE: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE})
_ROWS: Final = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_NAMED: Final = frozenset(
    {
        *(sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_REINDEX),
        *(sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_DROP_INDEX),
    }
)


@cache
def ours() -> frozenset[bytes]:
    """The names of all tables, views and indexes of ours, as SQLite compares names."""
    with closing(connect(MEMORY)) as db:
        migrate(db, installation="")
        return frozenset(_folded(name) for (name,) in db.execute(SQL["inspect.names"]))


class Turn:
    """While functions have the connection. `refused` is what the statement may not do, in words;
    `spent` is the limit that it has met.
    """

    def __init__(self, *, reading: bool) -> None:
        self.refused = ""
        self.spent = ""
        self._reading = reading
        self._ours = ours()
        self._changing = False
        self._ticks = 0
        self._until_s = thread_seconds() + SECONDS_MAX
        self._memory_max = _peak() + MEMORY_MAX

    def begin(self) -> None:
        """The next statement."""
        self.refused = ""
        self._changing = False

    def authorize(
        self, action: int, first: str | None, second: str | None, database: str | None, _: Any
    ) -> int:
        if self._allows(action, _folded(first), _folded(second), database):
            return sqlite3.SQLITE_OK
        self.refused = self.refused or " ".join(filter(None, (_WORDS.get(action), first, second)))
        return sqlite3.SQLITE_DENY

    def tick(self) -> bool:
        """Called every so many steps: whether it is enough."""
        self._ticks += 1
        if self._ticks * STEPS > STEPS_MAX or thread_seconds() > self._until_s:
            self.spent = "it takes too long"
        elif _peak() > self._memory_max:
            self.spent = f"it takes more than {MEMORY_MAX // 1024**2} MB of memory"
        return bool(self.spent)

    def _allows(self, action: int, first: bytes, second: bytes, database: str | None) -> bool:
        if action in _FREE:
            return True
        if action == sqlite3.SQLITE_FUNCTION:
            # Those that SQLite alters tables with are its own: nobody else can call them.
            return second in FUNCTIONS or (self._changing and second.startswith(b"sqlite_"))
        if action == sqlite3.SQLITE_READ:
            return database in (None, "main") or self._changing
        if action == sqlite3.SQLITE_PRAGMA:  # a column with a constraint is added
            return self._changing and first == b"quick_check"
        if action in _ROWS:
            return self._may_write(first, database)
        if self._reading:
            return False
        if action == sqlite3.SQLITE_ALTER_TABLE:
            self._changing = first == b"main" and self._is_theirs(second)
            return self._changing
        if action in _NAMED and database == "main":
            is_theirs = second not in self._ours and self._is_theirs(first)
            self._changing |= is_theirs and action == sqlite3.SQLITE_DROP_TABLE
            return is_theirs
        return False

    def _may_write(self, table: bytes, database: str | None) -> bool:
        if table in SCHEMA:
            return database == "main"
        if table.startswith(b"sqlite_"):
            # Where SQLite keeps account of a table, it does so itself when that is changed.
            return self._changing
        return not self._reading and database == "main" and self._is_theirs(table)

    def _is_theirs(self, name: bytes) -> bool:
        return name not in self._ours and not name.startswith(RESERVED)


@contextmanager
def turn(db: sqlite3.Connection, *, reading: bool) -> Iterator[Turn]:
    """The connection is a function's until the block ends; then it is as it was."""
    its_turn = Turn(reading=reading)
    before = {limit: db.setlimit(limit, value) for limit, value in _LIMITS.items()}
    db.set_authorizer(its_turn.authorize)
    db.set_progress_handler(its_turn.tick, STEPS)
    try:
        yield its_turn
    finally:
        db.set_progress_handler(None, 0)
        db.set_authorizer(None)
        for limit, value in before.items():
            db.setlimit(limit, value)


_WORDS: Final = {
    getattr(sqlite3, f"SQLITE_{name}"): name.replace("_", " ").lower()
    for name in (
        *("CREATE_TABLE", "CREATE_INDEX", "CREATE_TRIGGER", "CREATE_VIEW", "CREATE_VTABLE"),
        *("CREATE_TEMP_TABLE", "CREATE_TEMP_INDEX", "CREATE_TEMP_TRIGGER", "CREATE_TEMP_VIEW"),
        *("DROP_TABLE", "DROP_INDEX", "DROP_TRIGGER", "DROP_VIEW", "DROP_VTABLE"),
        *("DROP_TEMP_TABLE", "DROP_TEMP_INDEX", "DROP_TEMP_TRIGGER", "DROP_TEMP_VIEW"),
        *("ALTER_TABLE", "REINDEX", "ANALYZE", "INSERT", "UPDATE", "DELETE", "READ", "FUNCTION"),
        *("ATTACH", "DETACH", "PRAGMA", "TRANSACTION", "SAVEPOINT"),
    )
}


def _folded(name: str | None) -> bytes:
    """SQLite ignores the case of ASCII letters, and of no others; so does bytes.lower."""
    return (name or "").encode("utf-8", "surrogateescape").lower()


def _peak() -> int:
    """The most memory that this process has ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
