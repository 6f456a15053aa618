"""The files of a database: whether they are still those that were opened, and whether a journal
that is found belongs to the database beside it.

SQLite goes on writing to a file that was deleted or replaced, and nobody would ever see it again.
And what a crash has left in a `-wal`, SQLite throws away if the database beside it is gone, and
writes into it, page by page, if it is another one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from onthedot.errors import CannotStart, StoreReplaced

WAL: Final = "-wal"
_EMPTY: Final = 0


class Files:
    """Made while they are open: from then on they must stay where they are."""

    def __init__(self, path: str) -> None:
        self._paths = (path, path + WAL)
        self._seen = tuple(map(_identity, self._paths))

    def problem(self) -> StoreReplaced | None:
        """What is wrong with them now. Two calls of the system, some microseconds."""
        for path, seen in zip(self._paths, self._seen, strict=True):
            now = _identity(path)
            if now != seen:
                return _replaced(path, gone=now is None)
        return None


def inodes(database: Path) -> tuple[int | None, int | None]:
    """Of the database and of its journal. Without the device: its number may be another one after
    the machine was restarted.
    """
    found, journal = _identity(str(database)), _identity(f"{database}{WAL}")
    return (found and found[1], journal and journal[1])


def refuse_orphan(database: Path, known: tuple[int | None, int | None] | None) -> None:
    """Raises CannotStart if there is a journal that does not belong to the database. `known` are
    their inodes when a server had them open last, if it did not end in an orderly way. Where both
    are others now, they were copied together.
    """
    journal = Path(f"{database}{WAL}")
    if _size(journal) == _EMPTY:
        return
    if _size(database) == _EMPTY:
        raise CannotStart(
            f"'{database}' is gone, and its journal '{journal.name}' was left behind",
            hint=f"Put the database back beside it. To begin with an empty one, move the journal"
            f" away: mv {journal} {journal}.old",
            field="database",
        )
    if known is None or None in known:
        return
    (was, wal_was), (now, wal_now) = known, inodes(database)
    if wal_was == wal_now and was != now:
        raise CannotStart(
            f"'{database}' was replaced, and '{journal.name}' is the journal of the one before it",
            hint=f"To go on with this database, as after restoring a backup, move the journal away:"
            f" mv {journal} {journal}.old. Only if you know that they belong together, remove"
            f" {database}.lock instead.",
            field="database",
        )


def _replaced(path: str, *, gone: bool) -> StoreReplaced:
    what = "was deleted or moved away" if gone else "was replaced by another file"
    if path.endswith(WAL):
        hint = "Stop the server: that writes what it has into the database. Then start it again."
    else:
        hint = "Put the file back, and the server goes on; or stop it, and see docs/operations.md."
    return StoreReplaced(f"'{path}' {what} while the server has it open", hint=hint)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116  (at each commit: a Path costs more than the call)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return _EMPTY
