"""One server to a database file: a lock file beside it, which the kernel lets go with its
holder.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from onthedot.errors import CannotStart


class LockFile:
    """Holds `<database>.lock` until closed; its content is the holder's process id, for people."""

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
            holder = os.read(self._file, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise CannotStart(
                f"another server (process {holder}) has '{database}' open",
                hint="Stop it first, or use another file with --database.",
                field="database",
            ) from None
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())

    def close(self) -> None:
        os.close(self._file)
