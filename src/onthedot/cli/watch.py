"""`--watch`: a list that is redrawn every second."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable

import click

from onthedot.cli import output
from onthedot.errors import OnthedotError, WrongUse

EVERY_S = 1.0
FRAME_LINES = 6
"""Lines of a terminal that are no rows: the head, the rule, notes, and the prompt."""

watching = click.option("--watch", is_flag=True, help="Redraw it every second, until Ctrl-C.")


def show(draw: Callable[[], None], *, watch: bool, as_json: bool) -> None:
    """Draw once, or again every second. A server that does not answer meanwhile is waited for."""
    if watch and as_json:
        raise WrongUse("--watch and --json cannot be used together", hint="Keep one of them.")
    draw()
    if not watch:
        return
    try:
        # Endless by design: whoever watches presses Ctrl-C.
        while True:
            time.sleep(EVERY_S)
            _again(draw)
    except KeyboardInterrupt:
        return


def _again(draw: Callable[[], None]) -> None:
    # On a terminal in the same place; elsewhere one after the other, a blank line in between.
    if sys.stdout.isatty():
        click.clear()
    else:
        output.data()
    try:
        draw()
    except OnthedotError as error:
        output.show_error(error.message, error.hint)


def rows_max(limit: int, *, watch: bool) -> int:
    """How many rows to show: on a terminal that is watched no more than fit on it."""
    if not watch or not sys.stdout.isatty():
        return limit
    return max(1, min(limit, shutil.get_terminal_size().lines - FRAME_LINES))
