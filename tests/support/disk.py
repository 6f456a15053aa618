"""Disks of our own that can be filled and freed at any moment, under a server that writes to them.

A tmpfs is a real one: whatever the server writes may fail. It takes the rights to mount one. A
quota needs none: SQLite itself is told how large its file may be, and says that the disk is full.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import TracebackType

ROOM_MB = 512
FILL_TRIES = 100
PAGES_MAX = 4_294_967_294
# Loaded by every Python that is started with its folder on the path.
LIMITED = """
import os, pathlib, sqlite3

class Limited(sqlite3.Connection):
    def execute(self, sql, *rest):
        if sql == "begin immediate":
            pages = pathlib.Path(os.environ["TESTS_DISK_QUOTA"]).read_text()
            super().execute(f"pragma max_page_count = {pages}")
        return super().execute(sql, *rest)

connect = sqlite3.connect
sqlite3.connect = lambda *rest, **named: connect(*rest, factory=Limited, **named)
"""


class Disk(ABC):
    """`folder` is on it; a server on it is started in `environment`."""

    environment: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="onthedot-disk-"))

    def __enter__(self) -> Disk:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def fill(self) -> None:
        """From now on there is no room for anything more."""

    @abstractmethod
    def free(self) -> None:
        """There is room again."""

    def close(self) -> None:
        shutil.rmtree(self.folder)


class Tmpfs(Disk):
    def __init__(self) -> None:
        super().__init__()
        _mount(self.folder, f"size={ROOM_MB}m")

    def fill(self) -> None:
        """It shrinks to what is on it; no memory is wasted on filling it."""
        for tries_left in reversed(range(FILL_TRIES)):
            found = os.statvfs(self.folder)
            used = max(1, found.f_blocks - found.f_bfree) * found.f_frsize
            try:
                _mount(self.folder, f"remount,size={used}")
            except subprocess.CalledProcessError:
                if not tries_left:
                    raise
            else:
                return  # else something was written meanwhile, and it cannot be smaller than that

    def free(self) -> None:
        _mount(self.folder, f"remount,size={ROOM_MB}m")

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", self.folder], check=True)
        super().close()


class Quota(Disk):
    def __init__(self) -> None:
        super().__init__()
        self._quota = self.folder / "quota"
        (self.folder / "sitecustomize.py").write_text(LIMITED)
        self.environment = {
            "PYTHONPATH": str(self.folder),
            "TESTS_DISK_QUOTA": str(self._quota),
        }
        self.free()

    def fill(self) -> None:
        """SQLite takes a limit below its size for its size."""
        self._write(1)

    def free(self) -> None:
        self._write(PAGES_MAX)

    def _write(self, pages: int) -> None:
        new = self._quota.with_suffix(".new")
        new.write_text(str(pages))
        new.rename(self._quota)


def _mount(folder: Path, options: str) -> None:
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True, capture_output=True
    )


@cache
def _may_mount() -> bool:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    try:
        Tmpfs().close()
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


DISKS: Mapping[str, Callable[[], Disk]] = {
    "quota": Quota,
    **({"tmpfs": Tmpfs} if _may_mount() else {}),
}
"""The last one is the most real one that there is."""
