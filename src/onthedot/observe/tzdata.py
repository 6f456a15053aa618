"""Which release of the tz database the time zones come from."""

from __future__ import annotations

import zoneinfo
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@lru_cache(maxsize=1)
def tzdata_version() -> str:
    """Such as '2025b (system)' or '2026.6 (package tzdata)', in the order in which Python looks.

    Nodes with different releases may disagree about zones whose law has changed in between.
    """
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / "UTC").exists() or (folder / "Etc" / "UTC").exists():
            return f"{_of_folder(folder)} (system)"
    try:
        return f"{version('tzdata')} (package tzdata)"
    except PackageNotFoundError:
        return "unknown"


def tzdata_release() -> str:
    """The bare release, such as '2025b', the later the greater; empty if nobody knows."""
    said = tzdata_version().partition(" ")[0]
    year, dot, number = said.partition(".")
    if dot and number.isdecimal():
        # The package counts 2025.1 where the database says 2025a.
        return year + chr(ord("a") + int(number) - 1)
    return "" if said == "unknown" else said


def _of_folder(folder: Path) -> str:
    """The first line of the database's own text names its release; some systems have a file."""
    for name in ("+VERSION", "tzdata.zi"):
        try:
            with (folder / name).open(encoding="utf-8") as lines:
                return lines.readline().removeprefix("# version").strip() or "unknown"
        except OSError:
            continue
    return "unknown"
