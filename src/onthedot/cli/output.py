"""What commands print: JSON, tables, cards, errors. Readable without colour, on any terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from shutil import get_terminal_size
from typing import Any

import click

from onthedot.core.durations import format_duration
from onthedot.core.instants import MILLISECOND, SECOND, Instant, format_instant, parse_instant
from onthedot.core.redaction import without_passwords

MISSING = "-"
GAP = 3
INDENT = 4
LAST_MIN = 16

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
    click.echo(text, color=_colour_option())


def note(text: str) -> None:
    """On standard error. If nobody can read it there, on a full disk or after the reader has gone,
    that is no reason to end: a server writes its notes there.
    """
    with suppress(OSError):
        click.echo(without_passwords(text), err=True, color=_colour_option())


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
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    if sys.stdout.isatty():
        screen = get_terminal_size().columns
        # The last column may fold, and leaves some room for that.
        if sum(widths[:-1]) + GAP * len(widths) + min(widths[-1], LAST_MIN) <= screen:
            _drawn(headings, cells)
            return
        groups = _groups(widths, screen)
    else:
        groups = [range(len(widths))]
    for row in (headings, *cells):
        for number, group in enumerate(groups):
            line = "  ".join(row[place].ljust(widths[place]) for place in group)
            data(" " * INDENT * (number > 0) + line.rstrip())


def _groups(widths: Sequence[int], screen: int) -> list[range]:
    """Columns that fit beside each other; the others go into lines of their own below. Nothing is
    broken: an id that is, cannot be copied.
    """
    groups = [range(1)]
    room = screen - widths[0]
    for place, width in enumerate(widths[1:], start=1):
        room -= 2 + width
        if room >= 0:
            groups[-1] = range(groups[-1].start, place + 1)
        else:
            groups.append(range(place, place + 1))
            room = screen - INDENT - width
    return groups


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


def _colour_option() -> bool | None:
    """None: colours on a terminal only. NO_COLOR is how people say never (no-color.org)."""
    return False if os.environ.get("NO_COLOR") else None
