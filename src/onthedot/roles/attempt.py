"""Attempts under way: each is a task that calls the handler and leaves one outcome behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from onthedot.clock import Clock
from onthedot.core.instants import SECOND
from onthedot.core.model import Definition, LeasedRun, Outcome
from onthedot.core.outcomes import Result, end_by_wish, settle, timed_out
from onthedot.ids import Chance, job_id, run_id
from onthedot.observe.events import warn
from onthedot.roles.holding import Holding, Key, UnderWay
from onthedot.roles.runners import Call, Runner


@dataclass(frozen=True, slots=True)
class Workbench:
    """What an attempt needs. `done` takes its outcome."""

    clock: Clock
    chance: Chance
    runner: Runner
    installation: str
    done: Callable[[Outcome], None]


class Attempts:
    def __init__(self, bench: Workbench, holding: Holding) -> None:
        self._bench = bench
        self._holding = holding

    def start(self, run: LeasedRun, definition: Definition) -> None:
        under_way = UnderWay(run, self._bench.clock.now())
        self._holding.under_way[(run.job, run.run)] = under_way
        loop = asyncio.get_running_loop()
        under_way.task = loop.create_task(self._attempt(under_way, definition))
        # A bare timer: asyncio.timeout would cost a short attempt more than all the rest of it.
        under_way.timer = loop.call_later(definition.timeout_us / SECOND, _time_out, under_way)

    def obey(self, key: Key, wish: str) -> None:
        """Somebody wants this run to end: one that waits ends now, one under way is stopped."""
        under_way = self._holding.under_way.get(key)
        if under_way is not None and under_way.wish is None and under_way.task is not None:
            under_way.wish = wish
            under_way.task.cancel()
            if not under_way.begun:  # a task cancelled before its first step takes none at all
                self._end_by_wish(under_way)
        waiting = self._holding.drop_waiting(key)
        if waiting is not None:
            self.end_unstarted(waiting, wish)

    def end_unstarted(self, run: LeasedRun, wish: str) -> None:
        self._holding.end(run)
        self._bench.done(end_by_wish(run, wish, started=None, now=self._bench.clock.now()))

    async def wait(self, grace_s: float) -> None:
        """Let what is under way end by itself, for so long."""
        tasks = [each.task for each in self._holding.under_way.values() if each.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)

    async def stop(self) -> list[LeasedRun]:
        """Stop what is still under way; returns the runs that have no outcome and are to be given
        back.
        """
        rest = list(self._holding.under_way.values())
        for each in rest:
            each.given_up = True
            if each.task is not None:
                each.task.cancel()
        for each in rest:
            if each.task is not None:
                await asyncio.wait([each.task])
        left = [each.run for each in rest if not each.ended]
        for run in left:
            self._holding.under_way.pop((run.job, run.run), None)
        return left

    async def _attempt(self, under_way: UnderWay, definition: Definition) -> None:
        under_way.begun = True
        result = await self._perform(under_way, definition)
        if result is not None:
            outcome = settle(
                under_way.run,
                definition,
                result,
                started=under_way.started,
                now=self._bench.clock.now(),
                jitter=self._bench.chance.jitter(),
            )
            self._end(under_way, outcome)
        elif under_way.wish is not None:
            self._end_by_wish(under_way)
        # Else the node gives the run up: whoever takes it next decides its outcome.

    def _end_by_wish(self, under_way: UnderWay) -> None:
        assert under_way.wish is not None
        started = under_way.started if under_way.begun else None
        now = self._bench.clock.now()
        self._end(under_way, end_by_wish(under_way.run, under_way.wish, started=started, now=now))

    def _end(self, under_way: UnderWay, outcome: Outcome) -> None:
        under_way.ended = True
        if under_way.timer is not None:
            under_way.timer.cancel()
        self._holding.end(under_way.run)
        self._bench.done(outcome)

    async def _perform(self, under_way: UnderWay, definition: Definition) -> Result | None:
        """Call the handler, no longer than the job allows. None: it was stopped from outside."""
        try:
            return await self._bench.runner.run(self._call(under_way.run, definition))
        except asyncio.CancelledError:
            if under_way.timed_out:
                return timed_out(definition.timeout_us)
            if under_way.wish is None and not under_way.given_up:
                return Result(error="the handler was cancelled from within")
            return None
        except Exception as error:  # noqa: BLE001  (a mistake in a runner must not take the worker with it)
            warn("runner.failed", error=f"{type(error).__name__}: {error}")
            return Result(error=f"the runner failed: {type(error).__name__}: {error}")

    def _call(self, run: LeasedRun, definition: Definition) -> Call:
        return Call(
            run_id=run_id(self._bench.installation, run.job, run.run),
            job_id=job_id(run.job),
            attempt=run.attempt,
            scheduled_for=run.due,
            url=definition.handler_url,
            payload=definition.payload if run.payload is None else run.payload,
        )


def _time_out(under_way: UnderWay) -> None:
    """Its time is over: stop it, unless somebody else has stopped it already."""
    if under_way.wish is None and under_way.task is not None:
        under_way.timed_out = True
        under_way.task.cancel()
