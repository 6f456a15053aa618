"""Clocks that can be set for one process alone: by libfaketime where it is installed, or in Python.

Only the wall clock is false. The stopwatch stays true, as it does when somebody sets a clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

LIBRARIES = (
    "/usr/lib/*/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
)


@cache
def library() -> Path | None:
    found = [path for pattern in LIBRARIES for path in Path("/").glob(pattern[1:])]
    return found[0] if found else None


class WallClock:
    """The wall clock of whatever process is started in `environment`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "faketime"
        self.set(0)

    @property
    def environment(self) -> Mapping[str, str]:
        found = library()
        assert found is not None, "libfaketime is not installed"
        return {
            "LD_PRELOAD": str(found),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, off_s: float) -> None:
        """So far ahead of the true time, within a second. Renamed into place: half a number would
        be another time.
        """
        new = self._file.with_suffix(".new")
        new.write_text(f"{off_s:+.3f}\n")
        new.rename(self._file)


OFFSET_SITE = """
import time

_true_ns = time.time_ns
_read = [float("-inf"), 0]


def _time_ns():
    if time.monotonic() > _read[0] + 0.05:
        with open({path!r}) as file:
            _read[:] = time.monotonic(), int(float(file.read()) * 1e9)
    return _true_ns() + _read[1]


time.time_ns = _time_ns
time.time = lambda: _time_ns() / 1e9
"""


class PythonClock:
    """The same for a process in Python, anywhere: it is started with another `time`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "offset"
        site = folder / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(OFFSET_SITE.format(path=str(self._file)))
        self.environment = {"PYTHONPATH": str(site)}
        self.set(0)

    def set(self, off_s: float) -> None:
        """So far ahead of the true time, within a moment."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{off_s:.3f}\n")
        new.rename(self._file)
