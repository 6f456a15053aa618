"""One server to a database file: a lock file beside it, which the kernel lets go with its
holder, and which says what files that had open if it ended without closing them.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from onthedot.errors import CannotStart
from onthedot.observe.events import warn
from onthedot.store.sqlite.files import WAL, inodes, refuse_orphan

CONTENT_MAX = 200


class LockFile:
    """Holds `<database>.lock` until closed. Its content is the holder's process id, for people, and
    the inodes of the database and of its journal while they are open. Raises CannotStart if another
    server has it, or if there is a journal that does not belong to the database.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        path = database.with_name(database.name + ".lock")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            raise CannotStart(
                f"the folder '{path.parent}' does not exist",
                hint=f"Make it (mkdir -p {path.parent}) or name another with --database.",
                field="database",
            ) from None
        except OSError as error:
            raise CannotStart(
                f"cannot write in the folder '{path.parent}': {error.strerror}",
                hint="Use a folder that you may write in: --database sqlite:////path/onthedot.db",
                field="database",
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = self._lines()[0] or "unknown"
            os.close(self._file)
            raise CannotStart(
                f"another server (process {holder}) has '{database}' open",
                hint="Stop it first, or use another file with --database.",
                field="database",
            ) from None
        known = self._known()
        try:
            refuse_orphan(database, known)
        except CannotStart:
            os.close(self._file)
            raise
        self._write(known)

    def opened(self) -> None:
        """The database is open now. If it is never closed, these two files belong together."""
        self._write(inodes(self._database))
        self._look_at_mode()

    def close(self) -> None:
        """A journal that is left was not written into the database: what is known of it stays."""
        if not Path(f"{self._database}{WAL}").exists():
            os.ftruncate(self._file, 0)
        os.close(self._file)

    def _look_at_mode(self) -> None:
        """Who made the file readable for others may need that: it is said, not changed."""
        mode = self._database.stat().st_mode & 0o777
        if mode & 0o077:
            warn("store.readable_by_others", path=self._database, mode=f"{mode:o}")

    def _write(self, known: tuple[int | None, int | None] | None) -> None:
        # Without room on the disk it says nothing, and then the next start trusts what it finds.
        numbers = "" if known is None or None in known else f"{known[0]} {known[1]}\n"
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n{numbers}".encode(), 0)

    def _known(self) -> tuple[int, int] | None:
        try:
            database, journal = map(int, self._lines()[1].split())
        except (IndexError, ValueError):  # none, or written by hand
            return None
        return database, journal

    def _lines(self) -> list[str]:
        content = os.pread(self._file, CONTENT_MAX, 0).decode("ascii", "replace")
        return [line.strip() for line in content.split("\n")]
