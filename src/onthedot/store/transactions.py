"""What the transactions of functions are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from onthedot.core.instants import Instant


class Claim(NamedTuple):
    """Under what a function holds its run, and since when it works."""

    job: int
    run: int
    attempt: int
    fence: int
    started: Instant


class Statement(NamedTuple):
    """A statement of a function's own, carried out once with each of these values."""

    sql: str
    many: Sequence[Sequence[Any]] = ((),)


class Table(NamedTuple):
    """What a function has read: the names of the columns, and the rows."""

    columns: list[str]
    rows: list[list[Any]]
