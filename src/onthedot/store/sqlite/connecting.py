"""Connections to SQLite as we set them up, and SQLite's errors in our words."""

from __future__ import annotations

import os
import sqlite3

from onthedot.errors import OnthedotError, StoreError, StoreFull, StoreUnavailable

STATEMENTS_MAX = 512
"""Kept prepared by a connection: more than there are."""
VERSION_MIN = (3, 37, 0)
MEMORY = ":memory:"


def connect(path: str, *, read_only: bool = False) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < VERSION_MIN:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old: onthedot needs 3.37 or newer",
            hint="Use a Python that comes with a newer SQLite, for example from python.org.",
        )
    try:
        if not read_only and path != MEMORY:
            _make_private(path)
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS_MAX
        )
        for pragma in _PRAGMAS_READ if read_only else _PRAGMAS_WRITE:
            connection.execute(f"pragma {pragma}")
    except sqlite3.Error as error:
        raise translated(error) from error
    return connection


def _make_private(path: str) -> None:
    """Payloads and outputs are nobody else's business, so a new file is its owner's alone, whatever
    the umask says; SQLite gives -wal and -shm the same mode. One that is there keeps its mode, and
    is not even opened: closing it again would drop the locks that SQLite has on it in this process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreUnavailable(
            f"cannot make the file '{path}': {error.strerror}",
            hint="Use a folder that you may write in: --database sqlite:////path/onthedot.db",
        ) from error


# cache_size is in KiB when negative. The writer owns every checkpoint: SQLite before 3.51.3 can
# corrupt a file when two connections checkpoint at once.
_PRAGMAS_WRITE = (
    "journal_mode=wal",
    "synchronous=full",
    "busy_timeout=5000",
    "wal_autocheckpoint=4000",
    "journal_size_limit=67108864",
    "cache_size=-65536",
    "temp_store=memory",
    # Off by default, unless SQLite was built otherwise. A user's table may refer to ours, and ours
    # must be written all the same.
    "foreign_keys=off",
)
_PRAGMAS_READ = ("query_only=on", "busy_timeout=5000", "wal_autocheckpoint=0", "cache_size=-16384")


def about() -> dict[str, str]:
    """What decides how quick and how safe a file is."""
    return {"sqlite": sqlite3.sqlite_version, "journal_mode": "wal", "synchronous": "full"}


# Result codes that say: the file or the disk does not answer as it should just now.
_UNAVAILABLE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_INTERRUPT,
    }
)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def translated(error: sqlite3.Error) -> Exception:
    """An error of the driver in our words; one that means a mistake of ours stays as it is."""
    if isinstance(error, OnthedotError):
        return error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(
            "the disk is full: nothing was written",
            hint="Free some space; the server goes on by itself.",
        )
    if code in _UNAVAILABLE:
        return StoreUnavailable(
            f"the database does not answer: {error}",
            hint="Check that the file and its folder can be read and written.",
        )
    if code in _DAMAGED:
        return StoreError(
            f"this is not a usable SQLite database: {error}",
            hint="Check the path; if the file is damaged, restore it from a backup.",
        )
    return error
