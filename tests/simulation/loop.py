"""An event loop in virtual time, shared by processes that can be stopped at any instruction.

Nothing here waits: when nobody has anything to do, the clock leaps to the next timer. Every handle
carries the context it was made in, and with it the process it belongs to; the handles of a process
that is stopped are kept back. So a crash runs no `finally` and a stall is as long as one likes.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any

SECOND = 1_000_000
TURNS_MAX = 4_000_000
"""Far more than any seed needs: somebody goes round without ever waiting."""


class Life:
    """Whether the code of one process gets its turn, and its turns that wait meanwhile."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stopped = False
        self.kept: list[Any] = []


LIFE: ContextVar[Life | None] = ContextVar("LIFE", default=None)


class Stuck(AssertionError):
    """Nothing will ever happen any more, or nothing else ever happens."""


class VirtualLoop(asyncio.BaseEventLoop):
    _ready: deque[asyncio.Handle]
    _stopping: bool

    def __init__(self) -> None:
        super().__init__()
        self.now_us = 0
        self.turns = 0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_made = 0
        self.tasks: list[asyncio.Task[Any]] = []
        self._lives: list[Life | None] = []
        self.accidents: list[str] = []
        self.stopped: set[Life] = set()
        self.set_task_factory(self._make_task)
        self.set_exception_handler(self._note_accident)

    def time(self) -> float:
        return self.now_us / SECOND

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

    def go_on(self, life: Life) -> None:
        life.stopped = False
        self.stopped.discard(life)
        self._ready.extend(life.kept)
        life.kept.clear()

    # The turns of BaseEventLoop

    # The base class does the same with more checks, which took a third of the time of a seed.

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now_us / SECOND + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Timers of the same instant come in the order in which they were made."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers_made += 1
        heapq.heappush(self._timers, (when, self._timers_made, timer))
        return timer

    def _run_once(self) -> None:
        """Turn after turn until somebody stops the loop: one call for all of them."""
        while not self._stopping:
            self._turn()
            self.turns += 1
            if self.turns > TURNS_MAX:
                raise Stuck(f"more than {TURNS_MAX} turns by {self.time():.3f} s")

    def _turn(self) -> None:
        ready = self._ready
        self._move_due()
        for _ in range(len(ready)):
            handle: Any = ready.popleft()
            if handle._cancelled or (self.stopped and self._keep_back(handle)):
                continue
            try:
                handle._context.run(handle._callback, *handle._args)
            except Exception as error:  # noqa: BLE001  (it goes into the verdict)
                self.accidents.append(f"{handle!r}: {type(error).__name__}: {error}")

    def _move_due(self) -> None:
        """Make the timers ready that are due; if nothing is to be done, leap to the next one."""
        timers, ready = self._timers, self._ready
        now = self.now_us / SECOND
        while timers:
            when, _, timer = timers[0]
            if timer._cancelled:
                heapq.heappop(timers)
            elif when <= now:
                ready.append(heapq.heappop(timers)[2])
            elif ready:
                return
            else:
                now = self._leap(when)
        if not ready:
            raise Stuck("everybody waits for somebody else")

    def _leap(self, when: float) -> float:
        self.now_us = max(self.now_us, int(when * SECOND))
        while self.now_us / SECOND < when:  # up, so that a timer never comes before its time
            self.now_us += 1
        return self.now_us / SECOND

    def _keep_back(self, handle: Any) -> bool:
        life: Life | None = handle._context.get(LIFE)
        if life is None or not life.stopped:
            return False
        life.kept.append(handle)
        return True

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer goes when its time comes."""

    # Nobody's failure goes unnoticed

    def _make_task(self, loop: Any, work: Any, **more: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **more)
        self.tasks.append(task)
        context = more.get("context")
        self._lives.append(LIFE.get() if context is None else context.get(LIFE))
        return task

    def _note_accident(self, _: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.accidents.append(f"{context['message']}: {type(error).__name__}: {error}")

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
            self.go_on(life)
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
