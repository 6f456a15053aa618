"""An event loop in virtual time, shared by processes that can be stopped at any instruction.

Nothing here waits: when nobody has anything to do, the clock leaps to the next timer. Every handle
carries the context it was made in, and with it the process it belongs to; the handles of a process
that is stopped are kept back. So a crash runs no `finally` and a stall is as long as one likes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any

from onthedot.testing.loop import SECOND, Stuck, VirtualLoop

__all__ = ["LIFE", "SECOND", "Life", "SimulatedLoop", "Stuck"]


class Life:
    """Whether the code of one process gets its turn, and its turns that wait meanwhile."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stopped = False
        self.kept: list[Any] = []


LIFE: ContextVar[Life | None] = ContextVar("LIFE", default=None)


class SimulatedLoop(VirtualLoop):
    """The virtual loop of the testing kit, with processes."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[asyncio.Task[Any]] = []
        self._lives: list[Life | None] = []
        self.stopped: set[Life] = set()
        self.set_task_factory(self._make_task)

    # Processes

    def start(self, life: Life, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start a task of this process: all that it starts in turn is the process's too."""
        context = copy_context()
        context.run(LIFE.set, life)
        return self.create_task(work, name=name, context=context)

    def outside(self, wait_s: float, act: Callable[..., object], *arguments: Any) -> None:
        """Do something later that is of no process, whoever asks for it."""
        self.call_later(wait_s, act, *arguments, context=Context())

    def halt(self, life: Life) -> None:
        """From this very instruction on, no code of the process runs."""
        life.stopped = True
        self.stopped.add(life)

    def advance_chain(self, life: Life) -> None:
        life.stopped = False
        self.stopped.discard(life)
        self._ready.extend(life.kept)
        life.kept.clear()

    # Turns

    def _run_ready(self) -> None:
        ready = self._ready
        for _ in range(len(ready)):
            handle: Any = ready.popleft()
            if handle._cancelled or (self.stopped and self._keep_back(handle)):
                continue
            self._run_handle(handle)

    def _keep_back(self, handle: Any) -> bool:
        life: Life | None = handle._context.get(LIFE)
        if life is None or not life.stopped:
            return False
        life.kept.append(handle)
        return True

    # Nobody's failure goes unnoticed

    def _make_task(self, loop: Any, work: Any, **more: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **more)
        self.tasks.append(task)
        context = more.get("context")
        self._lives.append(LIFE.get() if context is None else context.get(LIFE))
        return task

    def unheard(self) -> list[str]:
        """Failures of tasks that nobody has asked for their result; the dead cannot ask."""
        return [
            f"{task.get_name()}: {type(error).__name__}: {error}"
            for task, life in zip(self.tasks, self._lives, strict=True)
            if life is None or not life.stopped
            if task.done() and not task.cancelled() and task._log_traceback
            if (error := task.exception()) is not None
        ]

    def bring_down(self) -> None:
        """End every task that is left, in the order in which they began, and close."""
        for life in list(self.stopped):
            self.advance_chain(life)
        for _ in range(10):
            left = [task for task in self.tasks if not task.done()]
            if not left:
                break
            for task in left:
                task.cancel()
            self.run_until_complete(asyncio.wait(left, timeout=1))
        for task in self.tasks:
            if task.done() and not task.cancelled():
                task.exception()
        self.close()
