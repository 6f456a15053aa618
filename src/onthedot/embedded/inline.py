"""The functions of an app, called in this process: by the user's choice, in a node within a program
or in a test. Everywhere else runner processes call them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onthedot.clock import Clock
from onthedot.core.outcomes import Result
from onthedot.observe.events import warn
from onthedot.roles.runners import Call, Done, Stop
from onthedot.sdk.app import App, Function
from onthedot.sdk.calling import CallResult, call
from onthedot.sdk.context import Context
from onthedot.sdk.notes import CallNotes
from onthedot.wire.pipe import CallOutput

NEWS_S = 0.1
"""What a function says is passed on so much later, together with what follows."""

HALT_S = 5.0
"""So long a function may take to end after it was asked to; then nobody waits for it any more."""


class InlineFunctions:
    """A runner. `loop` is where coroutines run, with plain functions in its threads; None: the
    loop that starts them.
    """

    def __init__(
        self, app: App, clock: Clock, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self.app = app.name
        self.functions = frozenset(app.functions)
        self.count = 0
        self.jobs: Sequence[dict[str, Any]] = [
            function.declaration() for function in app.functions.values()
        ]
        self.under_way: set[asyncio.Task[CallResult]] = set()
        self.on_halt: Callable[[asyncio.Task[CallResult]], None] = lambda task: None
        self._known: Mapping[str, Function[Any, Any]] = dict(app.functions)
        self._clock = clock
        self._loop = loop

    def start(self, call_: Call, done: Done) -> Stop:
        function = self._known[call_.execution.handler]
        home = asyncio.get_running_loop()

        def tell() -> None:
            """Pass on what it has said since the last time."""
            news = context.notes.take()
            if news is not None:
                call_.noted(call_.run, CallOutput(0, *news))

        notes = CallNotes(
            lambda: home.call_soon_threadsafe(home.call_later, NEWS_S, tell),
            checkpoint=call_.checkpoint,
            clock=self._clock,
        )
        context = Context(
            notes=notes,
            run_id=call_.run_id,
            job_id=call_.job_id,
            attempt=call_.attempt,
            scheduled_us=call_.scheduled_for,
            deadline_us=self._clock.now() + call_.execution.timeout_us,
        )
        task = (self._loop or home).create_task(
            call(function, call_.payload, context), name=function.name
        )
        self.under_way.add(task)
        last = _LastWord(tell, done)
        task.add_done_callback(self.under_way.discard)
        task.add_done_callback(lambda ended: last.say(_result(ended, context)))
        return lambda: self._halt(function, context, task, last)

    async def close(self) -> None:
        """Whoever is still in a function is told; a thread cannot be ended."""
        for task in list(self.under_way):
            task.cancel()

    def _halt(
        self,
        function: Function[Any, Any],
        context: Context,
        task: asyncio.Task[CallResult],
        last: _LastWord,
    ) -> None:
        """A coroutine is cancelled, a function is told. What does not listen is left alone."""
        context.halted = True
        if function.is_coroutine:
            task.cancel()
        self.on_halt(task)

        def give_up() -> None:
            warn("function.does_not_stop", function=function.name, waited_s=HALT_S)
            self.under_way.discard(task)
            last.say(None)

        last.timer = asyncio.get_running_loop().call_later(HALT_S, give_up)


class _LastWord:
    """Said once: by the function, or for it when nobody waits any more. `before` comes first."""

    def __init__(self, before: Callable[[], None], done: Done) -> None:
        self._before = before
        self.timer: asyncio.TimerHandle | None = None
        self._done: Done | None = done

    def say(self, result: Result | None) -> None:
        done, self._done = self._done, None
        if self.timer is not None:
            self.timer.cancel()
        if done is not None:
            self._before()
            done(result)


def _result(task: asyncio.Task[CallResult], context: Context) -> Result | None:
    if task.cancelled() or context.cancelled:
        return None
    return Result(*task.result())
