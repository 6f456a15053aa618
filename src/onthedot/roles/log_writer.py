"""Writes what runs say while they are under way, in groups: all that came in while the last group
was being written. A run's last words are written before its outcome: after it nobody holds the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from onthedot.clock import Clock
from onthedot.core.instants import Instant
from onthedot.core.model import LeasedRun, RunRef
from onthedot.errors import StoreError
from onthedot.observe.events import warn
from onthedot.roles.held_runs import ref
from onthedot.roles.membership import Membership
from onthedot.store.contract import Store
from onthedot.store.notes import RunNote
from onthedot.wire.pipe import CallOutput, Line

GROUP_MAX = 500
IDLE_S = 1.0


@dataclass(slots=True)
class _Pending:
    attempt: int
    lines: list[Line] = field(default_factory=list)
    progress: str | None = None
    checkpoint: str | None = None


class LogWriter:
    def __init__(self, store: Store, clock: Clock, member: Membership) -> None:
        self.on_news: Callable[[], None] = lambda: None
        self._store = store
        self._clock = clock
        self._member = member
        self._pending: dict[RunRef, _Pending] = {}
        self._unwritten: list[RunNote] = []
        self._last = 0
        self._writing = asyncio.Lock()

    def add(self, run: LeasedRun, said: CallOutput) -> None:
        pending = self._pending.setdefault(ref(run), _Pending(run.attempt))
        pending.lines += said.lines
        if said.progress is not None:
            pending.progress = said.progress
        if said.checkpoint is not None:
            pending.checkpoint = said.checkpoint
        self.on_news()

    @property
    def pending(self) -> bool:
        return bool(self._pending or self._unwritten or self._writing.locked())

    async def step(self) -> float:
        if not self._pending and not self._unwritten:
            return IDLE_S
        await self.flush()
        return IDLE_S

    async def flush(self) -> None:
        """Write all that has been said. After an error of the store it is kept for later."""
        async with self._writing:
            self._unwritten += self._notes(self._clock.now())
            while self._unwritten:  # bounded by what was there when it began
                group = self._unwritten[:GROUP_MAX]
                await self._write(group)
                del self._unwritten[: len(group)]

    def _notes(self, now: Instant) -> list[RunNote]:
        pending, self._pending = self._pending, {}
        numbers = range(self._last + 1, self._last + 1 + len(pending))
        self._last += len(pending)
        return [
            RunNote(
                *(*which, said.attempt, number, now),
                lines=msgspec.json.encode(said.lines).decode() if said.lines else None,
                progress=said.progress,
                checkpoint=said.checkpoint,
            )
            for number, (which, said) in zip(numbers, pending.items(), strict=True)
        ]

    async def _write(self, group: Sequence[RunNote]) -> None:
        """What the store cannot take is left out: words must never keep an outcome waiting."""
        try:
            await self._store.notes.add(self._member.number, group)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever the store cannot take)
            if len(group) == 1:
                warn("run.words_lost", job=group[0].job, run=group[0].run, error=error)
                return
            half = len(group) // 2
            await self._write(group[:half])
            await self._write(group[half:])
