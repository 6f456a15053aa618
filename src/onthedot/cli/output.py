"""What commands print: JSON, tables, cards, errors. Readable without colour, on any terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from onthedot.core.durations import format_duration
from onthedot.core.instants import MILLISECOND, SECOND, Instant, format_instant, parse_instant

MISSING = "-"

_COLOURS = {
    "succeeded": "green",
    "failed": "red",
    "lost": "red",
    "missed": "yellow",
    "skipped": "yellow",
    "cancelled": "yellow",
    "running": "cyan",
}


def data(text: str = "") -> None:
    click.echo(text, color=_colour_wish())


def note(text: str) -> None:
    click.echo(text, err=True, color=_colour_wish())


def data_json(value: Any) -> None:
    """The value as JSON, in the terminal's letters where it has them."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    click.echo(json.dumps(value, indent=2, ensure_ascii=encoding != "utf8"))


def show_error(message: str, hint: str = "") -> None:
    note(click.style("error:", fg="red", bold=True) + " " + printable(message, keep_lines=True))
    if hint:
        note("\n" + click.style("hint:", bold=True) + " " + printable(hint, keep_lines=True))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Aligned columns; drawn on a terminal, where long texts can fold inside their column."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _drawn(headings, cells)
        return
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    for row in (headings, *cells):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        data(line.rstrip())


def card(pairs: Iterable[tuple[str, str]]) -> None:
    """One thing, a line for each of its fields."""
    shown = [(name, printable(value)) for name, value in pairs]
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        data(f"{name.ljust(width)}  {value}")


def printable(value: object, *, keep_lines: bool = False) -> str:
    """Text of unknown origin without control characters: they could rewrite what is shown."""
    text = value if isinstance(value, str) else str(value)
    if text.isprintable():
        return text
    kept = "\n" if keep_lines else ""
    return "".join(c if c.isprintable() or c in kept else "\N{REPLACEMENT CHARACTER}" for c in text)


def first_line(text: object) -> str:
    """What fits in a row: an exception comes with its traceback, but its first line says it."""
    lines = str(text).splitlines()
    return lines[0] if lines else ""


def coloured(status: str, text: str = "") -> str:
    return click.style(text or status, fg=_COLOURS.get(status))


def without_password(url: str) -> str:
    """Fit for logs and tickets."""
    url = re.sub(r"//([^/:@?]*):[^/?]*@", r"//\1:***@", url)
    return re.sub(r"([?&]password=)[^&]*", r"\1***", url)


def instant_of(value: object) -> Instant | None:
    """The instant in an answer of the API; None where there is none."""
    return parse_instant(value, field="instant") if isinstance(value, str) else None


def moment(value: object) -> str:
    """An instant of the API for people, to the millisecond: '2027-01-31 09:30:00.250Z'."""
    instant = instant_of(value)
    if instant is None:
        return MISSING
    return format_instant(instant // MILLISECOND * MILLISECOND).replace("T", " ")


def relative(instant: Instant, now: Instant) -> str:
    """'in 5 min', '2 h 3 min ago'; no more than two units, since nobody reads the third."""
    distance = abs(instant - now)
    if distance < SECOND:
        return "now"
    words = format_duration(distance // SECOND * SECOND).split(" ")
    text = " ".join(words[:4])
    return f"in {text}" if instant > now else f"{text} ago"


def lateness(run: dict[str, Any]) -> str:
    """How long after its instant the run's first attempt began, in milliseconds."""
    due = instant_of(run.get("notBefore") or run.get("scheduledFor"))
    started = instant_of(run.get("startedAt"))
    if due is None or started is None or run.get("attempt", 1) != 1 or run.get("redriveOf"):
        return MISSING
    return f"{(started - due) / MILLISECOND:.0f} ms"


def took(run: dict[str, Any]) -> str:
    started, finished = instant_of(run.get("startedAt")), instant_of(run.get("finishedAt"))
    if started is None or finished is None:
        return MISSING
    return format_duration(max(0, finished - started) // MILLISECOND * MILLISECOND)


def _drawn(headings: Sequence[str], cells: list[list[str]]) -> None:
    # rich takes 0.1 s to import: only those who look at a table pay for it.
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    for row in cells:
        drawn.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    Console(highlight=False).print(drawn)


def _colour_wish() -> bool | None:
    """None: colours on a terminal only. NO_COLOR is how people say never (no-color.org)."""
    return False if os.environ.get("NO_COLOR") else None
