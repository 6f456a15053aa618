"""What runs say while they are under way: the values, and what a store promises about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from onthedot.core.instants import Instant


class RunNote(NamedTuple):
    """What a held run has said since its last note. `number` grows from note to note of one
    hold, from 1, so that one that is given twice is written once. `lines`, `progress` and
    `checkpoint` are JSON; None: nothing new.
    """

    job: int
    run: int
    fence: int
    attempt: int
    number: int
    at: Instant
    lines: str | None = None
    progress: str | None = None
    checkpoint: str | None = None


class LogCursor(NamedTuple):
    """Where some lines stand in the log of a run: later holds and later notes come later."""

    fence: int
    number: int


class LogRow(NamedTuple):
    """Lines that a run has said, as JSON: [[at, level, text], ...]."""

    fence: int
    number: int
    attempt: int
    lines: str

    @property
    def place(self) -> LogCursor:
        return LogCursor(self.fence, self.number)


class NoteVerbs(Protocol):
    """What runs say while they are under way: lines for people, how far they have come, and what
    their next attempt is to know. Runs that say nothing cost nothing.
    """

    async def add(self, node: int, notes: Sequence[RunNote]) -> int:
        """Write what these runs have said, as far as the node still holds each of them under its
        fence; returns how many it did. A note that was written before is not written again.

        Whoever takes a run over finds every checkpoint that its earlier holders have written, and
        none comes later.
        """
        ...

    async def checkpoints(self, runs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """The last checkpoint of each of these (job, run), whichever attempt it comes from; a run
        that has none is left out.
        """
        ...

    async def lines(
        self, job: int, run: int, *, after: LogCursor | None, limit: int
    ) -> list[LogRow]:
        """What a run has said beyond a place, in order: at most `limit` rows."""
        ...
