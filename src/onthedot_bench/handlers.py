"""What the runs of a bench call: nothing, a function in a runner process, or an HTTP receiver."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from onthedot import __version__
from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import CALLBACKS, Lanes
from onthedot.core.outcomes import Result
from onthedot.roles.runners import Call, Done, Runner, Stop
from onthedot.roles.runners.functions import FunctionRunner
from onthedot.roles.runners.http import HttpRunner
from onthedot_bench.app import NOTES
from onthedot_bench.population import NOBODY, Handler

Kind = Literal["none", "function", "http"]
KINDS: tuple[Kind, ...] = ("none", "function", "http")
NOTHING = "bench.nothing"
SUCCESS = Result()
_NOTE = 8


def _nothing_to_stop() -> None: ...


class NoHandler:
    """In place of a call, behind the same interface: it is over as soon as it has begun."""

    def start(self, call: Call, done: Done) -> Stop:
        done(SUCCESS)
        return _nothing_to_stop

    async def close(self) -> None:
        return


class Calls:
    """When each call was due, and when it began; in arrays, since a bench makes millions of them
    and says how much memory it took.
    """

    def __init__(self) -> None:
        self._dues = array("q")
        self._begins = array("d")

    def add(self, due: Instant) -> None:
        self._dues.append(due)
        self._begins.append(time.perf_counter())

    def __len__(self) -> int:
        return len(self._begins)

    def __getitem__(self, part: slice) -> list[tuple[Instant, float]]:
        return list(zip(self._dues[part], self._begins[part], strict=True))


class Noting:
    """Notes when each call begins, and hands it on."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.calls = Calls()

    def start(self, call: Call, done: Done) -> Stop:
        self.calls.add(call.run.due)
        return self._runner.start(call, done)

    async def close(self) -> None:
        await self._runner.close()


@dataclass(slots=True)
class Opened:
    """`notes`: where the called write down how late they were, by the machine's own clock."""

    handler: Handler
    runner: Noting
    lanes: Lanes = CALLBACKS
    runners: list[int] = field(default_factory=list)
    notes: Path | None = None

    def noted(self) -> int:
        """How many have been written down so far."""
        return 0 if self.notes is None else self.notes.stat().st_size // _NOTE

    def lateness_s(self, called: int, noted: int, count: int) -> list[float]:
        """How late those were that came after the first so many, sorted: as the handlers saw it,
        and where there is none, as the calls were made.
        """
        if self.notes is not None:
            return sorted(array("d", self.notes.read_bytes())[noted : noted + count])
        wall = time.time() - time.perf_counter()
        part = self.runner.calls[called : called + count]
        return sorted(at + wall - due / SECOND for due, at in part)


def handler_of(kind: Kind) -> Handler:
    """What jobs call that every process can reach."""
    return Handler(function=NOTHING) if kind == "function" else NOBODY


@asynccontextmanager
async def opened(kind: Kind, *, noting: bool = False) -> AsyncIterator[Opened]:
    """`noting`: whoever is called writes down how late it was."""
    with _notes(noting and kind != "none") as notes:
        if kind == "none":
            yield Opened(NOBODY, Noting(NoHandler()))
        elif kind == "function":
            async with _functions(notes) as found:
                yield found
        else:
            async with _callbacks(notes) as found:
                yield found


@asynccontextmanager
async def _functions(notes: Path | None) -> AsyncIterator[Opened]:
    runner = await FunctionRunner.open("onthedot_bench.app:app")
    function = "bench.noting" if notes else NOTHING
    lanes = Lanes((), runner.functions)
    try:
        handler = Handler(function=function)
        yield Opened(handler, Noting(runner), lanes, runner.pids, notes)
    finally:
        await runner.close()


@asynccontextmanager
async def _callbacks(notes: Path | None) -> AsyncIterator[Opened]:
    sink, port = _sink()
    runner = HttpRunner(version=__version__)
    try:
        yield Opened(Handler(url=f"http://127.0.0.1:{port}/"), Noting(runner), notes=notes)
    finally:
        await runner.close()
        sink.communicate("")


def _sink() -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-m", "onthedot_bench.sink"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@contextmanager
def _notes(wanted: bool) -> Iterator[Path | None]:
    if not wanted:
        yield None
        return
    with tempfile.NamedTemporaryFile(prefix="onthedot-bench-") as file:
        os.environ[NOTES] = file.name
        try:
            yield Path(file.name)
        finally:
            del os.environ[NOTES]
