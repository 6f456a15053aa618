"""Where a bench works: the configured database if it was named, else a temporary one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from onthedot.config import Settings
from onthedot.errors import WrongUse


@contextmanager
def bench_settings(settings: Settings, kind: str) -> Iterator[Settings]:
    """Settings with a database of the wanted kind; a temporary file goes when the bench is over."""
    named = settings.source_of("database") != "default"
    if kind == "postgres":
        if not settings.on_postgres:
            raise WrongUse(
                "no PostgreSQL database is named",
                hint="Name an empty one: --database postgresql:///bench (or ONTHEDOT_DATABASE).",
                field="database",
            )
        yield settings
    elif named and not settings.on_postgres:
        yield settings
    else:
        with tempfile.TemporaryDirectory(prefix="onthedot-bench-") as folder:
            yield replace(settings, database=f"sqlite:///{folder}/bench.db")
