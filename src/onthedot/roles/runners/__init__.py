"""What executes an attempt. The engine knows only this interface."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Set
from typing import NamedTuple, Protocol

from onthedot.core.instants import Instant
from onthedot.core.model import ExecutionSpec, LeasedRun
from onthedot.core.node_faults import fault_of
from onthedot.core.outcomes import Result
from onthedot.ids import job_id, run_id
from onthedot.observe.events import warn
from onthedot.wire.pipe import CallOutput


def _unheard(run: LeasedRun, said: CallOutput) -> None: ...


class Turns(Protocol):
    """For a call that is not made at once, because it must wait for a runner process."""

    @property
    def deadly(self) -> Set[str]:
        """Functions that are called alone, since they kill their runners."""
        ...

    @property
    def stuck(self) -> Set[str]:
        """Those of them that had to be killed, since they did not end when they were asked to."""
        ...

    def waits(self, run: LeasedRun) -> None:
        """It may do so for as long as it may take."""
        ...

    def suspected(self, run: LeasedRun, *, killed: bool) -> None:
        """It waits to be called alone, after other suspects. `killed`: it was alone in the runner
        that died.
        """
        ...

    def killed(self, run: LeasedRun) -> None:
        """It was called, and has to be killed: it does not end, or took its own process down."""
        ...

    async def may_begin(self, run: LeasedRun) -> bool:
        """Wait until the call may be made; its time begins then. False: it is not ours to make any
        more.
        """
        ...


class _AnyTime:
    deadly: Set[str] = frozenset()
    stuck: Set[str] = frozenset()

    def waits(self, run: LeasedRun) -> None: ...

    def suspected(self, run: LeasedRun, *, killed: bool) -> None: ...

    def killed(self, run: LeasedRun) -> None: ...

    async def may_begin(self, run: LeasedRun) -> bool:
        return True


class Call(NamedTuple):
    """One attempt, as the handler sees it. What it does not ask for is not worked out. `checkpoint`
    is what an earlier one left for it; `noted` takes what it says while it is under way; `turns`
    is for who cannot make the call at once.
    """

    installation: str
    run: LeasedRun
    execution: ExecutionSpec
    checkpoint: str | None = None
    noted: Callable[[LeasedRun, CallOutput], None] = _unheard
    turns: Turns = _AnyTime()

    @property
    def run_id(self) -> str:
        """The same for every attempt of a run."""
        return run_id(self.installation, self.run.job, self.run.run)

    @property
    def job_id(self) -> str:
        return job_id(self.run.job)

    @property
    def attempt(self) -> int:
        return self.run.attempt

    @property
    def scheduled_for(self) -> Instant:
        return self.run.due

    @property
    def url(self) -> str:
        return self.execution.handler_url

    @property
    def payload(self) -> str:
        return self.execution.payload if self.run.payload is None else self.run.payload


Done = Callable[[Result | None], None]
"""Takes the result; None: the call was stopped before it had one."""

Stop = Callable[[], object]


class Runner(Protocol):
    def start(self, call: Call, done: Done) -> Stop:
        """Begin the call and return at once. `done` is called exactly once, perhaps before this
        returns. The returned function asks the call to end before its time.
        """
        ...

    async def close(self) -> None: ...


Post = Callable[[str, bytes, Mapping[str, str]], Awaitable[Result]]
"""Posts a body with headers to a URL; what came of it decides like that of a callback."""


class EitherRunner:
    """HTTP callbacks by one runner, Python functions by another."""

    def __init__(self, callbacks: Runner, functions: Runner) -> None:
        self._callbacks = callbacks
        self._functions = functions

    def start(self, call: Call, done: Done) -> Stop:
        runner = self._functions if call.execution.handler else self._callbacks
        return runner.start(call, done)

    async def close(self) -> None:
        await self._functions.close()
        await self._callbacks.close()


class TaskRunner(ABC):
    """A runner whose calls are coroutines: each is a task of its own."""

    @abstractmethod
    async def run(self, call: Call) -> Result: ...

    def start(self, call: Call, done: Done) -> Stop:
        task = asyncio.get_running_loop().create_task(self.run(call))
        # A callback comes in any case, also to a task that is cancelled before its first step.
        task.add_done_callback(lambda ended: done(_result(ended)))
        return task.cancel

    @abstractmethod
    async def close(self) -> None: ...


def _result(task: asyncio.Task[Result]) -> Result | None:
    if task.cancelled():
        return None
    error = task.exception()
    return task.result() if error is None else failed(error)


def failed(error: BaseException) -> Result:
    """A mistake in a runner is the failure of an attempt, never that of the worker."""
    warn("runner.failed", error=f"{type(error).__name__}: {error}")
    described = f"{type(error).__name__}: {error}".rstrip(": ")
    return Result(error=f"the runner failed: {described}", fault=fault_of(error))
