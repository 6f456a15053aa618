"""The functions that a bench calls, in real runner processes."""

from __future__ import annotations

import os
import struct
import time

from onthedot.sdk.app import App
from onthedot.sdk.context import Context

NOTES = "ONTHEDOT_BENCH_NOTES"
"""The file into which whoever is called writes by how many seconds it was late, if it is wanted."""

app = App()
_notes = os.open(os.environ[NOTES], os.O_WRONLY | os.O_APPEND) if NOTES in os.environ else None


@app.job(name="bench.nothing")
async def nothing(
    template: str = "", to: str = "", items: list[int] | None = None, locale: str = ""
) -> None:
    """Takes the payload of the population, and does nothing."""


@app.job(name="bench.noting")
async def noting(
    ctx: Context, template: str = "", to: str = "", items: list[int] | None = None, locale: str = ""
) -> None:
    """Writes down how late it is."""
    if _notes is not None:
        os.write(_notes, struct.pack("d", time.time() - ctx.scheduled_for.timestamp()))
